//! Starts the actors of the bus arbiter: the bus that the settings choose, the registry and the emitter.

use super::NodeError;
use crate::http::{BusHandles, DisconnectReplies};
use crate::settings::{BusKind, Settings};
use actix::{Actor, Addr, Arbiter, Recipient};
use actors::announcer::Announcer;
use actors::bus::local::{IdempotencySettings, LocalBus, LocalBusSettings};
use actors::bus::redis::{RedisAddress, RedisBus, RedisBusSettings};
use actors::bus::{Control, NodeFacts, SharedBus};
use actors::counters::Counters;
use actors::emitter::Emitter;
use actors::nodes::NodeList;
use actors::registry::SessionRegistry;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The addresses of the actors on the bus arbiter.
pub(super) struct BusParts {
    pub registry: Addr<SessionRegistry>,
    pub emitter: Addr<Emitter>,
    pub nodes: Addr<NodeList>,
    pub app_state: BusHandles,
}

/// The chosen bus, to be created on the arbiter's thread.
enum Choice {
    Local(LocalBusSettings),
    Redis(Box<RedisBusSettings>),
}

impl Choice {
    fn of(settings: &Settings, node: u64) -> Result<Choice, NodeError> {
        let queued_bytes = queued_bytes(settings);
        let limits = &settings.limits;
        let idempotency_window = Duration::from_secs(limits.idempotency_seconds);
        Ok(match settings.bus.kind {
            BusKind::Local => {
                let idempotency = IdempotencySettings {
                    node,
                    keys: limits.idempotency_keys,
                    keys_per_project: limits.idempotency_keys_per_project,
                    window: idempotency_window,
                };
                Choice::Local(LocalBusSettings { queued_bytes, idempotency })
            }
            BusKind::Redis => {
                let redis = &settings.bus.redis;
                let address = RedisAddress::parse(redis.url.expose())?;
                let prefix = redis.prefix.clone();
                Choice::Redis(Box::new(RedisBusSettings { address, prefix, queued_bytes, idempotency_window }))
            }
        })
    }

    fn create(self, counters: Arc<Counters>) -> SharedBus {
        match self {
            Choice::Local(settings) => Rc::new(LocalBus::new(settings, counters)),
            Choice::Redis(settings) => Rc::new(RedisBus::new(*settings, counters)),
        }
    }
}

fn queued_bytes(settings: &Settings) -> u32 {
    u32::try_from(settings.limits.queued_bytes).unwrap_or(u32::MAX)
}

fn facts(name: &str) -> NodeFacts {
    let started_at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    NodeFacts { node: name.to_owned(), version: env!("CARGO_PKG_VERSION").to_owned(), sessions: 0, started_at }
}

/// Starts the actors of the bus arbiter. Control messages from other nodes go to `control_handler` too. If the bus is
/// unreachable this does not fail: the node is not ready until the bus is reachable.
pub(super) async fn start_bus(
    arbiter: &Arbiter,
    settings: &Settings,
    number: u64,
    name: &str,
    control_handler: Recipient<Control>,
    disconnect_replies: DisconnectReplies,
    counters: Arc<Counters>,
) -> Result<BusParts, NodeError> {
    let choice = Choice::of(settings, number)?;
    let (queued_bytes, emits_per_second) = (queued_bytes(settings), settings.limits.emits_per_second);
    let facts = facts(name);
    let (started, start) = tokio::sync::oneshot::channel();
    arbiter.spawn(async move {
        let bus = choice.create(counters.clone());
        let health = bus.health();
        let registry = SessionRegistry::new(bus.clone(), queued_bytes as usize, counters.clone()).start();
        let emitter = Emitter::new(bus.clone(), number, emits_per_second, counters.clone()).start();
        let announcer = Announcer::new(bus.clone()).start();
        bus.attach_control(control_handler);
        let nodes = NodeList::new(bus, facts, counters).start();
        let app_state = BusHandles { disconnect_replies, announcer, health };
        // The receiver is gone if the node was stopped in the meantime.
        let _ = started.send(BusParts { registry, emitter, nodes, app_state });
    });
    start.await.map_err(|_| NodeError::Bus)
}
