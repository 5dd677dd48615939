//! The server of a node: HTTP and WebSockets on one port, with one hub and one emit batcher per worker thread.

use super::Node;
use super::stop::{Hubs, StopSignals, http_seconds, stop};
use crate::http::connect::{self, UpgradeRequest};
use crate::http::connection::{self, PacedStream};
use crate::http::{self, AppState, HttpConnection, NodeAuthorizer};
use crate::limits::SessionBudget;
use actix::{Actor, Addr};
use actix_http::HttpService;
use actix_server::Server;
use actix_service::{ServiceFactoryExt as _, map_config};
use actix_web::dev::AppConfig;
use actix_web::middleware::from_fn;
use actix_web::{App, web};
use actors::emitter::{EmitBatcher, Emitter};
use actors::hub::{SessionHub, announce};
use actors::registry::SessionRegistry;
use actors::session::{SessionContext, SessionSettings};
use std::convert::Infallible;
use std::future::{Ready, ready};
use std::io;
use std::net::TcpListener;
use std::rc::Rc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// How long a client may go on sending a body after the node has answered.
const LINGER: Duration = Duration::from_secs(1);

impl Node {
    /// The server of HTTP and WebSockets. It ends when the node has stopped.
    pub(super) fn server(
        &self,
        listener: TcpListener,
        signals: StopSignals,
        budget: &SessionBudget,
    ) -> io::Result<Server> {
        let workers = self.settings.http.worker_count();
        let (counters, reserved_for_http) = (self.app_state.counters.clone(), budget.reserved_for_http);
        let write_timeout = Duration::from_secs(self.settings.http.write_timeout_seconds);
        let builder = Server::build()
            .workers(workers)
            .backlog(self.settings.http.backlog)
            // `http/connection_limit.rs` limits connections instead.
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
                // An answer sent before the body is read reaches the client only if the node reads on for a while.
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

/// What a worker thread needs to start.
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
    /// Creates the service for upgrades, and the hub that gets their sockets, on the worker's thread.
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
                        log::debug!(cause:% = error; "a client disconnected before its answer");
                    }
                    Ok::<_, actix_http::Error>(())
                }
            });
            async move { Ok(actix_service::boxed::service(service)) }
        })
    }

    /// Starts the batcher of the worker's emits on the worker's thread.
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
