//! The matches of one publication, grouped by delivery so that each frame is built once, and by worker so that each hub
//! receives one message.

use super::index::DeliveryId;
use crate::ids::SessionRef;
use hashbrown::HashMap;
use std::collections::VecDeque;

/// Sessions grouped by their worker.
pub(super) struct SessionsByWorker(pub Vec<Vec<SessionRef>>);

impl SessionsByWorker {
    /// No sessions.
    pub fn new(workers: usize) -> SessionsByWorker {
        SessionsByWorker(vec![Vec::new(); workers])
    }

    /// Adds a session, if its worker is known.
    pub fn push(&mut self, session: SessionRef) {
        if let Some(sessions) = self.0.get_mut(usize::from(session.worker)) {
            sessions.push(session);
        }
    }
}

/// The result of matching a subscription with a publication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The condition matches: the subscription receives a notification.
    Matched,
    /// The condition was too expensive to evaluate: the subscription receives a gap.
    Undecided,
}

/// The sessions that receive the same frame.
pub(super) struct Match {
    pub verdict: Verdict,
    pub delivery: DeliveryId,
    pub sessions: SessionsByWorker,
}

/// Collects the subscriptions of one verdict, grouped by delivery.
pub(super) struct MatchCollector {
    verdict: Verdict,
    workers: usize,
    pub matches: VecDeque<Match>,
    /// Subscriptions collected.
    pub count: usize,
    positions: HashMap<DeliveryId, usize>,
    last: Option<(DeliveryId, usize)>,
}

impl MatchCollector {
    /// A collector without subscriptions.
    pub fn new(verdict: Verdict, workers: usize) -> MatchCollector {
        MatchCollector { verdict, workers, matches: VecDeque::new(), count: 0, positions: HashMap::new(), last: None }
    }

    /// Adds a subscription.
    pub fn add(&mut self, delivery: DeliveryId, session: SessionRef) {
        self.count += 1;
        // Most subscribers of an event have the same delivery, so the next position is usually the last one.
        let position = match self.last {
            Some((last, position)) if last == delivery => position,
            _ => self.find_or_add(delivery),
        };
        self.matches[position].sessions.push(session);
    }

    fn find_or_add(&mut self, delivery: DeliveryId) -> usize {
        let MatchCollector { verdict, workers, matches, positions, .. } = self;
        let position = *positions.entry(delivery).or_insert_with(|| {
            matches.push_back(Match { verdict: *verdict, delivery, sessions: SessionsByWorker::new(*workers) });
            matches.len() - 1
        });
        self.last = Some((delivery, position));
        position
    }
}
