//! One running node: which parts there are, the order of their start, and the order of their stop.
//!
//! Start: the data folder is locked, the catalogue opened, the bus arbiter with registry and emitter started, then the
//! workers with a hub each; the port is bound early, so that a taken one is said at once, and served last. Stop: not ready any more, no
//! new sessions, every session told 1001, then HTTP drained. Nothing but the command line and tests imports this.

mod bus;
mod catalogue;
mod control_handler;
mod demo;
mod limit_log;
mod listener;
mod readiness;
mod reload;
mod stop;
mod system;

use crate::auth::Authenticator;
use crate::catalogue::{Catalogue, CatalogueError, NodeLock};
use crate::http::connect::{self, UpgradeRequest};
use crate::http::connection::{self, PacedStream};
use crate::http::{self, Admission, AdmissionLimits, AppState, DisconnectReplies, HttpConnection, NodeAuthorizer};
use crate::limits::{SessionBudget, SystemFiles};
use crate::settings::{Problems, Settings};
use actix::{Actor, Addr, Arbiter, System};
use actix_http::HttpService;
use actix_server::Server;
use actix_service::{ServiceFactoryExt as _, map_config};
use actix_web::dev::AppConfig;
use actix_web::middleware::from_fn;
use actix_web::{App, web};
use actors::bus::redis::RedisAddressError;
use actors::counters::Counters;
use actors::emitter::{EmitBatcher, Emitter};
use actors::hub::{SessionHub, announce};
use actors::nodes::NodeList;
use actors::registry::SessionRegistry;
use actors::session::{SessionContext, SessionHandlers, SessionSettings, on_client_message, on_open};
use bus::{BusParts, start_bus};
use catalogue::open_catalogue;
use control_handler::{ControlHandler, UseAnnouncer};
use demo::DemoText;
use limit_log::log_limits;
pub(crate) use listener::ADDRESS_FILE;
use listener::{AddressFile, listen};
use reload::{listen_for_hangups, reload_at_hangup};
use std::convert::Infallible;
use std::future::{Ready, ready};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::rc::Rc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use stop::{Hubs, StopSignals, http_seconds, stop};
use system::{grow_tcp_memory, log_system_limits, restore_tcp_memory};

/// How long a client may go on sending a body whose answer it has not read yet.
const LINGER: Duration = Duration::from_secs(1);

/// Why a node did not start, or stopped by itself.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    #[error("{0}")]
    Catalogue(#[from] CatalogueError),
    #[error("http.bind: can't listen on {address}: {source}")]
    Listen { address: SocketAddr, source: io::Error },
    #[error("data.dir: can't write {file}: {source}")]
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

/// Runs a node until it is told to stop by SIGTERM or SIGINT.
///
/// Prints tokens of the project `demo` on any standard output if `show_demo_tokens` says so; see `demo.rs`. At SIGHUP it
/// calls `load` and applies the settings that can change while it runs.
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
    /// Ends with the node; the actors of the bus live on it.
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

    /// The server of both HTTP and WebSockets; it ends when the node has stopped.
    fn server(&self, listener: TcpListener, signals: StopSignals, budget: &SessionBudget) -> Result<Server, NodeError> {
        let workers = self.settings.http.worker_count();
        let (counters, reserved_for_http) = (self.app_state.counters.clone(), budget.reserved_for_http);
        let write_timeout = Duration::from_secs(self.settings.http.write_timeout_seconds);
        let builder = Server::build()
            .workers(workers)
            .backlog(self.settings.http.backlog)
            // Counted in `http/connection_limit.rs` instead.
            .max_concurrent_connections(usize::MAX >> 1)
            .shutdown_timeout(http_seconds(self.settings.shutdown.seconds))
            .shutdown_signal(stop(
                signals,
                self.app_state.clone(),
                self.nodes.clone(),
                self.hubs.clone(),
                self.settings.shutdown.clone(),
            ));
        let drained = builder.graceful_shutdown_signal();
        let worker = self.worker();
        let server = builder.listen("carillon", listener, move || {
            let drained = drained.clone();
            let counters = counters.clone();
            let app = App::new()
                .app_data(worker.app_state.clone())
                .data_factory(worker.emit_batcher())
                .wrap(from_fn(http::limit_connections))
                .configure(|config| http::routes(config, &worker.app_state.settings().http));
            let connections = counters.clone();
            let http = HttpService::build()
                // An answer in front of an unread body survives only if the rest is read for a while.
                .client_disconnect_timeout(LINGER)
                .on_connect_ext(move |stream: &PacedStream, data| {
                    let flow = stream.flow().clone();
                    data.insert(HttpConnection::count(connections.clone(), reserved_for_http, flow));
                })
                .graceful_shutdown_signal(move || {
                    let drained = drained.clone();
                    async move { drained.notified().await }
                })
                .upgrade(worker.upgrades())
                .finish(map_config(app, |_| AppConfig::default()));
            connection::accept(write_timeout, counters).and_then(http)
        })?;
        Ok(server.run())
    }

    fn worker(&self) -> Worker {
        Worker {
            app_state: self.app_state.clone(),
            registry: self.registry.clone(),
            emitter: self.emitter.clone(),
            hubs: self.hubs.clone(),
            session_settings: self.session_settings.clone(),
            next: Arc::default(),
        }
    }
}

/// What each worker thread starts with.
#[derive(Clone)]
struct Worker {
    app_state: web::Data<AppState>,
    registry: Addr<SessionRegistry>,
    emitter: Addr<Emitter>,
    hubs: Hubs,
    session_settings: SessionSettings,
    next: Arc<AtomicU16>,
}

type UpgradeService = actix_service::boxed::BoxService<UpgradeRequest, (), actix_http::Error>;

impl Worker {
    /// Makes the service that takes upgrades, and the hub that they go to, on the thread of the worker.
    fn upgrades(
        &self,
    ) -> impl actix_service::ServiceFactory<
        UpgradeRequest,
        Config = (),
        Response = (),
        Error = actix_http::Error,
        InitError = (),
        Service = UpgradeService,
    > + use<> {
        let worker = self.clone();
        actix_service::fn_factory(move || {
            let hub = worker.start_hub();
            let app_state = worker.app_state.clone();
            let service = actix_service::fn_service(move |request: UpgradeRequest| {
                let (app_state, hub) = (app_state.clone(), hub.clone());
                async move {
                    if let Err(error) = connect::on_upgrade(&app_state, &hub, request).await {
                        log::debug!(cause:% = error; "a client was gone before its answer");
                    }
                    Ok::<_, actix_http::Error>(())
                }
            });
            async move { Ok(actix_service::boxed::service(service)) }
        })
    }

    /// Starts the batcher of the worker's emits, on its thread.
    fn emit_batcher(&self) -> impl Fn() -> Ready<Result<Addr<EmitBatcher>, Infallible>> + use<> {
        let emitter = self.emitter.clone();
        move || ready(Ok(EmitBatcher::new(emitter.clone()).start()))
    }

    fn start_hub(&self) -> Addr<SessionHub> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let ctx = SessionContext::new(self.session_settings.clone(), self.app_state.counters.clone());
        let authorizer = Rc::new(NodeAuthorizer(self.app_state.clone()));
        let hub = SessionHub::new(number, ctx, self.registry.clone().recipient(), authorizer).start();
        announce(&self.registry.clone().recipient(), number, &hub);
        self.hubs.lock().unwrap_or_else(PoisonError::into_inner).push(hub.clone());
        hub
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
