//! The cost of frames: incoming (unmask, check, parse) and outgoing (header and payload).

use std::hint::black_box;
use std::ops::ControlFlow;

use actors::protocol::frame::{FrameReader, TextFrameBuilder, text_frame};
use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

const LIMIT: usize = 1 << 16;
const LENGTHS: [usize; 3] = [100, 1_000, 60_000];

/// A masked text frame of `length` bytes, which takes two or four bytes of header length.
fn masked_text(length: usize) -> Vec<u8> {
    let mask = [0x37, 0xfa, 0x21, 0x3d];
    let mut frame = vec![0x81];
    match length {
        0..=125 => frame.push(0x80 | length as u8),
        _ => {
            frame.push(0x80 | 126);
            frame.extend((length as u16).to_be_bytes());
        }
    }
    frame.extend(mask);
    frame.extend((0..length).map(|at| b'x' ^ mask[at % 4]));
    frame
}

fn read(reader: &mut FrameReader, bytes: &mut [u8]) {
    let outcome = reader.feed(bytes, LIMIT, &mut |event| {
        black_box(event);
        ControlFlow::Continue(())
    });
    assert!(outcome.is_ok());
}

fn frames_in(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("frame_in");
    for length in LENGTHS {
        let frame = masked_text(length);
        group.throughput(Throughput::Bytes(length as u64));
        group.bench_with_input(BenchmarkId::new("whole", length), &frame, |bencher, frame| {
            let mut reader = FrameReader::default();
            bencher.iter_batched_ref(|| frame.clone(), |bytes| read(&mut reader, bytes), BatchSize::SmallInput);
        });
        group.bench_with_input(BenchmarkId::new("in_two_pieces", length), &frame, |bencher, frame| {
            let mut reader = FrameReader::default();
            let feed = |bytes: &mut Vec<u8>| {
                let (first, second) = bytes.split_at_mut(length / 2);
                read(&mut reader, first);
                read(&mut reader, second);
            };
            bencher.iter_batched_ref(|| frame.clone(), feed, BatchSize::SmallInput);
        });
    }
    group.finish();
}

fn frames_out(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("frame_out");
    for length in LENGTHS {
        let payload = vec![b'x'; length];
        group.throughput(Throughput::Bytes(length as u64));
        group.bench_with_input(BenchmarkId::new("text_frame", length), &payload, |bencher, payload| {
            bencher.iter(|| text_frame(payload));
        });
        group.bench_with_input(BenchmarkId::new("builder", length), &payload, |bencher, payload| {
            bencher.iter(|| {
                let mut builder = TextFrameBuilder::with_capacity(payload.len());
                builder.buffer().extend_from_slice(payload);
                builder.finish()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, frames_in, frames_out);
criterion_main!(benches);
