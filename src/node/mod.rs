//! One running node: its parts, the order of their start, and the order of their stop.
//!
//! Start: lock the data folder, open the catalogue, bind the port, start the bus arbiter with registry and emitter,
//! then the workers with a hub each. The port is bound early, so that a port in use is reported at once, and served
//! last. Stop: the node is not ready, takes no new sessions, closes every session with 1001, then drains HTTP. Only the
//! command line and tests import this module.

mod bus;
mod catalogue;
mod control_handler;
mod demo;
mod limit_log;
mod listener;
mod readiness;
mod reload;
mod server;
mod stop;
mod system;

use crate::auth::Authenticator;
use crate::catalogue::{Catalogue, CatalogueError, NodeLock};
use crate::http::{Admission, AdmissionLimits, AppState, DisconnectReplies};
use crate::limits::{SessionBudget, SystemFiles};
use crate::settings::{Problems, Settings};
use actix::{Actor, Addr, Arbiter, System};
use actix_web::web;
use actors::bus::redis::RedisAddressError;
use actors::counters::Counters;
use actors::emitter::Emitter;
use actors::nodes::NodeList;
use actors::registry::SessionRegistry;
use actors::session::{SessionHandlers, SessionSettings, on_client_message, on_open};
use bus::{BusParts, start_bus};
use catalogue::open_catalogue;
use control_handler::{ControlHandler, UseAnnouncer};
use demo::DemoText;
use limit_log::log_limits;
pub(crate) use listener::ADDRESS_FILE;
use listener::{AddressFile, listen};
use reload::{listen_for_hangups, reload_at_hangup};
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use stop::{Hubs, StopSignals};
use system::{grow_tcp_memory, log_system_limits, restore_tcp_memory};

