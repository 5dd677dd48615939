//! What nodes tell each other beside emits. Types that a node does not know are of later versions, and ignored.

use actix::{Message, Recipient};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, PoisonError, RwLock};

/// One thing that all nodes are told, the one that tells it included.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Message)]
#[rtype(result = "()")]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Control {
    /// A node is there; told again and again.
    NodeSeen(NodeFacts),
    /// A node goes.
    NodeLeft { node: String },
    /// Every session of a user ends.
    DisconnectUser {
        project: String,
        user: String,
        /// The application that asked for it. Nodes of earlier versions do not say it.
        #[serde(default)]
        by: String,
        /// The number of the call, if it waits for [`Control::UserDisconnected`].
        #[serde(default)]
        call: Option<u64>,
    },
    /// A node has ended so many sessions for a call.
    UserDisconnected { call: u64, sessions: u64 },
    /// Something of a project is another one in the catalogue: its keys, its state, its events.
    ProjectChanged { project: String },
    /// Never on the wire: this node may have missed what the others told, until now.
    #[serde(skip)]
    Missed,
}

/// What a node tells of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeFacts {
    /// Its name, as clients are told.
    pub node: String,
    pub version: String,
    pub sessions: u64,
    /// In seconds since 1970.
    pub started_at: u64,
}

/// Who on this node is told what nodes tell each other. Clones are one list.
#[derive(Clone, Default)]
pub struct ControlListeners(Arc<RwLock<Vec<Recipient<Control>>>>);

impl ControlListeners {
    /// Adds one; it is told what comes from now on.
    pub fn add(&self, listener: Recipient<Control>) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).push(listener);
    }

    /// Tells all of them. Never waits.
    pub fn send(&self, message: &Control) {
        for listener in self.0.read().unwrap_or_else(PoisonError::into_inner).iter() {
            // Some for each node every few seconds, and what an operator asks for: needs no bound.
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
