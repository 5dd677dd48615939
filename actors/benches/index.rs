//! The cost of the subscription index: bytes per subscription, and the time to find, deliver, insert and remove.
//!
//! `cargo bench -p carillon-actors --bench index`. Bytes are those requested from the allocator,
//! without its rounding.

use actors::condition::Condition;
use actors::condition::document::Document;
use actors::ids::SessionRef;
use actors::registry::index::{ChannelId, DeliveryId, SubscriptionIndex};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Counts the bytes that are allocated.
struct Counting;

static LIVE_BYTES: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed to the system's allocator unchanged. Only a counter is added.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE_BYTES.fetch_add(layout.size(), Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        LIVE_BYTES.fetch_sub(layout.size(), Relaxed);
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const CHANNEL: ChannelId = ChannelId(1);
const DELIVERY: DeliveryId = DeliveryId(1);
const MILLION: u32 = 1_000_000;

/// Number of different emits in a measurement, so that the subscriptions do not stay in the processor's cache.
const EMITS: u32 = 16_384;

fn session(slot: u32) -> SessionRef {
    SessionRef { worker: (slot % 4) as u16, slot, generation: 1 }
}

fn own_recipient(number: u32) -> Condition {
    let criteria = format!(r#"{{"recipientId":"u{number}"}}"#);
    Condition::parse(&criteria).expect("criteria made here")
}

/// Builds an index with `count` subscriptions from `one`, and prints its size.
fn build(name: &str, count: u32, one: impl Fn(u32) -> (ChannelId, Condition)) -> SubscriptionIndex {
    let before = LIVE_BYTES.load(Relaxed);
    let start = Instant::now();
    let mut index = SubscriptionIndex::default();
    for number in 0..count {
        let (channel, condition) = one(number);
        index.insert(channel, Some(condition), DELIVERY, session(number));
    }
    let bytes = LIVE_BYTES.load(Relaxed) - before;
    println!(
        "{name}: {count} subscriptions, {:.1} bytes each, made in {:.2} s with their conditions parsed",
        bytes as f64 / f64::from(count),
        start.elapsed().as_secs_f64()
    );
    index
}

fn own_recipients(count: u32) -> SubscriptionIndex {
    build("own recipientId", count, |number| (CHANNEL, own_recipient(number)))
}

fn count_matches(index: &mut SubscriptionIndex, document: &Document<'_>) -> u32 {
    let mut matches = 0;
    let undecided = index.find(CHANNEL, document, &mut |_, target| {
        black_box(target);
        matches += 1;
    });
    assert!(undecided.is_empty());
    matches
}

/// The processor time of this process in seconds (Linux only).
fn processor_seconds() -> Option<f64> {
    let spent = std::fs::read_to_string("/proc/self/schedstat").ok()?;
    Some(spent.split(' ').next()?.parse::<f64>().ok()? / 1e9)
}

/// Prints the processor time of one call of `once`. Unlike criterion's times, it is the same on a busy machine.
fn print_processor_time(name: &str, mut once: impl FnMut()) {
    const TURNS: u32 = 1_000_000;
    let start = processor_seconds();
    (0..TURNS).for_each(|_| once());
    if let (Some(start), Some(end)) = (start, processor_seconds()) {
        let nanoseconds = (end - start) * 1e9 / f64::from(TURNS);
        println!("{name}: {nanoseconds:.0} ns of processor time");
    }
}

/// The one match among `count` subscriptions.
fn find_one(criterion: &mut Criterion, count: u32) {
    let mut index = own_recipients(count);
    let recipients = (0..EMITS).map(|emit| emit.wrapping_mul(2_654_435_761) % count);
    let texts: Vec<String> = recipients
        .map(|number| format!(r#"{{"recipientId":"u{number}","order_no":1001,"status":"SHIPPED"}}"#))
        .collect();
    let read = |text| Document::parse(text).expect("event data made here");
    let documents: Vec<Document<'_>> = texts.iter().map(|text| read(text)).collect();
    let mut emits = documents.iter().cycle();
    let mut find = || assert_eq!(count_matches(&mut index, emits.next().expect("a cycle")), 1);
    let name = format!("find one of {count}");
    print_processor_time(&name, &mut find);
    criterion.bench_function(&name, |bencher| bencher.iter(&mut find));

    let mut emits = texts.iter().cycle();
    let mut read_and_find = || {
        let document = read(emits.next().expect("a cycle"));
        assert_eq!(count_matches(&mut index, &document), 1);
    };
    let name = format!("read the event data and find one of {count}");
    print_processor_time(&name, &mut read_and_find);
    criterion.bench_function(&name, |bencher| bencher.iter(&mut read_and_find));
}

fn find_one_of_ten(criterion: &mut Criterion) {
    find_one(criterion, 10);
}

fn find_one_of_a_million(criterion: &mut Criterion) {
    find_one(criterion, MILLION);
}

fn broadcast(criterion: &mut Criterion) {
    const MEMBERS: u32 = 100_000;
    let condition = Condition::parse(r#"{"kind":"news"}"#).expect("criteria made here");
    let mut index = build("one condition for all", MEMBERS, |_| (CHANNEL, condition.clone()));
    let document = Document::parse(r#"{"kind":"news","title":"Hello"}"#).expect("event data made here");
    let mut group = criterion.benchmark_group("broadcast");
    group.throughput(Throughput::Elements(u64::from(MEMBERS)));
    group.bench_function("match 100000 members", |bencher| {
        bencher.iter(|| assert_eq!(count_matches(&mut index, &document), MEMBERS));
    });
    group.finish();
}

fn insert_and_remove(criterion: &mut Criterion) {
    let mut index = own_recipients(MILLION);
    let mut number = MILLION;
    criterion.bench_function("insert into a million, remove again", |bencher| {
        bencher.iter_batched(
            || {
                number += 1;
                (own_recipient(number), session(number))
            },
            |(condition, target)| {
                let id = index.insert(CHANNEL, Some(condition), DELIVERY, target);
                index.remove(id, target)
            },
            criterion::BatchSize::SmallInput,
        );
    });
}

fn a_million_channels(_: &mut Criterion) {
    build("a channel each", MILLION, |number| (ChannelId(number), own_recipient(number)));
    build("own recipientId, one range", MILLION, |number| {
        let criteria = format!(r#"{{"recipientId":"u{number}","total":{{"$gte":100}}}}"#);
        (CHANNEL, Condition::parse(&criteria).expect("criteria made here"))
    });
}

criterion_group! {
    name = index;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2));
    targets = find_one_of_ten, find_one_of_a_million, broadcast, insert_and_remove, a_million_channels
}
criterion_main!(index);
