//! The list of nodes. Each node announces itself periodically, and nodes that stay silent are removed.
//!
//! One actor on the bus arbiter. Every node holds the list in memory. In Redis it could only be read by a scan of all
//! keys. This actor does not know sessions or projects.

use crate::bus::{Control, NodeFacts, SharedBus};
use crate::counters::Counters;
use actix::prelude::*;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Interval of a node's announcements.
const ANNOUNCE_INTERVAL: Duration = Duration::from_secs(5);

/// A node that is silent for this long is removed. Two announcements may be lost.
const NODE_TIMEOUT: Duration = Duration::from_secs(15);

/// Maximum number of nodes in the list. It is more than can share one Redis.
const MAX_NODES: usize = 1000;

/// Tells the other nodes that this node stops. It makes no announcement afterwards.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Leave;

/// The actor that holds the list of nodes.
pub struct NodeList {
    bus: SharedBus,
    own: NodeFacts,
    has_left: bool,
    seen: HashMap<String, (NodeFacts, Instant)>,
    counters: Arc<Counters>,
}

impl NodeList {
    /// The list of the node with these facts.
    pub fn new(bus: SharedBus, own: NodeFacts, counters: Arc<Counters>) -> NodeList {
        NodeList { bus, own, has_left: false, seen: HashMap::new(), counters }
    }

    fn announce(&mut self) {
        self.seen.retain(|_, (_, at)| at.elapsed() < NODE_TIMEOUT);
        self.update_gauge();
        if !self.has_left {
            let sessions = self.counters.sessions.value();
            let facts = NodeFacts { sessions, ..self.own.clone() };
            // The answer is not needed.
            drop(self.bus.announce(&Control::NodeSeen(facts)));
        }
    }

    fn update_gauge(&self) {
        self.counters.nodes.set(self.seen.len() as u64);
    }
}

impl Actor for NodeList {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        self.bus.attach_control(ctx.address().recipient());
        self.announce();
        ctx.run_interval(ANNOUNCE_INTERVAL, |list, _| list.announce());
    }
}

impl Handler<Control> for NodeList {
    type Result = ();

    fn handle(&mut self, message: Control, _: &mut Context<Self>) {
        match message {
            Control::NodeSeen(facts) => {
                let is_known = self.seen.contains_key(&facts.node);
                if is_known || self.seen.len() < MAX_NODES {
                    if !is_known {
                        log::info!(node = facts.node, version = facts.version; "a node has joined");
                        // The new node does not know this one yet.
                        if facts.node != self.own.node {
                            self.announce();
                        }
                    }
                    self.seen.insert(facts.node.clone(), (facts, Instant::now()));
                }
            }
            Control::NodeLeft { node } => {
                if self.seen.remove(&node).is_some() {
                    log::info!(node; "a node has left");
                }
            }
            // The program's own handler carries these out.
            Control::DisconnectUser { .. }
            | Control::UserDisconnected { .. }
            | Control::ProjectChanged { .. }
            | Control::Missed => {}
        }
        self.update_gauge();
    }
}

impl Handler<Leave> for NodeList {
    type Result = ();

    fn handle(&mut self, _: Leave, _: &mut Context<Self>) {
        self.has_left = true;
        drop(self.bus.announce(&Control::NodeLeft { node: self.own.node.clone() }));
    }
}
