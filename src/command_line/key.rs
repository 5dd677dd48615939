//! `carillon key …`: lists, adds and revokes the keys of a project, beside the nodes that serve from the catalogue.
//!
//! A secret is never printed: `carillon token` signs with it, and a backend that signs itself makes its own.

use std::path::{Path, PathBuf};

use clap::Subcommand;

use super::Failure;
use super::catalogue::{AccessFailure, answer_from_catalogue, read_project, tell_nodes, tell_nodes_of_new};
use crate::auth::check_key;
use crate::catalogue::{Algorithm, Catalogue, Key, KeyMaterial, KeyUse, ProjectName, revoke_key};
use crate::settings::Settings;

#[derive(Debug, Subcommand)]
pub(super) enum KeyCommand {
    /// Prints a project's keys, one a line: id, use, algorithm, state. No secrets.
    List {
        /// The project.
        #[arg(long)]
        project: ProjectName,
    },
    /// Adds a key and prints its id: a random HS256 key, or the public half of a key pair of yours.
    Add {
        /// The project.
        #[arg(long)]
        project: ProjectName,
        /// What it signs: api or user tokens.
        #[arg(long, value_name = "USE", value_parser = parse_use)]
        r#use: KeyUse,
        /// A file with a public key (PEM, "BEGIN PUBLIC KEY"); without it, a random secret is made.
        #[arg(long, value_name = "FILE", requires = "algorithm")]
        public: Option<PathBuf>,
        /// The algorithm of the public key, such as EdDSA or RS256.
        #[arg(long, value_name = "ALGORITHM", value_parser = parse_algorithm, requires = "public")]
        algorithm: Option<Algorithm>,
        /// The key's id (`kid`); without it, a random one.
        #[arg(long, value_name = "ID", allow_hyphen_values = true)]
        id: Option<String>,
    },
    /// Switches a key off: its tokens are refused and its sessions closed, on all nodes.
    Revoke {
        /// The project.
        #[arg(long)]
        project: ProjectName,
        /// The key's id.
        #[arg(allow_hyphen_values = true)]
        id: String,
    },
}

impl KeyCommand {
    pub(super) fn run(&self, file: Option<&Path>) -> Result<(), Failure> {
        answer_from_catalogue(file, async |settings, catalogue| self.work(settings, catalogue).await)
    }

    async fn work(&self, settings: &Settings, catalogue: &dyn Catalogue) -> Result<String, AccessFailure> {
        match self {
            Self::List { project } => {
                let project = read_project(settings, catalogue, project).await?;
                Ok(project.keys.iter().map(line).collect())
            }
            Self::Add { project, r#use, public, algorithm, id } => {
                let found = read_project(settings, catalogue, project).await?;
                let mut key = Key::random(*r#use)?;
                if let (Some(file), Some(algorithm)) = (public, algorithm) {
                    key.material = KeyMaterial::PublicPem(read_file(file)?);
                    key.algorithm = *algorithm;
                }
                if let Some(id) = id {
                    key.id.clone_from(id);
                }
                if found.keys.iter().any(|known| known.id == key.id) {
                    let message = format!("the project {project} has a key {} already: give it another --id", key.id);
                    return Err(AccessFailure::Argument(message));
                }
                check_key(&key).map_err(|cause| AccessFailure::Argument(format!("the key can't be used: {cause}")))?;
                catalogue.put_key(project, &key).await?;
                tell_nodes_of_new(settings, project).await;
                Ok(format!("{}\n", key.id))
            }
            Self::Revoke { project, id } => {
                read_project(settings, catalogue, project).await?;
                if !revoke_key(catalogue, project, id).await? {
                    return Err(AccessFailure::NoKey { project: project.clone(), key: id.clone() });
                }
                let told = tell_nodes(settings, project).await?;
                Ok(format!("revoked the key {id} of project {project}: {told}\n"))
            }
        }
    }
}

fn line(key: &Key) -> String {
    let state = if key.active { "active" } else { "revoked" };
    format!("{} {} {} {state}\n", key.id, key.key_use.as_str(), key.algorithm.as_str())
}

fn read_file(file: &Path) -> Result<String, AccessFailure> {
    std::fs::read_to_string(file)
        .map_err(|error| AccessFailure::Argument(format!("{} can't be read: {error}", file.display())))
}

fn parse_use(text: &str) -> Result<KeyUse, String> {
    text.parse().map_err(|_| "a key is for api or user tokens".to_owned())
}

fn parse_algorithm(text: &str) -> Result<Algorithm, String> {
    let names = Algorithm::ALL.map(Algorithm::as_str).join(", ");
    text.parse().map_err(|_| format!("an algorithm is one of {names}"))
}
