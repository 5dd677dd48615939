//! `carillon token inspect`: decodes a token, and says whether the nodes of this catalogue accept it.

use std::io::Read as _;
use std::sync::Arc;

use clap::Args;
use serde_json::{Value, json};

use super::catalogue::{AccessFailure, open};
use super::output::{Answer, Format};
use super::{Failure, block_on};
use crate::auth::{Authenticator, MAX_TOKEN_BYTES, TokenError, decode_unverified};
use crate::catalogue::{KeyUse, ProjectName};
use crate::settings::Settings;

#[derive(Debug, Args)]
pub(super) struct InspectCommand {
    /// The token. Without it, the command reads standard input, so that the token does not appear in the process list.
    token: Option<String>,
}

/// What verification found.
struct Verdict {
    key_use: KeyUse,
    refusal: Option<TokenError>,
}

/// Prints the decoded token. A token that nodes refuse is a failure, after the output.
pub(super) fn inspect(command: &InspectCommand, settings: &Settings, format: Format) -> Result<(), Failure> {
    let text = match &command.token {
        Some(token) => token.trim().to_owned(),
        None => read_input()?,
    };
    let (header, claims) = decode_unverified(&text)
        .map_err(|cause| AccessFailure::Argument(format!("cannot decode the token: {cause}")))?;
    let verdict = block_on(verify(settings, &text, &claims))??;
    answer(&header, &claims, &verdict).print(format)?;
    if verdict.refusal.is_some() { Err(Failure::AlreadyReported) } else { Ok(()) }
}

fn read_input() -> Result<String, AccessFailure> {
    let mut text = String::new();
    // One byte more than the longest token: a longer text is refused instead of being cut.
    let limit = MAX_TOKEN_BYTES as u64 + 1;
    let read = std::io::stdin().take(limit).read_to_string(&mut text);
    read.map_err(|error| AccessFailure::Argument(format!("cannot read standard input: {error}")))?;
    Ok(text.trim().to_owned())
}

/// Verifies the token as a node would: as the API token or the user token that its claims suggest, then as the other.
async fn verify(settings: &Settings, text: &str, claims: &Value) -> Result<Verdict, AccessFailure> {
    let catalogue = Arc::from(open(settings).await?);
    let authenticator = Authenticator::new(catalogue, settings.auth.leeway_seconds, settings.catalogue.cache_seconds);
    let project = claims["project"].as_str().and_then(|name| ProjectName::parse(name).ok());
    let api = authenticator.verify_api(text).await.map(drop);
    let user = match &project {
        Some(project) => authenticator.verify_user(text, project).await.map(drop),
        None => api,
    };
    let is_api = api.is_ok() || (user.is_err() && claims.get("scope").is_some());
    let (key_use, outcome) = if is_api { (KeyUse::Api, api) } else { (KeyUse::User, user) };
    Ok(Verdict { key_use, refusal: outcome.err() })
}

fn answer(header: &Value, claims: &Value, Verdict { key_use, refusal }: &Verdict) -> Answer {
    let key_use = key_use.as_str();
    let error = refusal.map(|refusal| json!({"code": refusal.code().as_str(), "message": refusal.to_string()}));
    let verified = match refusal {
        None => "yes".to_owned(),
        Some(refusal) => format!("no: {} ({})", refusal, refusal.code().as_str()),
    };
    let (header_text, claims_text) = (printable(header), printable(claims));
    let text = format!("use       {key_use}\nheader    {header_text}\nclaims    {claims_text}\nverified  {verified}\n");
    let json = json!({
        "use": key_use, "header": header, "claims": claims, "verified": refusal.is_none(), "error": error,
    });
    Answer::new(text, json)
}

/// JSON without control characters, which could change what a terminal shows.
fn printable(json: &Value) -> String {
    let escape = |each: char| match each.is_control() {
        true => format!("\\u{:04x}", u32::from(each)),
        false => each.to_string(),
    };
    json.to_string().chars().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_of_a_claim_do_not_reach_the_terminal() {
        let text = printable(&json!({"sub": "a\u{1b}[2J\u{9b}2J\n"}));
        assert_eq!(text, r#"{"sub":"a\u001b[2J\u009b2J\n"}"#);
    }
}
