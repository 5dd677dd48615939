//! What a token says (RFC 7519 §4.1 and the protocol's own claims), each claim read with the one meaning it may have.

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::numeric_date::{NumericDate, Validity};
use super::{MAX_SUBJECT_BYTES, Scopes, TokenError};
use crate::catalogue::{Project, ProjectName};

/// The claims that this program reads, as they were written. Any others are the application's own.
#[derive(Deserialize)]
pub(super) struct Claims<'a> {
    #[serde(borrow, default, deserialize_with = "as_written")]
    project: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "as_written")]
    sub: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "as_written")]
    scope: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "as_written")]
    exp: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "as_written")]
    nbf: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "as_written")]
    aud: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "as_written")]
    iss: Option<&'a RawValue>,
}

/// Keeps a claim's text: `null` stays a value (and is refused where the claim is read), a number keeps its digits.
fn as_written<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

impl Claims<'_> {
    /// The project's name. Before the signature is checked it may be used for nothing but to find the key.
    pub fn project(&self) -> Result<ProjectName, TokenError> {
        string(self.project)
            .and_then(|name| ProjectName::parse(&name).ok())
            .ok_or(TokenError::Claims("the claim project must be a project's name"))
    }

    /// The application's name or the user's id.
    pub fn subject(&self) -> Result<Box<str>, TokenError> {
        string(self.sub)
            .filter(|subject| (1..=MAX_SUBJECT_BYTES).contains(&subject.len()))
            .map(String::into_boxed_str)
            .ok_or(TokenError::Claims("the claim sub must be a string of 1 to 256 bytes"))
    }

    /// The scopes; none where there is no such claim, so that the refusal is the one of a missing scope.
    pub fn scopes(&self) -> Result<Scopes, TokenError> {
        let Some(scope) = self.scope else {
            return Ok(Scopes::default());
        };
        serde_json::from_str(scope.get()).map_err(|_| TokenError::Claims("the claim scope must be an array of strings"))
    }

    /// From when until when the token says that it is valid.
    pub fn validity(&self) -> Result<Validity, TokenError> {
        Ok(Validity {
            not_before: date(self.nbf, "the claim nbf must be a number of seconds since 1970")?,
            expires: date(self.exp, "the claim exp must be a number of seconds since 1970")?,
        })
    }

    /// Checks `aud` and `iss` where the project sets them (RFC 7519 §4.1.3 and §4.1.1).
    pub fn check_parties(&self, project: &Project) -> Result<(), TokenError> {
        if let Some(audience) = &project.audience
            && !self.is_for(audience)
        {
            return Err(TokenError::Claims("the claim aud must contain the project's audience"));
        }
        if project.issuer.is_some() && string(self.iss) != project.issuer {
            return Err(TokenError::Claims("the claim iss must be the project's issuer"));
        }
        Ok(())
    }

    fn is_for(&self, audience: &str) -> bool {
        let Some(aud) = self.aud else {
            return false;
        };
        serde_json::from_str::<Audience>(aud.get()).is_ok_and(|audiences| match audiences {
            Audience::One(one) => one == audience,
            Audience::Several(several) => several.iter().any(|one| one == audience),
        })
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Several(Vec<String>),
}

fn string(claim: Option<&RawValue>) -> Option<String> {
    serde_json::from_str(claim?.get()).ok()
}

fn date(claim: Option<&RawValue>, complaint: &'static str) -> Result<Option<NumericDate>, TokenError> {
    claim.map(|written| NumericDate::parse(written.get()).ok_or(TokenError::Claims(complaint))).transpose()
}
