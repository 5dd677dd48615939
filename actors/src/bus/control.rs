//! Control messages: what nodes send each other besides emits. A node ignores the types of later versions.

use actix::{Message, Recipient};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, PoisonError, RwLock};

/// A message to all nodes, including the sender.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Message)]
#[rtype(result = "()")]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Control {
    /// The node is alive. Sent periodically.
    NodeSeen(NodeFacts),
    /// The node stops.
    NodeLeft { node: String },
    /// Ends every session of a user.
    DisconnectUser {
        project: String,
        user: String,
        /// The application that asked for it. Earlier versions do not send it.
        #[serde(default)]
        by: String,
        /// The number of the call, if it waits for [`Control::UserDisconnected`].
        #[serde(default)]
        call: Option<u64>,
    },
    /// The reply of a node to [`Control::DisconnectUser`]: the number of sessions that it ended.
    UserDisconnected { call: u64, sessions: u64 },
    /// The project changed in the catalogue: its keys, its state or its events.
    ProjectChanged { project: String },
    /// Never sent: this node may have missed control messages until now.
    #[serde(skip)]
    Missed,
}

/// The announcement of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeFacts {
    /// Its name, as clients see it.
    pub node: String,
    pub version: String,
    pub sessions: u64,
    /// Unix seconds.
    pub started_at: u64,
}

/// The receivers of control messages on this node. Clones share one list.
#[derive(Clone, Default)]
pub struct ControlListeners(Arc<RwLock<Vec<Recipient<Control>>>>);

impl ControlListeners {
    /// Adds a receiver of all later messages.
    pub fn add(&self, listener: Recipient<Control>) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).push(listener);
    }

    /// Sends a message to all receivers. Never waits.
    pub fn send(&self, message: &Control) {
        for listener in self.0.read().unwrap_or_else(PoisonError::into_inner).iter() {
            // No bound is needed: a few messages per node every few seconds, and the calls of operators.
            listener.do_send(message.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_control_message_is_read_as_it_is_written() {
        let facts = NodeFacts { node: "a".into(), version: "1".into(), sessions: 2, started_at: 3 };
        let rows = [
            (Control::NodeSeen(facts), r#"{"type":"nodeSeen","node":"a","version":"1","sessions":2,"startedAt":3}"#),
            (
                Control::DisconnectUser { project: "demo".into(), user: "u42".into(), by: "ops".into(), call: Some(7) },
                r#"{"type":"disconnectUser","project":"demo","user":"u42","by":"ops","call":7}"#,
            ),
            (
                Control::UserDisconnected { call: u64::MAX, sessions: 2 },
                r#"{"type":"userDisconnected","call":18446744073709551615,"sessions":2}"#,
            ),
            (Control::ProjectChanged { project: "demo".into() }, r#"{"type":"projectChanged","project":"demo"}"#),
        ];
        assert!(serde_json::to_string(&Control::Missed).is_err());
        for (message, text) in rows {
            assert_eq!(serde_json::to_string(&message).expect("JSON"), text);
            assert_eq!(serde_json::from_str::<Control>(text).expect("a message"), message);
        }
        assert!(serde_json::from_str::<Control>(r#"{"type":"of a later version"}"#).is_err());
        let earlier = serde_json::from_str(r#"{"type":"disconnectUser","project":"demo","user":"u42"}"#);
        let expected =
            Control::DisconnectUser { project: "demo".into(), user: "u42".into(), by: String::new(), call: None };
        assert_eq!(earlier.ok(), Some(expected), "a message of an earlier version");
    }
}
