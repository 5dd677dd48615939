//! What the registry does with an emit that the bus hands it: match, build each frame once, tell each hub once.

use super::fan_out::{CaughtUp, FanOut};
use super::index::{ChannelId, DeliveryId};
use super::{SessionRegistry, Waiting};
use crate::bus::Published;
use crate::condition::document::Document;
use crate::hub::{Tell, Telling};
use crate::passage::Passage;
use crate::session::session_ref::SessionRef;
use actix::prelude::*;
use bytes::Bytes;
use hashbrown::HashMap;

/// One frame and whom it is for.
pub(super) struct Told {
    frame: Bytes,
    /// For each worker, its sessions.
    sessions: Vec<Vec<SessionRef>>,
    is_notification: bool,
}

impl Told {
    /// A frame for nobody yet.
    pub fn new(frame: Bytes, workers: usize, is_notification: bool) -> Told {
        Told { frame, sessions: vec![Vec::new(); workers], is_notification }
    }

    /// Adds a session.
    pub fn push(&mut self, session: SessionRef) {
        if let Some(sessions) = self.sessions.get_mut(usize::from(session.worker)) {
            sessions.push(session);
        }
    }
}

impl Handler<Published> for SessionRegistry {
    type Result = ();

    fn handle(&mut self, message: Published, _: &mut Context<Self>) {
        self.waiting.push_back(Waiting::Published(message));
        self.tell_waiting();
    }
}

impl Handler<CaughtUp> for SessionRegistry {
    type Result = ();

    fn handle(&mut self, _: CaughtUp, _: &mut Context<Self>) {
        self.tell_waiting();
    }
}

impl SessionRegistry {
    /// Tells what waits, until the hubs have enough on their way.
    pub(super) fn tell_waiting(&mut self) {
        while self.fan_out.as_ref().is_some_and(FanOut::has_room) {
            match self.waiting.pop_front() {
                Some(Waiting::Published(published)) => self.tell(&published),
                Some(Waiting::Missed(missed)) => self.tell_gap(&missed),
                None => return,
            }
        }
    }

    fn tell(&mut self, message: &Published) {
        let channel = &message.publication.channel;
        let Some(id) = self.channels.find(channel) else { return };
        let text = std::str::from_utf8(&message.publication.data).ok();
        let Some(document) = text.and_then(|text| Document::parse(text).ok()) else {
            return log::error!("the bus handed over event data that is not JSON: event={:?}", channel.event);
        };
        let (told, matches) = self.matches(id, &channel.event, &document);
        let subscribers = self.channels.subscribers(id);
        self.counters.condition_drops.add(subscribers.saturating_sub(matches) as u64);
        self.tell_hubs(told, &message.passage);
    }

    /// Tells each hub once.
    pub(super) fn tell_hubs(&self, told: Vec<Told>, passage: &Passage) {
        let workers = self.hubs.len();
        let mut tellings: Vec<Vec<Telling>> = std::iter::repeat_with(Vec::new).take(workers).collect();
        for Told { frame, sessions, is_notification } in told {
            for (tellings, sessions) in tellings.iter_mut().zip(sessions) {
                if !sessions.is_empty() {
                    tellings.push(Telling { frame: frame.clone(), sessions, is_notification });
                }
            }
        }
        for (hub, tellings) in self.hubs.iter().zip(tellings) {
            if let (Some(hub), Some(fan_out), false) = (hub, &self.fan_out, tellings.is_empty()) {
                let leg = fan_out.depart(tellings.iter().map(Telling::bytes).sum());
                // Must not be refused: what is on its way is bounded in bytes by passage and leg.
                hub.do_send(Tell { tellings, passage: passage.clone(), leg });
            }
        }
    }

    fn matches(&mut self, id: ChannelId, event: &str, document: &Document<'_>) -> (Vec<Told>, usize) {
        let mut told: Vec<Told> = Vec::new();
        let mut places: HashMap<DeliveryId, usize> = HashMap::new();
        let mut matches = 0;
        let (deliveries, workers) = (&self.deliveries, self.hubs.len());
        self.index.find(id, document, &mut |delivery, session| {
            matches += 1;
            let place = *places.entry(delivery).or_insert_with(|| {
                let frame = deliveries.build_frame(delivery, event, document);
                told.push(Told::new(frame, workers, true));
                told.len() - 1
            });
            told[place].push(session);
        });
        (told, matches)
    }
}
