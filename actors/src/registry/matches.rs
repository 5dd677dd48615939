//! Who is told what of an emit, gathered so that each frame is built once and each hub told once.

use super::index::DeliveryId;
use crate::ids::SessionRef;
use hashbrown::HashMap;
use std::collections::VecDeque;

/// For each worker, its sessions.
pub(super) struct ByWorker(pub Vec<Vec<SessionRef>>);

impl ByWorker {
    /// Nobody yet.
    pub fn new(workers: usize) -> ByWorker {
        ByWorker(vec![Vec::new(); workers])
    }

    /// Adds a session, if its worker is known.
    pub fn push(&mut self, session: SessionRef) {
        if let Some(sessions) = self.0.get_mut(usize::from(session.worker)) {
            sessions.push(session);
        }
    }
}

/// What a subscription is told of an emit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Its condition is met: a notification.
    Met,
    /// To find out whether it is would have taken too much: a gap.
    Undecided,
}

/// One way of telling an emit, and who is told so.
pub(super) struct Match {
    pub verdict: Verdict,
    pub delivery: DeliveryId,
    pub sessions: ByWorker,
}

/// Subscriptions of one verdict, by delivery.
pub(super) struct Gathering {
    verdict: Verdict,
    workers: usize,
    pub matches: VecDeque<Match>,
    /// Subscriptions gathered.
    pub count: usize,
    places: HashMap<DeliveryId, usize>,
    last: Option<(DeliveryId, usize)>,
}

impl Gathering {
    /// Nobody yet.
    pub fn new(verdict: Verdict, workers: usize) -> Gathering {
        Gathering { verdict, workers, matches: VecDeque::new(), count: 0, places: HashMap::new(), last: None }
    }

    /// Adds a subscription.
    pub fn add(&mut self, delivery: DeliveryId, session: SessionRef) {
        self.count += 1;
        // Most of an event's subscribers are told alike: the last one's place is usually the next one's.
        let place = match self.last {
            Some((last, place)) if last == delivery => place,
            _ => self.place(delivery),
        };
        self.matches[place].sessions.push(session);
    }

    fn place(&mut self, delivery: DeliveryId) -> usize {
        let Gathering { verdict, workers, matches, places, .. } = self;
        let place = *places.entry(delivery).or_insert_with(|| {
            matches.push_back(Match { verdict: *verdict, delivery, sessions: ByWorker::new(*workers) });
            matches.len() - 1
        });
        self.last = Some((delivery, place));
        place
    }
}
