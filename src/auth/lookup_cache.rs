//! A cache of the catalogue's answers. An answer is valid for `catalogue.cache_seconds`.
//!
//! The number of entries is bounded, so that made-up names cannot grow memory. A name that does not exist is cached as
//! unknown for two seconds, so that made-up names cannot keep the catalogue busy either. Callers that miss the same
//! name at the same time share one lookup. While the catalogue is unavailable, cached answers stay valid.
//!
//! Invariant: the result of a lookup that began before its name was expired is never stored.

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

/// How long a name is cached as unknown. A project that was just added is usable after this time.
const UNKNOWN_AGE: Duration = Duration::from_secs(2);
/// How long a cached answer stays valid after a failed lookup, until the next attempt.
const RETRY_AGE: Duration = Duration::from_secs(1);
/// Maximum lookups for one caller. More than one is needed if the name is expired during a lookup.
const MAX_ATTEMPTS: usize = 3;

/// The catalogue failed and no answer is cached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unavailable;

/// Cached answers for keys of one type.
pub(super) struct LookupCache<K, V> {
    clock: Arc<dyn Clock>,
    max_age: Duration,
    slots: Cache<K, Arc<Slot<V>>>,
    failed_lookups: Arc<Counter>,
}

/// The cache slot of one name.
struct Slot<V> {
    state: RwLock<State<V>>,
    /// Lookups that failed while nothing was cached.
    failures: AtomicU64,
    /// The holder of this lock does the lookup; other callers wait for its answer. It guards no data.
    in_flight: tokio::sync::Mutex<()>,
}

struct State<V> {
    entry: Option<Entry<V>>,
    /// How often the name was expired.
    expiries: u64,
}

#[derive(Clone)]
struct Entry<V> {
    /// `None`: the catalogue has nothing of this name.
    value: Option<V>,
    since: Duration,
    max_age: Duration,
    /// Whether the last lookup failed, so that the entry is older than `catalogue.cache_seconds`.
    is_stale: bool,
}

impl<K: Clone + Eq + Hash + Display, V: Clone> LookupCache<K, V> {
    /// Caches at most `capacity` names, each for `max_age`. Counts failed lookups in `failed_lookups`.
    pub fn new(capacity: usize, max_age: Duration, clock: Arc<dyn Clock>, failed_lookups: Arc<Counter>) -> Self {
        LookupCache { clock, max_age, slots: Cache::new(capacity), failed_lookups }
    }

    /// Returns the cached answer for the name, or calls `look_up`, which receives the previous answer.
    pub async fn find<F>(&self, key: &K, look_up: F) -> Result<Option<V>, Unavailable>
    where
        F: AsyncFn(Option<V>) -> Result<Option<V>, CatalogueError>,
    {
        let Ok(slot) = self.slots.get_or_insert_with(key, || Ok::<_, Infallible>(Arc::default()));
        if let Some(entry) = slot.fresh_entry(self.clock.now()) {
            return Ok(entry.value);
        }
        let failures = slot.failures.load(Ordering::Relaxed);
        let _in_flight = match slot.entry().filter(|entry| entry.is_stale) {
            // One caller asks the unavailable catalogue, which may take seconds. The others use the stale entry.
            Some(entry) => match slot.in_flight.try_lock() {
                Ok(guard) => guard,
                Err(_) => return Ok(entry.value),
            },
            None => slot.in_flight.lock().await,
        };
        if let Some(entry) = slot.fresh_entry(self.clock.now()) {
            return Ok(entry.value);
        }
        // A caller that waited for a lookup shares its failure. If each tried again in turn, the last would wait for
        // minutes.
        if slot.failures.load(Ordering::Relaxed) != failures {
            return Err(Unavailable);
        }
        let mut value = None;
        for _ in 0..MAX_ATTEMPTS {
            let expiries = slot.expiries();
            let entry = self.look_up(key, slot.entry(), &look_up).await.inspect_err(|_| {
                slot.failures.fetch_add(1, Ordering::Relaxed);
            })?;
            value = entry.value.clone();
            if slot.store(entry, expiries) {
                break;
            }
        }
        Ok(value)
    }

    /// Expires the names that `is_meant` selects: each is looked up again before its next use.
    pub fn expire(&self, is_meant: impl Fn(&K) -> bool) {
        self.slots.iter().filter(|(key, _)| is_meant(key)).for_each(|(_, slot)| slot.expire());
    }

    /// Whether the cached answer is older than `catalogue.cache_seconds` because the catalogue is unavailable.
    pub fn is_stale(&self, key: &K) -> bool {
        self.slots.peek(key).and_then(|slot| slot.entry()).is_some_and(|entry| entry.is_stale)
    }

    /// The names with a cached value.
    pub fn names(&self) -> Vec<K> {
        let has_value = |slot: &Slot<V>| slot.entry().is_some_and(|entry| entry.value.is_some());
        self.slots.iter().filter(|(_, slot)| has_value(slot)).map(|(key, _)| key).collect()
    }

    async fn look_up<F>(&self, key: &K, before: Option<Entry<V>>, look_up: &F) -> Result<Entry<V>, Unavailable>
    where
        F: AsyncFn(Option<V>) -> Result<Option<V>, CatalogueError>,
    {
        let before = before.and_then(|entry| entry.value);
        let found = look_up(before.clone()).await;
        self.failed_lookups.add(u64::from(found.is_err()));
        let since = self.clock.now();
        match (found, before) {
            (Ok(value), _) => {
                let max_age = if value.is_some() { self.max_age } else { self.max_age.min(UNKNOWN_AGE) };
                Ok(Entry { value, since, max_age, is_stale: false })
            }
            (Err(error), Some(before)) => {
                log::warn!(of:% = key, cause:% = error; "a catalogue lookup failed; the cached answer stays valid");
                Ok(Entry { value: Some(before), since, max_age: RETRY_AGE, is_stale: true })
            }
            (Err(error), None) => {
                log::warn!(of:% = key, cause:% = error; "a catalogue lookup failed");
                Err(Unavailable)
            }
        }
    }
}

impl<V> Default for Slot<V> {
    fn default() -> Self {
        let state = State { entry: None, expiries: 0 };
        Slot { state: RwLock::new(state), failures: AtomicU64::new(0), in_flight: tokio::sync::Mutex::default() }
    }
}

impl<V: Clone> Slot<V> {
    fn entry(&self) -> Option<Entry<V>> {
        self.state.read().unwrap_or_else(PoisonError::into_inner).entry.clone()
    }

    fn expiries(&self) -> u64 {
        self.state.read().unwrap_or_else(PoisonError::into_inner).expiries
    }

    /// Stores an entry, unless the name was expired after its lookup began. Returns whether it was stored.
    fn store(&self, entry: Entry<V>, expiries: u64) -> bool {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let is_current = state.expiries == expiries;
        if is_current {
            state.entry = Some(entry);
        }
        is_current
    }

    fn expire(&self) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        state.expiries += 1;
        if let Some(entry) = &mut state.entry {
            entry.max_age = Duration::ZERO;
        }
    }

    /// The entry, unless it is too old, or from the future because the clock was set back.
    fn fresh_entry(&self, now: Duration) -> Option<Entry<V>> {
        self.entry().filter(|entry| now.checked_sub(entry.since).is_some_and(|age| age < entry.max_age))
    }
}
