//! The channels with subscribers on this node. A channel is joined for its first subscriber and left some time after
//! its last subscriber is gone.

use super::index::ChannelId;
use crate::bus::ChannelKey;
use crate::chunked_slab::ChunkedSlab;
use hashbrown::HashMap;

struct Channel {
    key: ChannelKey,
    /// Subscriptions, including those that wait for the channel to be joined.
    subscribers: usize,
    is_joined: bool,
    /// The number of the last time when the channel became empty.
    emptied_at: u64,
}

/// The channels of this node.
#[derive(Default)]
pub(super) struct Channels {
    ids: HashMap<ChannelKey, ChannelId>,
    channels: ChunkedSlab<Channel>,
    /// Channels that became empty since the last call of [`Channels::take_empty`], each with the number of that time.
    emptied: Vec<(ChannelId, u64)>,
    /// Channels that became empty before that. They are left at the next call unless a subscriber came back.
    idle: Vec<(ChannelId, u64)>,
    empty_count: u64,
}

impl Channels {
    /// Adds a subscriber, or one that waits for the channel to be joined. The channel is not left as long as it has
    /// one.
    pub fn add_subscriber(&mut self, key: &ChannelKey) -> ChannelId {
        let id = *self.ids.entry_ref(key).or_insert_with(|| {
            ChannelId(self.channels.insert(Channel {
                key: key.clone(),
                subscribers: 0,
                is_joined: false,
                emptied_at: 0,
            }))
        });
        self.channels[id.0].subscribers += 1;
        id
    }

    /// Removes a subscriber.
    pub fn remove_subscriber(&mut self, id: ChannelId) {
        let channel = &mut self.channels[id.0];
        channel.subscribers -= 1;
        if channel.subscribers == 0 {
            self.empty_count += 1;
            channel.emptied_at = self.empty_count;
            self.emptied.push((id, self.empty_count));
        }
    }

    /// Whether the bus has joined the channel.
    pub fn is_joined(&self, id: ChannelId) -> bool {
        self.channels[id.0].is_joined
    }

    /// Records that the bus has joined the channel.
    pub fn note_joined(&mut self, id: ChannelId) {
        self.channels[id.0].is_joined = true;
    }

    /// The channel, if it has or recently had subscribers on this node.
    pub fn find(&self, key: &ChannelKey) -> Option<ChannelId> {
        self.ids.get(key).copied()
    }

    /// The number of subscribers of a channel.
    pub fn subscribers(&self, id: ChannelId) -> usize {
        self.channels[id.0].subscribers
    }

    /// Removes the channels that have had no subscriber since before the previous call. The caller leaves them on the
    /// bus.
    pub fn take_empty(&mut self) -> Vec<ChannelKey> {
        let mut left = Vec::new();
        let due = std::mem::replace(&mut self.idle, std::mem::take(&mut self.emptied));
        for (id, emptied_at) in due {
            let still_empty = |channel: &Channel| channel.subscribers == 0 && channel.emptied_at == emptied_at;
            if !self.channels.get(id.0).is_some_and(still_empty) {
                continue;
            }
            if let Some(channel) = self.channels.remove(id.0) {
                self.ids.remove(&channel.key);
                left.push(channel.key);
            }
        }
        if self.ids.capacity() > 4 * self.ids.len() + 1024 {
            self.ids.shrink_to_fit();
        }
        left
    }

    /// The number of channels.
    pub fn len(&self) -> usize {
        self.ids.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(event: &str) -> ChannelKey {
        ChannelKey { project: "demo".into(), event: event.into() }
    }

    #[test]
    fn a_channel_is_left_only_if_no_subscriber_came_back() {
        let mut channels = Channels::default();
        let id = channels.add_subscriber(&key("a"));
        channels.remove_subscriber(id);
        assert_eq!(channels.add_subscriber(&key("a")), id);
        assert!(channels.take_empty().is_empty());
        channels.remove_subscriber(id);
        assert!(channels.take_empty().is_empty());
        assert_eq!(channels.take_empty(), [key("a")]);
        assert_eq!(channels.find(&key("a")), None);
        assert_eq!(channels.len(), 0);
    }

    #[test]
    fn a_channel_that_was_left_must_be_joined_again() {
        let mut channels = Channels::default();
        let id = channels.add_subscriber(&key("a"));
        channels.note_joined(id);
        channels.remove_subscriber(id);
        channels.take_empty();
        channels.take_empty();
        let id = channels.add_subscriber(&key("a"));
        assert!(!channels.is_joined(id));
    }

    #[test]
    fn a_channel_that_empties_twice_is_left_once() {
        let mut channels = Channels::default();
        for _ in 0..2 {
            let id = channels.add_subscriber(&key("a"));
            channels.remove_subscriber(id);
        }
        assert_eq!(channels.take_empty().len(), 0);
        assert_eq!(channels.take_empty().len(), 1);
        assert_eq!(channels.take_empty().len(), 0);
    }
}
