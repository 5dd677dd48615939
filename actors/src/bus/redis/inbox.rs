//! What Redis pushes to this node, on its way to the registry, bounded in bytes.
//!
//! Redis does not wait for us, so that what finds no room is dropped; nothing is dropped silently. Its channel is noted
//! and stays shut until half of the room is free again: then its subscriptions are told of the gap, behind all that
//! arrived before. Opened at the first free byte, a channel that brings more than can be told would cost a gap for each
//! of its publications.

use super::log_rate_limit::LogRateLimit;
use super::names::Names;
use crate::backpressure::QueuePermit;
use crate::bus::{ChannelKey, Control, ControlListeners, Missed, Publication, Published, Subscriber};
use crate::counters::{Counters, Limit};
use crate::protocol::codes::GapReason;
use deadpool_redis::redis::{PushInfo, PushKind, Value};
use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, Semaphore};

/// See the module. Everything runs on the bus arbiter; the lock is asked for by the driver's signature only.
pub(super) struct Inbox {
    subscriber: Subscriber,
    listeners: ControlListeners,
    control_name: String,
    names: Names,
    room: Arc<Semaphore>,
    capacity: u32,
    /// Channels of which something was dropped and whose gap is still to be told.
    shut: Mutex<HashSet<ChannelKey>>,
    /// The connection is lost.
    lost: Notify,
    /// A first channel was shut.
    shutting: Notify,
    overflow_told: LogRateLimit,
    counters: Arc<Counters>,
}

impl Inbox {
    /// An inbox that holds at most `capacity` bytes of event data on the way.
    pub fn new(
        subscriber: Subscriber,
        listeners: ControlListeners,
        names: Names,
        capacity: u32,
        counters: Arc<Counters>,
    ) -> Inbox {
        Inbox {
            subscriber,
            listeners,
            control_name: names.control(),
            names,
            room: Arc::new(Semaphore::new(capacity as usize)),
            capacity,
            shut: Mutex::default(),
            lost: Notify::new(),
            shutting: Notify::new(),
            overflow_told: LogRateLimit::default(),
            counters,
        }
    }

    /// Takes what the connection pushes. Never waits.
    pub fn on_push(&self, push: PushInfo) {
        match push.kind {
            PushKind::Message => self.on_message(push.data),
            PushKind::Disconnection => self.lost.notify_one(),
            // Confirmations, which their commands get too.
            _ => {}
        }
    }

    /// Resolves when the connection is lost.
    pub async fn lost(&self) {
        self.lost.notified().await;
    }

    /// Forgets what is known of the connection before, which must be gone, and what was dropped: with the next one all
    /// channels are told of a gap.
    pub fn renew(&self) {
        use futures::FutureExt as _;
        let _ = self.lost.notified().now_or_never();
        self.shut().clear();
    }

    /// Resolves when a channel has been shut, so that [`Inbox::open`] has something to do.
    pub async fn shutting(&self) {
        self.shutting.notified().await;
    }

    /// Opens what is shut if there is room again; whether all is open now.
    pub fn open(&self) -> bool {
        let mut shut = self.shut();
        if shut.is_empty() {
            return true;
        }
        let is_roomy = self.room.available_permits() >= self.capacity as usize / 2;
        if is_roomy {
            let channels = shut.drain().collect();
            self.send_missed(channels, GapReason::Overflow);
        }
        is_roomy
    }

    /// Says that something may not have arrived.
    pub fn send_missed(&self, channels: Vec<ChannelKey>, reason: GapReason) {
        // Must not be refused; there is one for each time that the connection was lost or the room was full.
        self.subscriber.missed.do_send(Missed { channels, reason });
    }

    /// Says that what other nodes told may not have arrived.
    pub fn send_missed_control(&self) {
        self.listeners.send(&Control::Missed);
    }

    fn on_message(&self, data: Vec<Value>) {
        let mut data = data.into_iter();
        let (Some(Value::BulkString(name)), Some(Value::BulkString(data))) = (data.next(), data.next()) else {
            return;
        };
        if let Some(channel) = self.names.read_channel(&name) {
            self.take(Publication { channel, data: data.into() });
        } else if name == self.control_name.as_bytes() {
            self.on_control(&data);
        }
    }

    fn on_control(&self, data: &[u8]) {
        if let Ok(message) = serde_json::from_slice(data) {
            self.listeners.send(&message);
        }
    }

    fn take(&self, publication: Publication) {
        let is_shut = !self.open() && self.shut().contains(&publication.channel);
        let cost = publication.cost(self.capacity);
        match self.room.clone().try_acquire_many_owned(cost) {
            Ok(permit) if !is_shut => {
                let queue_permit = QueuePermit::new(permit, cost, self.counters.clone());
                // A mailbox's own bound is not asked: the room is the bound.
                self.subscriber.published.do_send(Published { publication, queue_permit });
            }
            _ => self.drop_publication(publication.channel),
        }
    }

