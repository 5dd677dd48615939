//! Parses a token's text: JWS compact form (RFC 7515 §3.1) and its header (§4.1). Nothing here is trusted yet.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::claims::Claims;
use super::{MAX_TOKEN_BYTES, TokenError};
use crate::catalogue::Algorithm;

/// The longest header in base64url characters. Real headers have 40 to 200.
const MAX_HEADER_BYTES: usize = 2_048;

/// The parts of a token.
pub(super) struct CompactToken<'a> {
    pub algorithm: Algorithm,
    /// The key that the token names (`kid`).
    pub key_id: Option<String>,
    /// The text that the signature covers: header, dot, claims, unchanged.
    pub signed: &'a [u8],
    /// The text of the signature, which is strict base64url.
    pub signature_text: &'a str,
    pub signature: Vec<u8>,
    claims: Vec<u8>,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    #[serde(default, deserialize_with = "some_string")]
    kid: Option<String>,
    #[serde(default, deserialize_with = "is_present")]
    crit: bool,
}

/// Unlike serde's reading of an `Option`, refuses `null`.
fn some_string<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    String::deserialize(deserializer).map(Some)
}

/// Whether the header has a parameter, whatever its value.
fn is_present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    <&RawValue>::deserialize(deserializer).map(|_| true)
}

impl<'a> CompactToken<'a> {
    /// Parses a token.
    ///
    /// # Errors
    /// [`TokenError::AlgorithmMismatch`] for an `alg` that no key can have (such as `none`), else
    /// [`TokenError::Malformed`].
    pub fn parse(text: &'a str) -> Result<Self, TokenError> {
        if text.len() > MAX_TOKEN_BYTES {
            return Err(TokenError::Malformed);
        }
        let (signed, signature_text) = text.rsplit_once('.').ok_or(TokenError::Malformed)?;
        // A third dot would be a part of the claims, where it is not base64url.
        let (header, claims) = signed.split_once('.').ok_or(TokenError::Malformed)?;
        let header = parse_header(header)?;
        Ok(CompactToken {
            algorithm: header.alg.parse().map_err(|_| TokenError::AlgorithmMismatch)?,
            key_id: header.kid,
            signed: signed.as_bytes(),
            signature_text,
            signature: decode(signature_text)?,
            claims: decode(claims)?,
        })
    }

    /// Reads the claims. They are not verified.
    pub fn claims(&self) -> Result<Claims<'_>, TokenError> {
        parse_object(&self.claims)
    }
}

/// Returns the header and the claims of a token as JSON, for people. They are not verified.
///
/// # Errors
/// The errors with which a node refuses the token before it looks for a key.
pub fn decode_unverified(text: &str) -> Result<(Value, Value), TokenError> {
    let token = CompactToken::parse(text)?;
    let (header, _) = text.split_once('.').ok_or(TokenError::Malformed)?;
    Ok((parse_object(&decode(header)?)?, parse_object(&token.claims)?))
}

fn parse_header(text: &str) -> Result<Header, TokenError> {
    if text.len() > MAX_HEADER_BYTES {
        return Err(TokenError::Malformed);
    }
    let header: Header = parse_object(&decode(text)?)?;
    // RFC 7515 §4.1.11: a recipient must refuse critical extensions that it does not know. This program knows none.
    if header.crit {
        return Err(TokenError::Malformed);
    }
    Ok(header)
}

/// Decodes strictly: no padding, no other alphabet, no unused bits that are set. Otherwise a token would have several
/// texts.
fn decode(text: &str) -> Result<Vec<u8>, TokenError> {
    URL_SAFE_NO_PAD.decode(text).map_err(|_| TokenError::Malformed)
}

/// Reads a JSON object. Serde alone would also accept an array as the fields in order. A member that is read and occurs
/// twice is refused (RFC 7519 §4). Other members are skipped without recursion, however deep they nest.
fn parse_object<'de, T: Deserialize<'de>>(json: &'de [u8]) -> Result<T, TokenError> {
    if !json.trim_ascii_start().starts_with(b"{") {
        return Err(TokenError::Malformed);
    }
    serde_json::from_slice(json).map_err(|_| TokenError::Malformed)
}
