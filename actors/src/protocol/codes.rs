//! The tables of codes: errors that a client or a backend reads, codes that close a WebSocket, and reasons of a gap.
//!
//! Every code stands in docs/protocol.md with its meaning; nothing else may be told to a peer.

/// What went wrong, as a peer reads it (`errors[].code`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorCode {
    UnknownMessage,
    InvalidJson,
    TokenMissing,
    TokenInvalid,
    TokenExpired,
    TokenScope,
    ProjectMismatch,
    EventNameInvalid,
    EventUnknown,
    EventTypeUnsupported,
    AccessDenied,
    ConditionInvalid,
    ConditionTooLarge,
    SelectInvalid,
    NotRegistered,
    TooManySubscriptions,
    RecoverInvalid,
    TemporarilyUnavailable,
    PayloadTooLarge,
    RateLimited,
    BusUnavailable,
    OutcomeUnknown,
    UnsupportedMediaType,
}

impl ErrorCode {
    /// Every code, in the order of docs/protocol.md.
    pub const ALL: [ErrorCode; 23] = [
        ErrorCode::UnknownMessage,
        ErrorCode::InvalidJson,
        ErrorCode::TokenMissing,
        ErrorCode::TokenInvalid,
        ErrorCode::TokenExpired,
        ErrorCode::TokenScope,
        ErrorCode::ProjectMismatch,
        ErrorCode::EventNameInvalid,
        ErrorCode::EventUnknown,
        ErrorCode::EventTypeUnsupported,
        ErrorCode::AccessDenied,
        ErrorCode::ConditionInvalid,
        ErrorCode::ConditionTooLarge,
        ErrorCode::SelectInvalid,
        ErrorCode::NotRegistered,
        ErrorCode::TooManySubscriptions,
        ErrorCode::RecoverInvalid,
        ErrorCode::TemporarilyUnavailable,
        ErrorCode::PayloadTooLarge,
        ErrorCode::RateLimited,
        ErrorCode::BusUnavailable,
        ErrorCode::OutcomeUnknown,
        ErrorCode::UnsupportedMediaType,
    ];

    /// The code as it stands on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            ErrorCode::UnknownMessage => "UNKNOWN_MESSAGE",
            ErrorCode::InvalidJson => "INVALID_JSON",
            ErrorCode::TokenMissing => "TOKEN_MISSING",
            ErrorCode::TokenInvalid => "TOKEN_INVALID",
            ErrorCode::TokenExpired => "TOKEN_EXPIRED",
            ErrorCode::TokenScope => "TOKEN_SCOPE",
            ErrorCode::ProjectMismatch => "PROJECT_MISMATCH",
            ErrorCode::EventNameInvalid => "EVENT_NAME_INVALID",
            ErrorCode::EventUnknown => "EVENT_UNKNOWN",
            ErrorCode::EventTypeUnsupported => "EVENT_TYPE_UNSUPPORTED",
            ErrorCode::AccessDenied => "ACCESS_DENIED",
            ErrorCode::ConditionInvalid => "CONDITION_INVALID",
            ErrorCode::ConditionTooLarge => "CONDITION_TOO_LARGE",
            ErrorCode::SelectInvalid => "SELECT_INVALID",
            ErrorCode::NotRegistered => "NOT_REGISTERED",
            ErrorCode::TooManySubscriptions => "TOO_MANY_SUBSCRIPTIONS",
            ErrorCode::RecoverInvalid => "RECOVER_INVALID",
            ErrorCode::TemporarilyUnavailable => "TEMPORARILY_UNAVAILABLE",
            ErrorCode::PayloadTooLarge => "PAYLOAD_TOO_LARGE",
            ErrorCode::RateLimited => "RATE_LIMITED",
            ErrorCode::BusUnavailable => "BUS_UNAVAILABLE",
            ErrorCode::OutcomeUnknown => "OUTCOME_UNKNOWN",
            ErrorCode::UnsupportedMediaType => "UNSUPPORTED_MEDIA_TYPE",
        }
    }
}

/// Why a session ended: the status code of the close frame (RFC 6455 §7.4; 4000 to 4999 are ours).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CloseCode {
    Normal,
    GoingAway,
    ProtocolError,
    Unsupported,
    InvalidPayload,
    TooBig,
    TokenRefused,
    Disconnected,
    SilentTooLong,
    TooManyMessages,
    TooSlow,
}

impl CloseCode {
    /// Every code, in ascending order of its number.
    pub const ALL: [CloseCode; 11] = [
        CloseCode::Normal,
        CloseCode::GoingAway,
        CloseCode::ProtocolError,
        CloseCode::Unsupported,
        CloseCode::InvalidPayload,
        CloseCode::TooBig,
        CloseCode::TokenRefused,
        CloseCode::Disconnected,
        CloseCode::SilentTooLong,
        CloseCode::TooManyMessages,
        CloseCode::TooSlow,
    ];

    /// The number in the close frame.
    pub const fn as_u16(self) -> u16 {
        match self {
            CloseCode::Normal => 1000,
            CloseCode::GoingAway => 1001,
            CloseCode::ProtocolError => 1002,
            CloseCode::Unsupported => 1003,
            CloseCode::InvalidPayload => 1007,
            CloseCode::TooBig => 1009,
            CloseCode::TokenRefused => 4401,
            CloseCode::Disconnected => 4403,
            CloseCode::SilentTooLong => 4408,
            CloseCode::TooManyMessages => 4429,
            CloseCode::TooSlow => 4430,
        }
    }

    /// The reason that goes with the number, short enough for a control frame (RFC 6455 §5.5).
    pub const fn reason(self) -> &'static str {
        match self {
            CloseCode::Normal => "",
            CloseCode::GoingAway => "the node stops: come back in 1 to 5 seconds",
            CloseCode::ProtocolError => "broken frame",
            CloseCode::Unsupported => "binary frames are not accepted",
            CloseCode::InvalidPayload => "text is not UTF-8",
            CloseCode::TooBig => "message too long",
            CloseCode::TokenRefused => "token bad or expired",
            CloseCode::Disconnected => "ended by an administrator or by the application",
            CloseCode::SilentTooLong => "silent too long",
            CloseCode::TooManyMessages => "too many messages",
            CloseCode::TooSlow => "too slow to read",
        }
    }
}
/// Why notifications may have been missed (`GAP`, `response.reason`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GapReason {
    /// The node's connection to the bus was lost for a while.
    BusReconnected,
    /// More arrived than the node could tell within its bounds.
    Overflow,
    /// To find out whether an emit meets the condition would have taken more than it may.
    ConditionTooCostly,
}

impl GapReason {
    /// Every reason, in the order of their numbers.
    pub const ALL: [GapReason; 3] = [GapReason::BusReconnected, GapReason::Overflow, GapReason::ConditionTooCostly];

    /// The reason as it stands on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            GapReason::BusReconnected => "BUS_RECONNECTED",
            GapReason::Overflow => "OVERFLOW",
            GapReason::ConditionTooCostly => "CONDITION_TOO_COSTLY",
        }
    }
}
