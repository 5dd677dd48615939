//! The tables of codes: error codes, close codes and gap reasons.
//!
//! docs/protocol.md has the meaning of every code. A peer never receives another one.

/// The code of an error, `errors[].code`.
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

    /// The code on the wire.
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

/// The status code of a close frame (RFC 6455 §7.4). Codes from 4000 to 4999 are defined by Carillon.
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

    /// The reason in the close frame, short enough for a control frame (RFC 6455 §5.5).
    pub const fn reason(self) -> &'static str {
        match self {
            CloseCode::Normal => "",
            CloseCode::GoingAway => "the node is stopping: reconnect in 1 to 5 seconds",
            CloseCode::ProtocolError => "invalid frame",
            CloseCode::Unsupported => "binary frames are not accepted",
            CloseCode::InvalidPayload => "the text is not UTF-8",
            CloseCode::TooBig => "the message is too long",
            CloseCode::TokenRefused => "a token is invalid or expired",
            CloseCode::Disconnected => "ended by an administrator or by the application",
            CloseCode::SilentTooLong => "nothing was received for too long",
            CloseCode::TooManyMessages => "too many messages",
            CloseCode::TooSlow => "the client reads too slowly",
        }
    }
}

/// Why notifications may have been missed (`GAP`, `response.reason`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GapReason {
    /// The node's connection to the bus was lost for a while.
    BusReconnected,
    /// More was published than the node could deliver within its limits.
    Overflow,
    /// Evaluating the condition would have exceeded its cost limit.
    ConditionTooCostly,
}

impl GapReason {
    /// Every reason, in the order of docs/protocol.md.
    pub const ALL: [GapReason; 3] = [GapReason::BusReconnected, GapReason::Overflow, GapReason::ConditionTooCostly];

    /// The reason on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            GapReason::BusReconnected => "BUS_RECONNECTED",
            GapReason::Overflow => "OVERFLOW",
            GapReason::ConditionTooCostly => "CONDITION_TOO_COSTLY",
        }
    }
}
