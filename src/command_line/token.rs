//! `carillon token …`: signs tokens with a project's keys and prints them on standard output, and inspects tokens.
//!
//! The commands read the catalogue that nodes use, also while a node runs. They never log a token.

use std::path::Path;
use std::time::Duration;

use clap::Subcommand;
use serde_json::json;

use super::catalogue::{read_project, with_catalogue};
use super::inspect::InspectCommand;
use super::lifetime::parse_lifetime;
use super::output::{Answer, Format};
use super::{Failure, inspect};
use crate::auth::{IssueError, Scope, issue_api, issue_both, issue_user};
use crate::catalogue::{Project, ProjectName};
use crate::settings::{Loaded, Settings};

pub(super) const EXAMPLES: &str = "\
Examples:
  eval \"$(carillon token env)\"
  carillon token api --project shop --name backend --scope emit
  carillon token user --project shop --sub u42 --ttl 15m --claim role=editor
  carillon token inspect < token.txt";

#[derive(Debug, Subcommand)]
pub(super) enum TokenCommand {
    /// Prints an API token for an application.
    Api {
        /// The project whose key signs it.
        #[arg(long)]
        project: ProjectName,
        /// The application's name.
        #[arg(long)]
        name: String,
        /// What the application may do: connect, emit, admin, separated by commas.
        #[arg(long, value_name = "SCOPES", required = true, value_delimiter = ',')]
        scope: Vec<Scope>,
        /// How long the token is valid, such as 90s, 15m, 1h or 7d. Without it, the token never expires.
        #[arg(long, value_parser = parse_lifetime)]
        ttl: Option<Duration>,
    },
    /// Prints a user token for a user.
    User {
        /// The project whose key signs it.
        #[arg(long)]
        project: ProjectName,
        /// The user's id.
        #[arg(long)]
        sub: String,
        /// How long the token is valid, such as 90s, 15m, 1h or 7d.
        #[arg(long, default_value = "1h", value_parser = parse_lifetime)]
        ttl: Duration,
        /// An additional claim. May be repeated. A value that is JSON stays JSON, any other value becomes a string.
        #[arg(long, value_name = "NAME=VALUE", value_parser = parse_claim)]
        claim: Vec<(String, String)>,
    },
    /// Prints an API token and a user token as shell commands: `eval "$(carillon token env)"` sets API_TOKEN and
    /// USER_TOKEN.
    Env {
        /// The project whose keys sign them.
        #[arg(long, default_value_t = ProjectName::demo())]
        project: ProjectName,
        /// The application's name. Its token has the scopes connect and emit.
        #[arg(long, default_value = "try")]
        name: String,
        /// The user's id.
        #[arg(long, default_value = "u42")]
        sub: String,
        /// How long the tokens are valid, such as 90s, 15m, 1h or 7d.
        #[arg(long, default_value = "1d", value_parser = parse_lifetime)]
        ttl: Duration,
    },
    /// Prints the header and the claims of a token, and whether the nodes of this catalogue accept it.
    Inspect(InspectCommand),
}

/// Why no token was issued.
#[derive(Debug, thiserror::Error)]
pub(super) enum TokenFailure {
    #[error(transparent)]
    Issue(#[from] IssueError),
}

impl TokenCommand {
    pub(super) fn run(&self, file: Option<&Path>, format: Format) -> Result<(), Failure> {
        let settings = Loaded::from_process(file)?.settings;
        match self {
            Self::Api { project, name, scope, ttl } => {
                let project = read(&settings, project)?;
                one(issue_api(&project, name, scope.iter().copied().collect(), *ttl)).map_err(TokenFailure::from)?
            }
            Self::User { project, sub, ttl, claim } => {
                one(issue_user(&read(&settings, project)?, sub, *ttl, claim)).map_err(TokenFailure::from)?
            }
            Self::Env { project, name, sub, ttl } => {
                exports(&read(&settings, project)?, name, sub, *ttl).map_err(TokenFailure::from)?
            }
            Self::Inspect(command) => return inspect::inspect(command, &settings, format),
        }
        .print(format)
    }
}

fn read(settings: &Settings, name: &ProjectName) -> Result<Project, Failure> {
    with_catalogue(settings, async |catalogue| read_project(settings, catalogue, name).await)
}

fn one(token: Result<String, IssueError>) -> Result<Answer, IssueError> {
    let token = token?;
    Ok(Answer::new(format!("{token}\n"), json!({"token": token})))
}

fn exports(project: &Project, name: &str, sub: &str, ttl: Duration) -> Result<Answer, IssueError> {
    let (api, user) = issue_both(project, name, sub, ttl)?;
    // A token consists of base64url and dots: nothing in it needs quotes in a shell.
    let text = format!("export API_TOKEN={api}\nexport USER_TOKEN={user}\n");
    Ok(Answer::new(text, json!({"API_TOKEN": api, "USER_TOKEN": user})))
}

/// Splits `name=value` at the first `=`.
fn parse_claim(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("give a name, = and a value, such as role=editor".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_split_at_its_first_equals_sign() {
        let claim = |name: &str, value: &str| Ok((name.to_owned(), value.to_owned()));
        assert_eq!(parse_claim("role=editor"), claim("role", "editor"));
        assert_eq!(parse_claim("sum=a=b"), claim("sum", "a=b"));
        assert_eq!(parse_claim("empty="), claim("empty", ""));
        for text in ["", "role", "=editor", "="] {
            assert!(parse_claim(text).is_err(), "{text}");
        }
    }
}
