//! The scheme `Bearer` of the header `Authorization` (RFC 6750 §2.1), as an HTTP call and a handshake read it.

/// The token in a value such as `Bearer eyJ…`. A scheme may have upper and lower case.
pub fn after_bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim_start())
}

/// The error message for `Bearer ` in front of a token in a header that takes the token alone.
pub fn prefix_problem(value: &str, header: &str) -> Option<String> {
    after_bearer(value).map(|_| format!("remove `Bearer ` from the header {header}: it takes the token alone"))
}
