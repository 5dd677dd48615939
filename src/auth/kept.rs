//! Answers of the catalogue, kept for `catalogue.cache_seconds`.
//!
//! Bounded in number, so that made-up names can't grow memory; a name that is not there is remembered as unknown for a
//! short while, so that they can't keep the catalogue busy either. Callers that miss the same name at once share one
//! look-up. While the catalogue is away, what is kept serves on.
//!
//! Invariant: what a look-up read that began before its name was expired is never kept.

use std::convert::Infallible;
use std::fmt::Display;
use std::hash::Hash;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use actors::counters::Counter;
use quick_cache::sync::Cache;

use super::Clock;
use crate::catalogue::CatalogueError;

/// How long a name stays unknown: a project made on the command line works after that.
const UNKNOWN_AGE: Duration = Duration::from_secs(2);
/// How long after a failed look-up what is held goes on serving, until the next look-up.
const RETRY_AGE: Duration = Duration::from_secs(1);
/// Look-ups for one caller: more than one where the name is expired again and again meanwhile.
const LOOK_UPS: usize = 3;

/// Says that the catalogue failed and nothing is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unavailable;

/// The answers for keys of one kind.
pub(super) struct Kept<K, V> {
    clock: Arc<dyn Clock>,
    max_age: Duration,
    slots: Cache<K, Arc<Slot<V>>>,
    failed_look_ups: Arc<Counter>,
}

/// One name's place.
struct Slot<V> {
    state: RwLock<State<V>>,
    /// Look-ups that failed with nothing held.
    failures: AtomicU64,
    /// Whoever has it looks the name up; the others wait for the answer. Guards no data.
    turn: tokio::sync::Mutex<()>,
}

struct State<V> {
    held: Option<Held<V>>,
    /// How often the name was expired.
    expiries: u64,
}

#[derive(Clone)]
struct Held<V> {
    /// `None`: there is no such thing.
    value: Option<V>,
    since: Duration,
    age: Duration,
    /// Whether the last look-up failed, so that this is older than it should be.
    is_stretched: bool,
}

impl<K: Clone + Eq + Hash + Display, V: Clone> Kept<K, V> {
    /// Keeps at most `most` names, each for `max_age`; failed look-ups are counted in `failed_look_ups`.
    pub fn new(most: usize, max_age: Duration, clock: Arc<dyn Clock>, failed_look_ups: Arc<Counter>) -> Self {
        Kept { clock, max_age, slots: Cache::new(most), failed_look_ups }
    }

    /// What `look_up` answered for the name at most so long ago; it is given what was held before.
    pub async fn find<F>(&self, key: &K, look_up: F) -> Result<Option<V>, Unavailable>
    where
        F: AsyncFn(Option<V>) -> Result<Option<V>, CatalogueError>,
    {
        let Ok(slot) = self.slots.get_or_insert_with(key, || Ok::<_, Infallible>(Arc::default()));
        if let Some(held) = slot.fresh(self.clock.now()) {
            return Ok(held.value);
        }
        let failures = slot.failures.load(Ordering::Relaxed);
        let _turn = match slot.held().filter(|held| held.is_stretched) {
            // One asks a catalogue that is away, which may take seconds; the others need not wait for that.
            Some(held) => match slot.turn.try_lock() {
                Ok(turn) => turn,
                Err(_) => return Ok(held.value),
            },
            None => slot.turn.lock().await,
        };
        if let Some(held) = slot.fresh(self.clock.now()) {
            return Ok(held.value);
        }
        // Whoever waited for a look-up shares its failure too: one after the other, a crowd would wait for minutes.
        if slot.failures.load(Ordering::Relaxed) != failures {
            return Err(Unavailable);
        }
        let mut value = None;
        for _ in 0..LOOK_UPS {
            let expiries = slot.expiries();
            let held = self.look_up(key, slot.held(), &look_up).await.inspect_err(|_| {
                slot.failures.fetch_add(1, Ordering::Relaxed);
            })?;
            value = held.value.clone();
            if slot.hold(held, expiries) {
                break;
            }
        }
        Ok(value)
    }

    /// Has the names that `is_meant` be looked up again before they serve once more.
    pub fn expire(&self, is_meant: impl Fn(&K) -> bool) {
        self.slots.iter().filter(|(key, _)| is_meant(key)).for_each(|(_, slot)| slot.expire());
    }

    /// Whether what is held for the name is older than it should be, since the catalogue is away.
    pub fn is_stretched(&self, key: &K) -> bool {
        self.slots.peek(key).and_then(|slot| slot.held()).is_some_and(|held| held.is_stretched)
    }

    /// The names for which something is held.
    pub fn names(&self) -> Vec<K> {
        let is_there = |slot: &Slot<V>| slot.held().is_some_and(|held| held.value.is_some());
        self.slots.iter().filter(|(_, slot)| is_there(slot)).map(|(key, _)| key).collect()
    }

    async fn look_up<F>(&self, key: &K, before: Option<Held<V>>, look_up: &F) -> Result<Held<V>, Unavailable>
    where
        F: AsyncFn(Option<V>) -> Result<Option<V>, CatalogueError>,
    {
        let before = before.and_then(|held| held.value);
        let found = look_up(before.clone()).await;
        self.failed_look_ups.add(u64::from(found.is_err()));
        let since = self.clock.now();
        match (found, before) {
            (Ok(value), _) => {
                let age = if value.is_some() { self.max_age } else { self.max_age.min(UNKNOWN_AGE) };
                Ok(Held { value, since, age, is_stretched: false })
            }
            (Err(error), Some(before)) => {
                log::warn!("catalogue look-up failed, what was read before goes on serving: of={key} cause={error}");
                Ok(Held { value: Some(before), since, age: RETRY_AGE, is_stretched: true })
            }
            (Err(error), None) => {
                log::warn!("catalogue look-up failed: of={key} cause={error}");
                Err(Unavailable)
            }
        }
    }
}

impl<V> Default for Slot<V> {
    fn default() -> Self {
        let state = State { held: None, expiries: 0 };
        Slot { state: RwLock::new(state), failures: AtomicU64::new(0), turn: tokio::sync::Mutex::default() }
    }
}

impl<V: Clone> Slot<V> {
    fn held(&self) -> Option<Held<V>> {
        self.state.read().unwrap_or_else(PoisonError::into_inner).held.clone()
    }

    fn expiries(&self) -> u64 {
        self.state.read().unwrap_or_else(PoisonError::into_inner).expiries
    }

    /// Holds what was read, unless the name was expired since its look-up began.
    fn hold(&self, held: Held<V>, expiries: u64) -> bool {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let is_current = state.expiries == expiries;
        if is_current {
            state.held = Some(held);
        }
        is_current
    }

    fn expire(&self) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        state.expiries += 1;
        if let Some(held) = &mut state.held {
            held.age = Duration::ZERO;
        }
    }

    /// What is held, unless it is too old, or from the future because the clock was set back.
    fn fresh(&self, now: Duration) -> Option<Held<V>> {
        self.held().filter(|held| now.checked_sub(held.since).is_some_and(|age| age < held.age))
    }
}
