//! `carillon token …`: signs a token with a project's key and prints it, alone, on standard output.
//!
//! It reads the catalogue that a node serves from, and works while one runs. A token is never logged.

use std::path::Path;
use std::time::Duration;

use clap::Subcommand;

use super::catalogue::{read_project, with_catalogue};
use super::lifetime::parse_lifetime;
use super::{Failure, answer};
use crate::auth::{IssueError, Scope, issue_api, issue_user};
use crate::catalogue::ProjectName;
use crate::settings::{Loaded, Settings};

#[derive(Debug, Subcommand)]
pub(super) enum TokenCommand {
    /// Prints a token for an application.
    Api {
        /// The project whose key signs it.
        #[arg(long)]
        project: ProjectName,
        /// The application's name.
        #[arg(long)]
        name: String,
        /// What the application may do: connect, emit, admin, with commas between them.
        #[arg(long, value_name = "SCOPES", required = true, value_delimiter = ',')]
        scope: Vec<Scope>,
        /// How long it lasts, such as 90s, 15m, 1h or 7d; without it, it does not expire.
        #[arg(long, value_parser = parse_lifetime)]
        ttl: Option<Duration>,
    },
    /// Prints a token for a person.
    User {
        /// The project whose key signs it.
        #[arg(long)]
        project: ProjectName,
        /// The user's id.
        #[arg(long)]
        sub: String,
        /// How long it lasts, such as 90s, 15m, 1h or 7d.
        #[arg(long, default_value = "1h", value_parser = parse_lifetime)]
        ttl: Duration,
        /// A claim of the application's own, may be given again; a value that is JSON stays JSON, another is a text.
        #[arg(long, value_name = "NAME=VALUE", value_parser = parse_claim)]
        claim: Vec<(String, String)>,
    },
}

/// Why no token was printed.
#[derive(Debug, thiserror::Error)]
pub(super) enum TokenFailure {
    #[error(transparent)]
    Issue(#[from] IssueError),
}

impl TokenCommand {
    pub(super) fn run(&self, file: Option<&Path>) -> Result<(), Failure> {
        let settings = Loaded::from_process(file)?.settings;
        answer(format_args!("{}\n", self.issue(&settings)?))
    }

    fn issue(&self, settings: &Settings) -> Result<String, Failure> {
        let read = |name| with_catalogue(settings, async |catalogue| read_project(settings, catalogue, name).await);
        let token = match self {
            Self::Api { project, name, scope, ttl } => {
                issue_api(&read(project)?, name, scope.iter().copied().collect(), *ttl)
            }
            Self::User { project, sub, ttl, claim } => issue_user(&read(project)?, sub, *ttl, claim),
        };
        Ok(token.map_err(TokenFailure::from)?)
    }
}

/// Splits `name=value` at the first `=`.
fn parse_claim(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("a name, = and a value are needed, such as role=editor".to_owned()),
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
