//! The channels with subscribers on this node: joined with the first one, left a while after the last one went.

use super::index::ChannelId;
use crate::bus::ChannelKey;
use crate::chunked_slab::ChunkedSlab;
use hashbrown::HashMap;

struct Channel {
    key: ChannelKey,
    /// Subscriptions, and those that wait for the channel to be joined.
    subscribers: usize,
    is_joined: bool,
    /// The number of the last time that its last subscriber went.
    emptying: u64,
}

/// See the module.
#[derive(Default)]
pub(super) struct Channels {
    ids: HashMap<ChannelKey, ChannelId>,
    channels: ChunkedSlab<Channel>,
    /// Channels whose last subscriber went since the last look, each with the number of that time.
    emptied: Vec<(ChannelId, u64)>,
    /// Those of the look before: left at the next one, unless somebody came back meanwhile.
    idle: Vec<(ChannelId, u64)>,
    emptyings: u64,
}

impl Channels {
    /// Adds a subscriber, or one that waits for the bus: the channel is not left meanwhile.
    pub fn enter(&mut self, key: &ChannelKey) -> ChannelId {
        let id = *self.ids.entry_ref(key).or_insert_with(|| {
            ChannelId(self.channels.insert(Channel { key: key.clone(), subscribers: 0, is_joined: false, emptying: 0 }))
        });
        self.channels[id.0].subscribers += 1;
        id
    }

    /// Takes a subscriber away.
    pub fn exit(&mut self, id: ChannelId) {
        let channel = &mut self.channels[id.0];
        channel.subscribers -= 1;
        if channel.subscribers == 0 {
            self.emptyings += 1;
            channel.emptying = self.emptyings;
            self.emptied.push((id, self.emptyings));
        }
    }

    /// Whether the bus has joined the channel.
    pub fn is_joined(&self, id: ChannelId) -> bool {
        self.channels[id.0].is_joined
    }

    /// Notes that the bus has joined the channel.
    pub fn note_joined(&mut self, id: ChannelId) {
        self.channels[id.0].is_joined = true;
    }

    /// The channel, if somebody here may hear it.
    pub fn find(&self, key: &ChannelKey) -> Option<ChannelId> {
        self.ids.get(key).copied()
    }

    /// Subscribers of a channel.
    pub fn subscribers(&self, id: ChannelId) -> usize {
        self.channels[id.0].subscribers
    }

    /// Forgets the channels that have had no subscriber since before the last call; the caller leaves them on the bus.
    pub fn take_empty(&mut self) -> Vec<ChannelKey> {
        let mut left = Vec::new();
        let due = std::mem::replace(&mut self.idle, std::mem::take(&mut self.emptied));
        for (id, emptying) in due {
            let still_empty = |channel: &Channel| channel.subscribers == 0 && channel.emptying == emptying;
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

    /// How many there are.
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
    fn a_channel_is_left_only_when_nobody_came_back() {
        let mut channels = Channels::default();
        let id = channels.enter(&key("a"));
        channels.exit(id);
        assert_eq!(channels.enter(&key("a")), id);
        assert!(channels.take_empty().is_empty());
        channels.exit(id);
        assert!(channels.take_empty().is_empty());
        assert_eq!(channels.take_empty(), [key("a")]);
        assert_eq!(channels.find(&key("a")), None);
        assert_eq!(channels.len(), 0);
    }

    #[test]
    fn a_channel_that_was_left_is_not_joined_when_it_is_entered_again() {
        let mut channels = Channels::default();
        let id = channels.enter(&key("a"));
        channels.note_joined(id);
        channels.exit(id);
        channels.take_empty();
        channels.take_empty();
        let id = channels.enter(&key("a"));
        assert!(!channels.is_joined(id));
    }

    #[test]
    fn a_channel_that_empties_twice_is_left_once() {
        let mut channels = Channels::default();
        for _ in 0..2 {
            let id = channels.enter(&key("a"));
            channels.exit(id);
        }
        assert_eq!(channels.take_empty().len(), 0);
        assert_eq!(channels.take_empty().len(), 1);
        assert_eq!(channels.take_empty().len(), 0);
    }
}