    fn drop_publication(&self, channel: ChannelKey) {
        self.counters.count_limit(Limit::QueuedBytes);
        if self.overflow_told.allows() {
            let (project, event) = (&channel.project, &channel.event);
            log::warn!(
                "more arrives than this node can tell, some is dropped and told as a gap: project={project} \
                 event={event:?} limits.queued_bytes={}",
                self.capacity
            );
        }
        self.shut().insert(channel);
        self.shutting.notify_one();
    }

    fn shut(&self) -> MutexGuard<'_, HashSet<ChannelKey>> {
        self.shut.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use actix::prelude::*;

    /// Writes down what it is handed, and keeps what holds room.
    #[derive(Default)]
    struct Registry {
        heard: Vec<String>,
        passages: Vec<QueuePermit>,
    }

    /// Lets go of the oldest passages, and tells what was heard since the last time.
    #[derive(Message)]
    #[rtype(result = "Vec<String>")]
    struct LetGo(usize);

    impl Actor for Registry {
        type Context = Context<Self>;
    }

    impl Handler<Published> for Registry {
        type Result = ();

        fn handle(&mut self, message: Published, _: &mut Context<Self>) {
            self.heard.push(message.publication.channel.event.to_string());
            self.passages.push(message.queue_permit);
        }
    }

    impl Handler<Missed> for Registry {
        type Result = ();

        fn handle(&mut self, message: Missed, _: &mut Context<Self>) {
            let mut events: Vec<&str> = message.channels.iter().map(|channel| &*channel.event).collect();
            events.sort_unstable();
            self.heard.push(format!("{} {}", message.reason.as_str(), events.join(",")));
        }
    }

    impl Handler<LetGo> for Registry {
        type Result = Vec<String>;

        fn handle(&mut self, message: LetGo, _: &mut Context<Self>) -> Vec<String> {
            self.passages.drain(..message.0);
            std::mem::take(&mut self.heard)
        }
    }

    fn pushed(channel: &str, data: &str) -> PushInfo {
        let texts = [channel, data].map(|text| Value::BulkString(text.as_bytes().to_vec()));
        PushInfo { kind: PushKind::Message, data: texts.to_vec() }
    }

    #[actix::test]
    async fn what_finds_no_room_is_told_as_a_gap_before_its_channel_opens_again() {
        let registry = Registry::default().start();
        let subscriber = Subscriber { published: registry.clone().recipient(), missed: registry.clone().recipient() };
        let counters = Arc::new(Counters::default());
        // Three publications fill it, and two leave it less than half free.
        let inbox = Inbox::new(subscriber, ControlListeners::default(), Names::new("c:"), 900, counters.clone());
        let push = |events: &[&str]| {
            for event in events {
                inbox.on_push(pushed(&format!("c:e:demo:{event}"), "17"));
            }
        };
        let let_go = async |passages| registry.send(LetGo(passages)).await.expect("the registry runs");
        push(&["a", "a", "b", "a", "c"]);
        assert_eq!(let_go(1).await, ["a", "a", "b"]);
        // There is room for one, yet a shut channel stays shut; another one is free to take it.
        push(&["a", "b", "b"]);
        assert_eq!(let_go(2).await, ["b"]);
        assert!(counters.limits(Limit::QueuedBytes) == 4 && counters.bus_queue_bytes.value() > 0);
        push(&["c", "x:y"]);
        assert_eq!(let_go(0).await, ["OVERFLOW a,b,c", "c", "x:y"]);
        inbox.on_push(pushed("c:e:demo", "no event"));
        inbox.on_push(pushed("d:e:demo:a", "another prefix"));
        assert!(inbox.open() && let_go(3).await.is_empty());
        assert_eq!(counters.bus_queue_bytes.value(), 0);
    }

    #[actix::test]
    async fn a_loss_is_seen_once_and_forgotten_with_the_next_connection() {
        let registry = Registry::default().start();
        let subscriber = Subscriber { published: registry.clone().recipient(), missed: registry.recipient() };
        let inbox = Inbox::new(subscriber, ControlListeners::default(), Names::new("c:"), 900, Arc::default());
        inbox.on_push(PushInfo { kind: PushKind::Disconnection, data: Vec::new() });
        inbox.lost().await;
        inbox.on_push(PushInfo { kind: PushKind::Disconnection, data: Vec::new() });
        inbox.renew();
        assert!(futures::FutureExt::now_or_never(inbox.lost()).is_none());
    }
}
