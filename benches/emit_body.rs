//! The time to read the body of an emit call: `cargo bench --bench emit_body`.

use actors::counters::Counters;
use bytes::Bytes;
use carillon::http::read_emits;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;

/// An emit with about `bytes` bytes of event data.
fn emit(bytes: usize) -> String {
    let text = "x".repeat(bytes);
    format!(r#"{{"name":"order-updates","eventData":{{"recipientId":"u42","total":100.50,"text":"{text}"}}}}"#)
}

fn bodies(criterion: &mut Criterion) {
    let counters = Counters::default();
    let mut group = criterion.benchmark_group("emit_body");
    let batch = format!("[{}]", vec![emit(100); 100].join(","));
    for (name, body) in [("one of 100 B", emit(100)), ("one of 10 kB", emit(10_000)), ("100 of 100 B", batch)] {
        let body = Bytes::from(body);
        group.throughput(Throughput::Bytes(body.len() as u64));
        group.bench_with_input(BenchmarkId::from_parameter(name), &body, |bencher, body| {
            bencher.iter(|| read_emits(black_box(body), 1_000, &counters).map(|(items, _)| items.len()));
        });
    }
    group.finish();
}

criterion_group!(benches, bodies);
criterion_main!(benches);
