//! The claims of a token (RFC 7519 §4.1 and those of the protocol). Each claim has one type and one meaning.

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::numeric_date::{NumericDate, Validity};
use super::{MAX_SUBJECT_BYTES, Scopes, TokenError};
use crate::catalogue::{Project, ProjectName};

/// The claims that this program reads, as JSON texts. All other claims belong to the application.
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

/// Stores the JSON text of a claim. `null` stays a value, which is refused when the claim is read. A number keeps its
/// digits.
fn as_written<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

impl Claims<'_> {
    /// The project's name. Before the signature is checked it may only be used to find the key.
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

    /// The scopes. Without the claim there are none, so that the error is that of a missing scope.
    pub fn scopes(&self) -> Result<Scopes, TokenError> {
        let Some(scope) = self.scope else {
            return Ok(Scopes::default());
        };
        serde_json::from_str(scope.get()).map_err(|_| TokenError::Claims("the claim scope must be an array of strings"))
    }

    /// The period in which the token is valid.
    pub fn validity(&self) -> Result<Validity, TokenError> {
        Ok(Validity {
            not_before: date(self.nbf, "the claim nbf must be a number of seconds since 1970")?,
            expires: date(self.exp, "the claim exp must be a number of seconds since 1970")?,
        })
    }

    /// Checks `aud` and `iss` if the project sets them (RFC 7519 §4.1.3 and §4.1.1).
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

fn date(claim: Option<&RawValue>, error: &'static str) -> Result<Option<NumericDate>, TokenError> {
    claim.map(|json| NumericDate::parse(json.get()).ok_or(TokenError::Claims(error))).transpose()
}
