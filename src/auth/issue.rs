//! Signs tokens for the command line and the first start. Every token signed here also verifies here.

use std::time::Duration;

use jsonwebtoken::{Algorithm as JwtAlgorithm, EncodingKey, Header};
use serde::ser::{Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};
use thiserror::Error;

use super::numeric_date::NumericDate;
use super::{Clock as _, MAX_SUBJECT_BYTES, MAX_TOKEN_BYTES, Scope, Scopes, SystemClock};
use crate::catalogue::{Algorithm, Key, KeyMaterial, KeyUse, Project, ProjectName};

/// Claims that the caller's own claims must not set.
const RESERVED_CLAIMS: [&str; 4] = ["project", "sub", "exp", "nbf"];

/// Why a token cannot be signed.
#[derive(Debug, Error)]
pub enum IssueError {
    #[error("the project {project} has no active secret key for {} tokens", key_use.as_str())]
    NoKey { project: ProjectName, key_use: KeyUse },
    #[error("a name or user id must have 1 to 256 bytes")]
    Subject,
    #[error("the token would expire after the year 9999: give a shorter time to live")]
    TimeToLive,
    /// The claim is reserved, set by the project (`aud`, `iss`) or given twice.
    #[error("the claim {0} is already set or reserved: leave it out")]
    ClaimTaken(String),
    #[error("the token would be longer than 8 KiB: give it fewer claims")]
    TooLong,
    #[error("the token cannot be signed: {0}")]
    Signing(#[from] jsonwebtoken::errors::Error),
    #[error("a claim cannot be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

/// Signs an API token for the application `name`. Without `ttl` it never expires.
///
/// # Errors
/// [`IssueError`] if the project has no key for it or the token would not verify here.
pub fn issue_api(project: &Project, name: &str, scopes: Scopes, ttl: Option<Duration>) -> Result<String, IssueError> {
    let mut claims = ClaimList::new(project, name)?;
    let scopes: Vec<_> = scopes.iter().map(Scope::as_str).collect();
    claims.add("scope", to_raw_value(&scopes)?)?;
    if let Some(ttl) = ttl {
        claims.add("exp", to_raw_value(&expiry(ttl)?)?)?;
    }
    sign(project, KeyUse::Api, &claims)
}

/// Signs a user token for the user `sub`, valid for `ttl`, with the caller's own `claims`. A value that is JSON is
/// added unchanged, any other value as a string.
///
/// # Errors
/// [`IssueError`] if the project has no key for it, a claim is taken, or the token would not verify here.
pub fn issue_user(
    project: &Project,
    sub: &str,
    ttl: Duration,
    claims: &[(String, String)],
) -> Result<String, IssueError> {
    let mut list = ClaimList::new(project, sub)?;
    list.add("exp", to_raw_value(&expiry(ttl)?)?)?;
    for (name, value) in claims {
        if RESERVED_CLAIMS.contains(&name.as_str()) {
            return Err(IssueError::ClaimTaken(name.clone()));
        }
        list.add(name, json_or_string(value)?)?;
    }
    sign(project, KeyUse::User, &list)
}

/// Signs both tokens of a client: for the application `name` with the scopes connect and emit, and for the user `sub`.
///
/// # Errors
/// As [`issue_api`] and [`issue_user`].
pub fn issue_both(project: &Project, name: &str, sub: &str, ttl: Duration) -> Result<(String, String), IssueError> {
    let scopes = [Scope::Connect, Scope::Emit].into_iter().collect();
    Ok((issue_api(project, name, scopes, Some(ttl))?, issue_user(project, sub, ttl, &[])?))
}

/// Claims in the order in which they were added. Numbers keep their digits.
struct ClaimList(Vec<(String, Box<RawValue>)>);

impl ClaimList {
    /// The claims that every token of the project has.
    fn new(project: &Project, subject: &str) -> Result<Self, IssueError> {
        if !(1..=MAX_SUBJECT_BYTES).contains(&subject.len()) {
            return Err(IssueError::Subject);
        }
        let mut claims = ClaimList(Vec::new());
        claims.add("project", to_raw_value(project.name.as_str())?)?;
        claims.add("sub", to_raw_value(subject)?)?;
        if let Some(audience) = &project.audience {
            claims.add("aud", to_raw_value(audience)?)?;
        }
        if let Some(issuer) = &project.issuer {
            claims.add("iss", to_raw_value(issuer)?)?;
        }
        Ok(claims)
    }

    fn add(&mut self, name: &str, value: Box<RawValue>) -> Result<(), IssueError> {
        if self.0.iter().any(|(taken, _)| taken == name) {
            return Err(IssueError::ClaimTaken(name.to_owned()));
        }
        self.0.push((name.to_owned(), value));
        Ok(())
    }
}

impl Serialize for ClaimList {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

fn json_or_string(text: &str) -> serde_json::Result<Box<RawValue>> {
    serde_json::from_str(text).or_else(|_| to_raw_value(text))
}

fn expiry(ttl: Duration) -> Result<u64, IssueError> {
    SystemClock
        .now()
        .checked_add(ttl)
        .map(|end| end.as_secs())
        .filter(|end| *end <= NumericDate::MAX_SECONDS)
        .ok_or(IssueError::TimeToLive)
}

fn sign(project: &Project, key_use: KeyUse, claims: &ClaimList) -> Result<String, IssueError> {
    let (key, algorithm, secret) = project
        .keys
        .iter()
        .filter(|key| key.active && key.key_use == key_use)
        .find_map(signing_parts)
        .ok_or_else(|| IssueError::NoKey { project: project.name.clone(), key_use })?;
    let mut header = Header::new(algorithm);
    header.kid = Some(key.id.clone());
    let token = jsonwebtoken::encode(&header, claims, &EncodingKey::from_secret(secret)?)?;
    if token.len() > MAX_TOKEN_BYTES {
        return Err(IssueError::TooLong);
    }
    Ok(token)
}

fn signing_parts(key: &Key) -> Option<(&Key, JwtAlgorithm, &[u8])> {
    let algorithm = match key.algorithm {
        Algorithm::HS256 => JwtAlgorithm::HS256,
        Algorithm::HS384 => JwtAlgorithm::HS384,
        Algorithm::HS512 => JwtAlgorithm::HS512,
        _ => return None,
    };
    match &key.material {
        KeyMaterial::Secret(secret) => Some((key, algorithm, secret)),
        KeyMaterial::PublicPem(_) => None,
    }
}
