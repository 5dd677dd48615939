//! `carillon key …`: lists, adds, shows and revokes the keys of a project, while nodes use the same catalogue.
//!
//! Only `carillon key show` prints a secret, after the operator has confirmed it. No HTTP route does.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use serde_json::{Value, json};

use super::Failure;
use super::catalogue::{AccessFailure, answer_from_catalogue, notify_nodes, notify_nodes_of_new, read_project};
use super::confirm::confirm;
use super::output::{Answer, Format};
use crate::auth::check_key;
use crate::catalogue::{Algorithm, Catalogue, Key, KeyMaterial, KeyUse, Project, ProjectName, revoke_key};
use crate::settings::Settings;

pub(super) const EXAMPLES: &str = "\
Examples:
  carillon key list --project shop
  carillon key add --project shop --use user
  carillon key add --project shop --use user --public user.pem --algorithm EdDSA --id user-2
  carillon key show --project shop --use user --yes > signing.env
  carillon key revoke --project shop user-1";

#[derive(Debug, Subcommand)]
pub(super) enum KeyCommand {
    /// Prints the keys of a project, one per line: id, use, algorithm, state. No secrets.
    List {
        /// The project.
        #[arg(long)]
        project: ProjectName,
    },
    /// Adds a key and prints its id: a random HS256 key, or the public half of your own key pair.
    Add {
        /// The project.
        #[arg(long)]
        project: ProjectName,
        /// The kind of tokens that it signs: api or user.
        #[arg(long, value_name = "USE", value_parser = parse_use)]
        r#use: KeyUse,
        /// A file with a public key (PEM, "BEGIN PUBLIC KEY"). Without it, the key is a random secret.
        #[arg(long, value_name = "FILE", requires = "algorithm")]
        public: Option<PathBuf>,
        /// The algorithm of the public key, such as EdDSA or RS256.
        #[arg(long, value_name = "ALGORITHM", value_parser = parse_algorithm, requires = "public")]
        algorithm: Option<Algorithm>,
        /// The key's id (`kid`). Without it, the id is random.
        #[arg(long, value_name = "ID", allow_hyphen_values = true)]
        id: Option<String>,
    },
    /// Shows the secret of a key, so that a backend can sign tokens itself. Asks first.
    ///
    /// Prints two lines in the format of an environment file: CARILLON_USER_KEY_ID (the `kid`) and CARILLON_USER_KEY
    /// (the secret in hexadecimal); for --use api, CARILLON_API_KEY_ID and CARILLON_API_KEY.
    Show {
        /// The project.
        #[arg(long)]
        project: ProjectName,
        /// The kind of tokens that the key signs: api or user. The first active key is shown. `carillon token` uses it
        /// too.
        #[arg(long, value_name = "USE", value_parser = parse_use, default_value = "user")]
        r#use: KeyUse,
        /// The key's id, if it is not the first active key of this use.
        #[arg(long, value_name = "ID", allow_hyphen_values = true)]
        id: Option<String>,
        /// Shows it without asking.
        #[arg(long)]
        yes: bool,
    },
    /// Revokes a key: all nodes refuse its tokens and close its sessions.
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
    pub(super) fn run(&self, file: Option<&Path>, format: Format) -> Result<(), Failure> {
        answer_from_catalogue(file, format, async |settings, catalogue| self.work(settings, catalogue).await)
    }

