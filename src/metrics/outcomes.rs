//! The outcomes of emits and upgrades, as labels of their counters.

use actix_web::http::StatusCode;
use actors::hub::HandshakeOutcome;

/// The outcome of an emit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmitOutcome {
    Accepted,
    Duplicate,
    Invalid,
    Unauthorized,
    Forbidden,
    TooLarge,
    RateLimited,
    Unavailable,
    Unknown,
}

impl EmitOutcome {
    /// Every outcome with its label, in the order of their numbers.
    pub(super) const ALL: [(EmitOutcome, &'static str); 9] = [
        (EmitOutcome::Accepted, "accepted"),
        (EmitOutcome::Duplicate, "duplicate"),
        (EmitOutcome::Invalid, "invalid"),
        (EmitOutcome::Unauthorized, "unauthorized"),
        (EmitOutcome::Forbidden, "forbidden"),
        (EmitOutcome::TooLarge, "too_large"),
        (EmitOutcome::RateLimited, "rate_limited"),
        (EmitOutcome::Unavailable, "unavailable"),
        (EmitOutcome::Unknown, "unknown"),
    ];

    /// The outcome of an emit that was answered with this status.
    pub fn of_status(status: StatusCode) -> EmitOutcome {
        match status {
            StatusCode::UNAUTHORIZED => EmitOutcome::Unauthorized,
            StatusCode::FORBIDDEN => EmitOutcome::Forbidden,
            StatusCode::PAYLOAD_TOO_LARGE => EmitOutcome::TooLarge,
            StatusCode::TOO_MANY_REQUESTS => EmitOutcome::RateLimited,
            StatusCode::SERVICE_UNAVAILABLE => EmitOutcome::Unavailable,
            StatusCode::GATEWAY_TIMEOUT => EmitOutcome::Unknown,
            _ => EmitOutcome::Invalid,
        }
    }
}

/// The outcome of a WebSocket upgrade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpgradeOutcome {
    Accepted,
    TokenRefused,
    Malformed,
    OriginRefused,
    TooMany,
    Unavailable,
}

impl UpgradeOutcome {
    /// Every outcome with its label, in the order of their numbers.
    pub(super) const ALL: [(UpgradeOutcome, &'static str); 6] = [
        (UpgradeOutcome::Accepted, "accepted"),
        (UpgradeOutcome::TokenRefused, "token_refused"),
        (UpgradeOutcome::Malformed, "malformed"),
        (UpgradeOutcome::OriginRefused, "origin_refused"),
        (UpgradeOutcome::TooMany, "too_many"),
        (UpgradeOutcome::Unavailable, "unavailable"),
    ];

    /// The outcome of a valid handshake: its tokens decide.
    pub fn of_handshake(outcome: &HandshakeOutcome) -> UpgradeOutcome {
        match outcome {
            HandshakeOutcome::Accepted(_) => UpgradeOutcome::Accepted,
            HandshakeOutcome::Refused(_) => UpgradeOutcome::TokenRefused,
        }
    }

    /// The outcome of a handshake that was refused with this status.
    pub fn of_status(status: StatusCode) -> UpgradeOutcome {
        match status {
            StatusCode::FORBIDDEN => UpgradeOutcome::OriginRefused,
            StatusCode::TOO_MANY_REQUESTS => UpgradeOutcome::TooMany,
            StatusCode::SERVICE_UNAVAILABLE => UpgradeOutcome::Unavailable,
            _ => UpgradeOutcome::Malformed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_outcome_is_listed_at_its_own_number() {
        assert!(EmitOutcome::ALL.iter().enumerate().all(|(index, (outcome, _))| *outcome as usize == index));
        assert!(UpgradeOutcome::ALL.iter().enumerate().all(|(index, (outcome, _))| *outcome as usize == index));
    }
}