/// Why a node did not start, or stopped by itself.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    #[error("{0}")]
    Catalogue(#[from] CatalogueError),
    #[error("http.bind: cannot listen on {address}: {source}")]
    Listen { address: SocketAddr, source: io::Error },
    #[error("data.dir: cannot write {file}: {source}")]
    AddressFile { file: String, source: io::Error },
    #[error("no randomness from the system: {0}")]
    Randomness(String),
    #[error("the bus did not start")]
    Bus,
    #[error("bus.redis.url: {0}")]
    BusAddress(#[from] RedisAddressError),
    #[error("the server stopped: {0}")]
    Server(#[from] io::Error),
}

/// Runs a node until it receives SIGTERM or SIGINT.
///
/// Prints tokens of the project `demo` on any standard output if `show_demo_tokens` says so; see `demo.rs`. At SIGHUP
/// it calls `load` and applies the settings that can change while it runs.
pub fn serve(
    settings: Settings,
    show_demo_tokens: bool,
    load: impl Fn() -> Result<Settings, Problems>,
) -> Result<(), NodeError> {
    System::new().block_on(run(settings, show_demo_tokens, load))
}

async fn run(
    settings: Settings,
    show_demo_tokens: bool,
    load: impl Fn() -> Result<Settings, Problems>,
) -> Result<(), NodeError> {
    let signals = StopSignals::listen()?;
    let hangups = listen_for_hangups()?;
    let _lock = NodeLock::acquire(&settings.data.dir)?;
    AddressFile::remove_old(&settings);
    let opened = open_catalogue(&settings).await?;
    let catalogue = &opened.catalogue;
    let (budget, mut tcp_memory) = log_system_limits(&settings, &SystemFiles::of_this_machine());
    let listener = listen(&settings)?;
    let address = listener.local_addr()?;

    let node = Node::start(&settings, catalogue.clone(), &budget).await?;
    let server = node.server(listener, signals, &budget)?;
    let address_file = AddressFile::write(&settings, address)?;
    log::info!(node:% = node.app_state.node, address:%; "the node listens on http://{address}");
    let demo_text = async {
        if settings.catalogue.demo || show_demo_tokens {
            let text = DemoText { address, try_page: settings.http.try_page, asks_for_tokens: show_demo_tokens };
            text.print_when_ready(catalogue.as_ref(), || readiness::waits_for(&node.app_state)).await;
        }
        std::future::pending::<Infallible>().await
    };
    let result = tokio::select! {
        result = server => result,
        never = demo_text => match never {},
        never = grow_tcp_memory(&mut tcp_memory, &node.app_state.counters) => match never {},
        never = reload_at_hangup(hangups, load, &node.app_state) => match never {},
        never = log_limits(&node.app_state.counters) => match never {},
    };
    restore_tcp_memory(tcp_memory);
    drop(address_file);
    log::info!(node:% = node.app_state.node; "the node has stopped");
    Ok(result?)
}

struct Node {
    settings: Settings,
    app_state: web::Data<AppState>,
    registry: Addr<SessionRegistry>,
    emitter: Addr<Emitter>,
    nodes: Addr<NodeList>,
    hubs: Hubs,
    session_settings: SessionSettings,
    /// The actors of the bus live on it. It ends with the node.
    _bus_arbiter: Arbiter,
}

impl Node {
    async fn start(
        settings: &Settings,
        catalogue: Arc<dyn Catalogue>,
        budget: &SessionBudget,
    ) -> Result<Node, NodeError> {
        let counters = Arc::new(Counters::default());
        let number = random_number()?;
        let node: Arc<str> = format!("{:08x}", number >> 32).into();
        let auth = (settings.auth.leeway_seconds, settings.catalogue.cache_seconds);
        let authenticator = Arc::new(Authenticator::new(catalogue.clone(), auth.0, auth.1));
        let admission_limits = AdmissionLimits {
            sessions: budget.sessions,
            sessions_per_user: settings.limits.sessions_per_user,
            sessions_per_address: settings.limits.sessions_per_address,
        };
        let admission = Arc::new(Admission::new(admission_limits, counters.clone()));
        let hubs = Hubs::default();
        let replies = DisconnectReplies::new(random_number()?);
        let control_handler = ControlHandler::new(
            hubs.clone(),
            admission.clone(),
            authenticator.clone(),
            catalogue.clone(),
            replies.clone(),
            counters.clone(),
        )
        .start();
        let bus_arbiter = Arbiter::new();
        let BusParts { registry, emitter, nodes, app_state } = start_bus(
            &bus_arbiter,
            settings,
            number,
            &node,
            control_handler.clone().recipient(),
            replies,
            counters.clone(),
        )
        .await?;
        control_handler.do_send(UseAnnouncer(app_state.announcer.clone()));
        let app_state =
            AppState::new(settings.clone(), node.clone(), catalogue, authenticator, admission, app_state, counters);
        Ok(Node {
            settings: settings.clone(),
            app_state: web::Data::new(app_state),
            registry,
            emitter,
            nodes,
            hubs,
            session_settings: session_settings(settings, node),
            _bus_arbiter: bus_arbiter,
        })
    }
}

fn session_settings(settings: &Settings, node: Arc<str>) -> SessionSettings {
    let seconds = |seconds: u64| u32::try_from(seconds).unwrap_or(u32::MAX);
    SessionSettings {
        handlers: SessionHandlers { on_open, on_message: on_client_message },
        node,
        ping_seconds: seconds(settings.session.ping_seconds),
        close_seconds: seconds(settings.session.close_seconds),
        send_buffer_bytes: settings.session.send_buffer_bytes,
        burst_bytes: settings.limits.queued_bytes,
        write_timeout_seconds: seconds(settings.session.write_timeout_seconds),
        message_bytes: settings.limits.message_bytes,
        messages_per_second: settings.limits.messages_per_second,
        register_milliseconds: settings.limits.register_milliseconds,
        subscriptions: settings.limits.subscriptions,
    }
}

fn random_number() -> Result<u64, NodeError> {
    getrandom::u64().map_err(|error| NodeError::Randomness(error.to_string()))
}
