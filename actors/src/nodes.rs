//! Which nodes there are: each tells the others of itself, and forgets who was silent for long.
//!
//! One actor on the bus arbiter. The list is kept by every node and nowhere else: in Redis it could only be read by
//! looking through all keys. Knows neither sessions nor projects.

use crate::bus::{Control, NodeFacts, SharedBus};
use crate::counters::Counters;
use actix::prelude::*;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often a node tells of itself.
const TELL_INTERVAL: Duration = Duration::from_secs(5);

/// Silent for so long, a node is gone: two messages may be lost.
const SILENCE: Duration = Duration::from_secs(15);

/// The most nodes that are remembered; more than share one Redis.
const NODES: usize = 1000;

/// Tells the others that this node goes; it tells nothing more.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Leave;

/// See the module.
pub struct NodeList {
    bus: SharedBus,
    own: NodeFacts,
    has_left: bool,
    seen: HashMap<String, (NodeFacts, Instant)>,
    counters: Arc<Counters>,
}

impl NodeList {
    /// The list as the node with these facts keeps it.
    pub fn new(bus: SharedBus, own: NodeFacts, counters: Arc<Counters>) -> NodeList {
        NodeList { bus, own, has_left: false, seen: HashMap::new(), counters }
    }

    fn tell(&mut self) {
        self.seen.retain(|_, (_, at)| at.elapsed() < SILENCE);
        self.count();
        if !self.has_left {
            let sessions = self.counters.sessions.value();
            let facts = NodeFacts { sessions, ..self.own.clone() };
            // Nobody waits for it.
            drop(self.bus.announce(&Control::NodeSeen(facts)));
        }
    }

    fn count(&self) {
        self.counters.nodes.set(self.seen.len() as u64);
    }
}

impl Actor for NodeList {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        self.bus.attach_control(ctx.address().recipient());
        self.tell();
        ctx.run_interval(TELL_INTERVAL, |list, _| list.tell());
    }
}

impl Handler<Control> for NodeList {
    type Result = ();

    fn handle(&mut self, message: Control, _: &mut Context<Self>) {
        match message {
            Control::NodeSeen(facts) => {
                let is_known = self.seen.contains_key(&facts.node);
                if is_known || self.seen.len() < NODES {
                    if !is_known {
                        log::info!("a node is there: node={:?} version={:?}", facts.node, facts.version);
                        // It has not heard of us yet.
                        if facts.node != self.own.node {
                            self.tell();
                        }
                    }
                    self.seen.insert(facts.node.clone(), (facts, Instant::now()));
                }
            }
            Control::NodeLeft { node } => {
                if self.seen.remove(&node).is_some() {
                    log::info!("a node has left: node={node:?}");
                }
            }
            // The program's own handler carries these out.
            Control::DisconnectUser { .. }
            | Control::UserDisconnected { .. }
            | Control::ProjectChanged { .. }
            | Control::Missed => {}
        }
        self.count();
    }
}

impl Handler<Leave> for NodeList {
    type Result = ();

    fn handle(&mut self, _: Leave, _: &mut Context<Self>) {
        self.has_left = true;
        drop(self.bus.announce(&Control::NodeLeft { node: self.own.node.clone() }));
    }
}
