//! The HTTP server of a node: all routes on one page.
//!
//! | method and path | handler |
//! | --- | --- |
//! | `GET /`, `GET /ws` with a WebSocket upgrade | [`connect`] (before actix-web: see `node/`) |
//! | `POST /v1/projects/{project}/events`, `/api/system-api/{project}/emit-event-ws` | [`emit`] |
//! | `GET /` without an upgrade | [`product`] |
//! | `GET /ws` without an upgrade, any other path or method | [`unrouted`] |
//! | `POST /v1/projects/{project}/disconnect-user`, `revoke-key`, `GET …/keys` | [`admin`] |
//! | `POST /api/system-api/{project}/disconnect-user-ws`, `revoke-key-ws`, `GET …/list-keys-ws` | [`admin`] |
//! | `GET /healthz`, `/readyz`, `/metrics` | [`health`] |
//! | `GET /try` and its files, unless `http.try_page` is false | [`console`] |
//!
//! This module checks requests and translates them into messages for the actors, and translates their answers back. It
//! uses no driver of a database or bus.

mod admin;
mod admission;
mod authorizer;
mod bearer;
mod call;
pub mod connect;
pub mod connection;
mod connection_limit;
mod console;
mod cors;
mod disconnect_replies;
mod emit;
mod emit_body;
mod error;
mod handshake;
mod health;
mod product;
mod unrouted;

pub use admission::{Admission, AdmissionLimits};
pub use authorizer::NodeAuthorizer;
pub use connection_limit::{HttpConnection, limit_connections};
pub use disconnect_replies::DisconnectReplies;
pub use emit_body::read_emits;
pub use error::HttpError;

use crate::auth::Authenticator;
use crate::catalogue::Catalogue;
use crate::limits::{SystemFiles, SystemGauges};
use crate::metrics::Metrics;
use crate::settings::{HttpSettings, Settings};
use actix::Addr;
use actix_web::http::Method;
use actix_web::middleware::from_fn;
use actix_web::web::{self, ServiceConfig};
use actix_web::{Resource, Route, guard};
use actors::announcer::Announcer;
use actors::bus::BusHealth;
use actors::counters::Counters;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// The state that all routes share.
pub struct AppState {
    settings: RwLock<Arc<Settings>>,
    /// The node's name, which clients receive in CONNECTED.
    pub node: Arc<str>,
    pub catalogue: Arc<dyn Catalogue>,
    pub authenticator: Arc<Authenticator>,
    pub admission: Arc<Admission>,
    pub disconnect_replies: DisconnectReplies,
    pub announcer: Addr<Announcer>,
    pub bus_health: Arc<BusHealth>,
    pub counters: Arc<Counters>,
    pub metrics: Metrics,
    is_stopping: AtomicBool,
    is_draining: AtomicBool,
}

/// The handles of the bus that the routes use.
pub struct BusHandles {
    pub disconnect_replies: DisconnectReplies,
    pub announcer: Addr<Announcer>,
    pub health: Arc<BusHealth>,
}

impl AppState {
    /// The state of a node that has just started.
    pub fn new(
        settings: Settings,
        node: Arc<str>,
        catalogue: Arc<dyn Catalogue>,
        authenticator: Arc<Authenticator>,
        admission: Arc<Admission>,
        bus: BusHandles,
        counters: Arc<Counters>,
    ) -> AppState {
        let BusHandles { disconnect_replies, announcer, health: bus_health } = bus;
        let system = SystemGauges::new(SystemFiles::of_this_machine(), admission.max_sessions());
        let metrics = Metrics::new(counters.clone(), bus_health.clone(), authenticator.failed_lookups(), system);
        let (is_stopping, is_draining) = (AtomicBool::new(false), AtomicBool::new(false));
        AppState {
            settings: RwLock::new(Arc::new(settings)),
            node,
            catalogue,
            authenticator,
            admission,
            disconnect_replies,
            announcer,
            bus_health,
            counters,
            metrics,
            is_stopping,
            is_draining,
        }
    }

    /// The settings in force.
    pub fn settings(&self) -> Arc<Settings> {
        self.settings.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Applies other settings. What the node read only at its start does not change.
    pub fn replace_settings(&self, settings: Settings) {
        *self.settings.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(settings);
    }

    /// Makes `/readyz` answer 503. Everything else goes on.
    pub fn give_notice(&self) {
        self.is_stopping.store(true, Ordering::Release);
    }

    /// Whether the node is stopping, or has been told to.
    pub fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Acquire)
    }

    /// Makes `/readyz` answer 503, and refuses new sessions.
    pub fn drain(&self) {
        self.give_notice();
        self.is_draining.store(true, Ordering::Release);
    }

    /// Whether the node is stopping and closes its sessions.
    pub fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::Acquire)
    }
}

/// The two paths of each call of a project: the short one, and the one that clients of API Maker use.
const EMIT: [&str; 2] = ["/v1/projects/{project}/events", "/api/system-api/{project}/emit-event-ws"];
const DISCONNECT_USER: [&str; 2] =
    ["/v1/projects/{project}/disconnect-user", "/api/system-api/{project}/disconnect-user-ws"];
const KEYS: [&str; 2] = ["/v1/projects/{project}/keys", "/api/system-api/{project}/list-keys-ws"];
const REVOKE_KEY: [&str; 2] = ["/v1/projects/{project}/revoke-key", "/api/system-api/{project}/revoke-key-ws"];

/// Configures all routes. Pages of the origins in `http.cors_origins` may make the calls of a project.
pub fn routes(config: &mut ServiceConfig, http: &HttpSettings) {
    let call = |paths: [&str; 2], method, to| {
        route(&paths, method, to).wrap(cors::layer(&http.cors_origins)).wrap(from_fn(cors::refuse_in_our_shape))
    };
    config
        .service(call(EMIT, Method::POST, web::to(emit::emit)))
        .service(call(DISCONNECT_USER, Method::POST, web::to(admin::disconnect_user)))
        .service(call(KEYS, Method::GET, web::to(admin::list_keys)))
        .service(call(REVOKE_KEY, Method::POST, web::to(admin::revoke_key)))
        .service(route(&["/healthz"], Method::GET, web::to(health::live)))
        .service(route(&["/readyz"], Method::GET, web::to(health::ready)))
        .service(route(&["/metrics"], Method::GET, web::to(health::metrics)))
        .service(route(&["/"], Method::GET, web::to(product::product)))
        .service(route(&["/ws"], Method::GET, web::to(unrouted::upgrade_required)))
        .default_service(web::to(unrouted::no_route));
    if http.try_page {
        config
            .service(route(&["/try"], Method::GET, web::to(console::page)))
            .service(route(&["/try.css"], Method::GET, web::to(console::style)))
            .service(route(&["/try.js"], Method::GET, web::to(console::script)))
            .service(route(&["/try/{file}"], Method::GET, web::to(console::module)));
    }
}

/// Allows one method at the paths, and HEAD beside GET (RFC 9110 §9.3.2). Any other method is answered 405.
fn route(paths: &[&str], method: Method, route: Route) -> Resource {
    let (route, allowed) = if method == Method::GET {
        (route.guard(guard::Any(guard::Get()).or(guard::Head())), "GET, HEAD")
    } else {
        (route.guard(guard::Post()), "POST")
    };
    web::resource(paths.to_vec()).route(route).default_service(web::to(move || unrouted::method_not_allowed(allowed)))
}
