//! The doors of a node: all routes on one page.
//!
//! | method and path | handler |
//! | --- | --- |
//! | `GET /`, `GET /ws` with a WebSocket upgrade | [`connect`] (before actix-web: see `node.rs`) |
//! | `POST /api/system-api/{project}/emit-event-ws` | [`emit`] |
//! | `GET /`, `GET /ws` | the product's name; 426 |
//! | `GET /healthz`, `/readyz`, `/metrics` | [`health`] |
//! | `GET /try` and its files | [`console`] |
//!
//! What comes in is checked here and translated for the actors; what they answer is translated back. No driver is named
//! in this folder.

mod admission;
pub mod connect;
mod console;
mod emit;
mod error;
mod handshake;
mod health;
mod refresh;

pub use admission::{Admission, AdmissionLimits};
pub use error::HttpError;
pub use refresh::Judge;

use crate::auth::Authenticator;
use crate::metrics::Metrics;
use crate::settings::Settings;
use actix::Addr;
use actix_web::web::{self, ServiceConfig};
use actix_web::{Resource, Route};
use actors::counters::Counters;
use actors::emitter::Emitter;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What all doors of a node share.
pub struct Doors {
    pub settings: Settings,
    /// The node's name, as clients are told.
    pub node: Arc<str>,
    pub authenticator: Arc<Authenticator>,
    pub admission: Admission,
    pub emitter: Addr<Emitter>,
    pub counters: Arc<Counters>,
    pub metrics: Metrics,
    is_draining: AtomicBool,
}

impl Doors {
    /// Opens the doors.
    pub fn new(
        settings: Settings,
        node: Arc<str>,
        authenticator: Arc<Authenticator>,
        admission: Admission,
        emitter: Addr<Emitter>,
        counters: Arc<Counters>,
    ) -> Doors {
        let metrics = Metrics::new(counters.clone(), authenticator.failed_look_ups());
        let is_draining = AtomicBool::new(false);
        Doors { settings, node, authenticator, admission, emitter, counters, metrics, is_draining }
    }

    /// From now on the node is not ready and takes no new session.
    pub fn drain(&self) {
        self.is_draining.store(true, Ordering::Release);
    }

    /// Whether the node stops.
    pub fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::Acquire)
    }
}

/// All routes.
pub fn routes(config: &mut ServiceConfig) {
    config
        .service(route("/api/system-api/{project}/emit-event-ws", web::post().to(emit::emit)))
        .service(route("/healthz", web::get().to(health::live)))
        .service(route("/readyz", web::get().to(health::ready)))
        .service(route("/metrics", web::get().to(health::metrics)))
        .service(route("/", web::get().to(health::product)))
        .service(route("/ws", web::get().to(health::upgrade_required)))
        .service(route("/try", web::get().to(console::page)))
        .service(route("/try.css", web::get().to(console::style)))
        .service(route("/try.js", web::get().to(console::script)))
        .default_service(web::to(health::no_route));
}

/// One method at a path; any other is answered 405 in the shape of all errors.
fn route(path: &str, route: Route) -> Resource {
    web::resource(path).route(route).default_service(web::to(health::method_not_allowed))
}
