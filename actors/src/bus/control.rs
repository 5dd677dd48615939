//! What nodes tell each other beside emits. Types that a node does not know are of later versions, and ignored.

use actix::Message;
use serde::{Deserialize, Serialize};

/// One thing that all nodes are told, the one that tells it included.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Message)]
#[rtype(result = "()")]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Control {
    /// A node is there; told again and again.
    NodeSeen(NodeFacts),
    /// A node goes.
    NodeLeft { node: String },
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_control_message_is_read_as_it_is_written() {
        let facts = NodeFacts { node: "a".into(), version: "1".into(), sessions: 2, started_at: 3 };
        let text = r#"{"type":"nodeSeen","node":"a","version":"1","sessions":2,"startedAt":3}"#;
        assert_eq!(serde_json::to_string(&Control::NodeSeen(facts.clone())).expect("JSON"), text);
        assert_eq!(serde_json::from_str::<Control>(text).expect("a message"), Control::NodeSeen(facts));
        assert!(serde_json::from_str::<Control>(r#"{"type":"of a later version"}"#).is_err());
    }
}