    async fn work(&self, settings: &Settings, catalogue: &dyn Catalogue) -> Result<Answer, AccessFailure> {
        match self {
            Self::List { project } => {
                let project = read_project(settings, catalogue, project).await?;
                let text: String = project.keys.iter().map(line).collect();
                let keys: Vec<_> = project.keys.iter().map(to_json).collect();
                Ok(Answer::new(text, json!({"keys": keys})))
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
                    let message = format!("the project {project} already has a key {}: give another --id", key.id);
                    return Err(AccessFailure::Argument(message));
                }
                check_key(&key).map_err(|cause| AccessFailure::Argument(format!("the key cannot be used: {cause}")))?;
                catalogue.put_key(project, &key).await?;
                notify_nodes_of_new(settings, project).await;
                Ok(Answer::new(format!("{}\n", key.id), json!({"key": to_json(&key)})))
            }
            Self::Show { project, r#use, id, yes } => {
                let found = read_project(settings, catalogue, project).await?;
                show(&found, *r#use, id.as_deref(), *yes)
            }
            Self::Revoke { project, id } => {
                read_project(settings, catalogue, project).await?;
                if !revoke_key(catalogue, project, id).await? {
                    return Err(AccessFailure::NoKey { project: project.clone(), key: id.clone() });
                }
                let notified = notify_nodes(settings, project).await?;
                let text = format!("revoked the key {id} of project {project}: {notified}\n");
                Ok(Answer::new(text, notified.add_to(json!({"revoked": id}))))
            }
        }
    }
}

fn show(project: &Project, key_use: KeyUse, id: Option<&str>, yes: bool) -> Result<Answer, AccessFailure> {
    let (key, secret) = find_secret(project, key_use, id)?;
    let (name, id) = (&project.name, &key.id);
    if !yes {
        confirm(&format!("Everyone who knows the secret of key {id} can sign tokens of the project {name}."))?;
    }
    let secret: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
    let variable = format!("CARILLON_{}_KEY", key.key_use.as_str().to_uppercase());
    let json = json!({
        "project": name.as_str(), "id": id, "use": key.key_use.as_str(), "algorithm": key.algorithm.as_str(),
        "secret_hex": secret,
    });
    Ok(Answer::new(format!("{variable}_ID={id}\n{variable}={secret}\n"), json))
}

/// The key of this id, or the first active key of the use that has a secret.
fn find_secret<'a>(
    project: &'a Project,
    key_use: KeyUse,
    id: Option<&str>,
) -> Result<(&'a Key, &'a [u8]), AccessFailure> {
    let name = &project.name;
    let is_meant = |key: &&Key| id.map_or(key.active && key.key_use == key_use, |id| key.id == id);
    let secret = |key: &'a Key| match &key.material {
        KeyMaterial::Secret(secret) => Some((key, secret.as_slice())),
        KeyMaterial::PublicPem(_) => None,
    };
    project.keys.iter().filter(is_meant).find_map(secret).ok_or_else(|| match id {
        Some(id) if project.keys.iter().any(|key| key.id == id) => AccessFailure::Argument(format!(
            "the catalogue has only the public half of key {id}: its owner has the private half"
        )),
        Some(id) => AccessFailure::NoKey { project: name.clone(), key: id.to_owned() },
        None => AccessFailure::Argument(format!(
            "the project {name} has no active secret key for {} tokens: `carillon key add` adds one",
            key_use.as_str()
        )),
    })
}

fn to_json(key: &Key) -> Value {
    json!({
        "id": key.id, "use": key.key_use.as_str(), "algorithm": key.algorithm.as_str(), "active": key.active,
    })
}

fn line(key: &Key) -> String {
    let state = if key.active { "active" } else { "revoked" };
    format!("{} {} {} {state}\n", key.id, key.key_use.as_str(), key.algorithm.as_str())
}

fn read_file(file: &Path) -> Result<String, AccessFailure> {
    std::fs::read_to_string(file)
        .map_err(|error| AccessFailure::Argument(format!("{} cannot be read: {error}", file.display())))
}

fn parse_use(text: &str) -> Result<KeyUse, String> {
    text.parse().map_err(|_| "a key is for api or user tokens".to_owned())
}

fn parse_algorithm(text: &str) -> Result<Algorithm, String> {
    let names = Algorithm::ALL.map(Algorithm::as_str).join(", ");
    text.parse().map_err(|_| format!("an algorithm is one of {names}"))
}
