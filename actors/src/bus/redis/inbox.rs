//! The queue of publications from Redis to the registry, bounded in bytes.
//!
//! Redis does not wait for slow nodes. When the queue is full, publications are dropped and their channel is marked as
//! overflowed. The channel drops everything until half of the queue is free. Then its subscriptions get `GAP`, after
//! everything that arrived before. If the channel recovered at the first free byte, a channel that is too busy would
//! cause a gap for each of its publications.

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

/// The queue between Redis and the registry. Everything runs on the bus arbiter. The lock is here only because the
/// driver's callback must be `Sync`.
pub(super) struct Inbox {
    subscriber: Subscriber,
    listeners: ControlListeners,
    control_name: String,
    names: Names,
    room: Arc<Semaphore>,
    capacity: u32,
    /// Channels with dropped publications, whose gap is not sent yet.
    overflowed: Mutex<HashSet<ChannelKey>>,
    /// Notified when the connection is lost.
    lost: Notify,
    /// Notified when a channel overflows.
    on_overflow: Notify,
    overflow_log: LogRateLimit,
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
            overflowed: Mutex::default(),
            lost: Notify::new(),
            on_overflow: Notify::new(),
            overflow_log: LogRateLimit::default(),
            counters,
        }
    }

    /// Handles a push message of the connection. Never waits.
    pub fn on_push(&self, push: PushInfo) {
        match push.kind {
            PushKind::Message => self.on_message(push.data),
            PushKind::Disconnection => self.lost.notify_one(),
            // Confirmations, which the commands receive too.
            _ => {}
        }
    }

    /// Resolves when the connection is lost.
    pub async fn lost(&self) {
        self.lost.notified().await;
    }

    /// Resets the state before a new connection. Overflows are forgotten, because all channels get a gap after the
    /// connection is made. The earlier connection must be closed.
    pub fn reset(&self) {
        use futures::FutureExt as _;
        let _ = self.lost.notified().now_or_never();
        self.overflowed().clear();
    }

    /// Resolves when a channel has overflowed, so that [`Inbox::recover`] has something to do.
    pub async fn overflow(&self) {
        self.on_overflow.notified().await;
    }

    /// Ends the overflow of all channels if there is room again, and sends their gaps. Returns whether no channel is
    /// overflowed now.
    pub fn recover(&self) -> bool {
        let mut overflowed = self.overflowed();
        if overflowed.is_empty() {
            return true;
        }
        let is_roomy = self.room.available_permits() >= self.capacity as usize / 2;
        if is_roomy {
            let channels = overflowed.drain().collect();
            self.send_missed(channels, GapReason::Overflow);
        }
        is_roomy
    }

    /// Reports that publications may be missing.
    pub fn send_missed(&self, channels: Vec<ChannelKey>, reason: GapReason) {
        // The message must not be refused. There is one for each lost connection and each overflow.
        self.subscriber.missed.do_send(Missed { channels, reason });
    }

    /// Reports that control messages may be missing.
    pub fn send_missed_control(&self) {
        self.listeners.send(&Control::Missed);
    }

    fn on_message(&self, data: Vec<Value>) {
        let mut data = data.into_iter();
        let (Some(Value::BulkString(name)), Some(Value::BulkString(data))) = (data.next(), data.next()) else {
            return;
        };
        if let Some(channel) = self.names.read_channel(&name) {
            self.on_publication(Publication { channel, data: data.into() });
        } else if name == self.control_name.as_bytes() {
            self.on_control(&data);
        }
    }

    fn on_control(&self, data: &[u8]) {
        if let Ok(message) = serde_json::from_slice(data) {
            self.listeners.send(&message);
        }
    }

    fn on_publication(&self, publication: Publication) {
        let is_overflowed = !self.recover() && self.overflowed().contains(&publication.channel);
        let cost = publication.cost(self.capacity);
        match self.room.clone().try_acquire_many_owned(cost) {
            Ok(permit) if !is_overflowed => {
                let queue_permit = QueuePermit::new(permit, cost, self.counters.clone());
                // `do_send` ignores the mailbox's bound. The permit is the bound.
                self.subscriber.published.do_send(Published { publication, queue_permit });
            }
            _ => self.drop_publication(publication.channel),
        }
    }

    fn drop_publication(&self, channel: ChannelKey) {
        self.counters.count_limit(Limit::QueuedBytes);
        if self.overflow_log.allows() {
            let (project, event) = (&*channel.project, &*channel.event);
            log::warn!(
                project, event, queued_bytes = self.capacity;
                "emits arrive faster than this node can deliver them: some are dropped, and their subscriptions get GAP"
            );
        }
        self.overflowed().insert(channel);
        self.on_overflow.notify_one();
    }

    fn overflowed(&self) -> MutexGuard<'_, HashSet<ChannelKey>> {
        self.overflowed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use actix::prelude::*;

    /// Records what it receives, and holds the permits.
    #[derive(Default)]
    struct Registry {
        received: Vec<String>,
        permits: Vec<QueuePermit>,
    }

    /// Releases the oldest permits, and returns what was received since the last time.
    #[derive(Message)]
    #[rtype(result = "Vec<String>")]
    struct Release(usize);

    impl Actor for Registry {
        type Context = Context<Self>;
    }

    impl Handler<Published> for Registry {
        type Result = ();

        fn handle(&mut self, message: Published, _: &mut Context<Self>) {
            self.received.push(message.publication.channel.event.to_string());
            self.permits.push(message.queue_permit);
        }
    }

    impl Handler<Missed> for Registry {
        type Result = ();

        fn handle(&mut self, message: Missed, _: &mut Context<Self>) {
            let mut events: Vec<&str> = message.channels.iter().map(|channel| &*channel.event).collect();
            events.sort_unstable();
            self.received.push(format!("{} {}", message.reason.as_str(), events.join(",")));
        }
    }

    impl Handler<Release> for Registry {
        type Result = Vec<String>;

        fn handle(&mut self, message: Release, _: &mut Context<Self>) -> Vec<String> {
            self.permits.drain(..message.0);
            std::mem::take(&mut self.received)
        }
    }

    fn pushed(channel: &str, data: &str) -> PushInfo {
        let texts = [channel, data].map(|text| Value::BulkString(text.as_bytes().to_vec()));
        PushInfo { kind: PushKind::Message, data: texts.to_vec() }
    }

    #[actix::test]
    async fn a_dropped_publication_becomes_a_gap_before_its_channel_delivers_again() {
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
        let release = async |permits| registry.send(Release(permits)).await.expect("the registry runs");
        push(&["a", "a", "b", "a", "c"]);
        assert_eq!(release(1).await, ["a", "a", "b"]);
        // There is room for one publication. An overflowed channel stays overflowed, another channel may use the room.
        push(&["a", "b", "b"]);
        assert_eq!(release(2).await, ["b"]);
        assert!(counters.limits(Limit::QueuedBytes) == 4 && counters.bus_queue_bytes.value() > 0);
        push(&["c", "x:y"]);
        assert_eq!(release(0).await, ["OVERFLOW a,b,c", "c", "x:y"]);
        inbox.on_push(pushed("c:e:demo", "no event"));
        inbox.on_push(pushed("d:e:demo:a", "another prefix"));
        assert!(inbox.recover() && release(3).await.is_empty());
        assert_eq!(counters.bus_queue_bytes.value(), 0);
    }

    #[actix::test]
    async fn a_loss_is_reported_once_and_forgotten_with_the_next_connection() {
        let registry = Registry::default().start();
        let subscriber = Subscriber { published: registry.clone().recipient(), missed: registry.recipient() };
        let inbox = Inbox::new(subscriber, ControlListeners::default(), Names::new("c:"), 900, Arc::default());
        inbox.on_push(PushInfo { kind: PushKind::Disconnection, data: Vec::new() });
        inbox.lost().await;
        inbox.on_push(PushInfo { kind: PushKind::Disconnection, data: Vec::new() });
        inbox.reset();
        assert!(futures::FutureExt::now_or_never(inbox.lost()).is_none());
    }
}
