//! What a node that is not ready waits for, as text for an operator. The route `/readyz` is the same for machines.

use crate::http::AppState;
use crate::settings::BusKind;
use actors::bus::redis::RedisAddress;

/// What the node waits for. `None` if it is ready. It never holds a password.
pub(super) fn waits_for(app_state: &AppState) -> Option<String> {
    if !app_state.authenticator.is_ready() {
        return Some("the catalogue".to_owned());
    }
    if app_state.bus_health.is_ready() {
        return None;
    }
    let settings = app_state.settings();
    let bus = &settings.bus;
    let address = RedisAddress::parse(bus.redis.url.expose()).ok();
    match (bus.kind, address) {
        (BusKind::Redis, Some(address)) => Some(format!("Redis at {address}")),
        _ => Some("the bus".to_owned()),
    }
}
