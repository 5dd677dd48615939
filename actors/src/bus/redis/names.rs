//! The names of channels and keys in Redis. Deployments with different prefixes share nothing.
//!
//! The name of a project has no colon, so the first colon ends it, whatever the name of the event is.

use crate::bus::ChannelKey;
use std::sync::Arc;

/// Makes and reads names under one prefix.
#[derive(Clone, Debug)]
pub(super) struct Names {
    prefix: Arc<str>,
}

impl Names {
    /// Names that begin with `prefix`.
    pub fn new(prefix: &str) -> Names {
        Names { prefix: prefix.into() }
    }

    /// The channel of an event.
    pub fn channel(&self, key: &ChannelKey) -> String {
        format!("{}e:{}:{}", self.prefix, key.project, key.event)
    }

    /// Parses a name from [`Names::channel`].
    pub fn read_channel(&self, name: &[u8]) -> Option<ChannelKey> {
        let name = std::str::from_utf8(name).ok()?;
        let (project, event) = name.strip_prefix(&*self.prefix)?.strip_prefix("e:")?.split_once(':')?;
        Some(ChannelKey { project: project.into(), event: event.into() })
    }

    /// The channel of control messages.
    pub fn control(&self) -> String {
        format!("{}control", self.prefix)
    }

    /// The Redis key that stores an idempotency key of a project.
    pub fn once(&self, project: &str, key: &str) -> String {
        format!("{}i:{project}:{key}", self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_is_read_as_it_is_written() {
        let names = Names::new("a:e:");
        for event in ["order-updates", "a:b", ":", "ü ", "e:e:e"] {
            let key = ChannelKey { project: "demo".into(), event: event.into() };
            assert_eq!(names.read_channel(names.channel(&key).as_bytes()), Some(key));
        }
    }

    #[test]
    fn a_name_without_the_prefix_is_not_a_channel() {
        let names = Names::new("a:");
        for name in [&b"b:e:demo:x"[..], b"a:i:demo:x", b"a:e:demo", b"", b"a:e:de\xffmo:x"] {
            assert_eq!(names.read_channel(name), None, "{name:?}");
        }
    }
}
