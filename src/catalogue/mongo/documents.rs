//! The documents of the catalogue. `migrations/` has their schemas.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use crate::catalogue::{CatalogueError, EventDefinition, EventMode, Key, KeyMaterial, Project, ProjectName};

const ACTIVE: &str = "active";
const INACTIVE: &str = "inactive";

/// A document of `projects`.
#[derive(Serialize, Deserialize)]
pub(super) struct ProjectDocument {
    /// A new id for each project, never used again. `keys.project` refers to it.
    #[serde(rename = "_id")]
    pub id: String,
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    audience: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    issuer: Option<String>,
    /// A project without it is active. It was added by the second migration.
    state: Option<String>,
    /// A project without it is open. It was added by the second migration.
    events: Option<String>,
}

impl ProjectDocument {
    pub fn new(id: &str, project: &Project) -> Self {
        ProjectDocument {
            id: id.to_owned(),
            name: project.name.as_str().to_owned(),
            audience: project.audience.clone(),
            issuer: project.issuer.clone(),
            state: Some(state(project.active)),
            events: Some(project.events.as_str().to_owned()),
        }
    }

    /// The project with these keys.
    pub fn into_project(self, name: ProjectName, keys: Vec<Key>) -> Result<Project, CatalogueError> {
        let active = self.state.map_or(Ok(true), |state| read_state(&state, "a project's state"))?;
        let events = self.events.map_or(Ok(EventMode::Open), |events| events.parse())?;
        Ok(Project { name, active, audience: self.audience, issuer: self.issuer, events, keys })
    }
}

/// A document of `events`.
#[derive(Serialize, Deserialize)]
pub(super) struct EventDocument {
    /// The `_id` of the project.
    project: String,
    name: String,
    state: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    subscribers: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    emitters: Option<Vec<String>>,
}

impl EventDocument {
    pub fn new(project_id: &str, event: &EventDefinition) -> Self {
        EventDocument {
            project: project_id.to_owned(),
            name: event.name.clone(),
            state: state(event.active),
            subscribers: event.subscribers.clone(),
            emitters: event.emitters.clone(),
        }
    }
}

impl TryFrom<EventDocument> for EventDefinition {
    type Error = CatalogueError;

    fn try_from(document: EventDocument) -> Result<Self, Self::Error> {
        let active = read_state(&document.state, "an event's state")?;
        let EventDocument { name, subscribers, emitters, .. } = document;
        Ok(EventDefinition { name, active, subscribers, emitters })
    }
}

fn state(active: bool) -> String {
    if active { ACTIVE } else { INACTIVE }.to_owned()
}

fn read_state(text: &str, what: &'static str) -> Result<bool, CatalogueError> {
    match text {
        ACTIVE => Ok(true),
        INACTIVE => Ok(false),
        _ => Err(CatalogueError::Unreadable(what)),
    }
}

/// A document of `keys`.
#[derive(Serialize, Deserialize)]
pub(super) struct KeyDocument {
    /// The `_id` of the project.
    project: String,
    /// The `kid` in a token's header.
    kid: String,
    #[serde(rename = "use")]
    key_use: String,
    algorithm: String,
    state: String,
    /// The position of the key in the project. Only MongoDB reads it, for sorting.
    #[serde(skip_deserializing)]
    position: i64,
    /// In base64url without padding, as in a JWK (RFC 7518 §6.4.1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    secret: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    public_pem: Option<String>,
}

impl KeyDocument {
    pub fn new(project_id: &str, key: &Key, position: i64) -> Self {
        let (secret, public_pem) = match &key.material {
            KeyMaterial::Secret(secret) => (Some(URL_SAFE_NO_PAD.encode(secret)), None),
            KeyMaterial::PublicPem(pem) => (None, Some(pem.clone())),
        };
        KeyDocument {
            project: project_id.to_owned(),
            kid: key.id.clone(),
            key_use: key.key_use.as_str().to_owned(),
            algorithm: key.algorithm.as_str().to_owned(),
            state: state(key.active),
            position,
            secret,
            public_pem,
        }
    }
}

impl TryFrom<KeyDocument> for Key {
    type Error = CatalogueError;

    fn try_from(document: KeyDocument) -> Result<Self, Self::Error> {
        let material = match (document.secret, document.public_pem) {
            (Some(secret), None) => KeyMaterial::Secret(read_secret(&secret)?),
            (None, Some(pem)) => KeyMaterial::PublicPem(pem),
            _ => return Err(CatalogueError::Unreadable("a key's material")),
        };
        let active = read_state(&document.state, "a key's state")?;
        Ok(Key {
            id: document.kid,
            key_use: document.key_use.parse()?,
            algorithm: document.algorithm.parse()?,
            material,
            active,
        })
    }
}

fn read_secret(text: &str) -> Result<Vec<u8>, CatalogueError> {
    // The cause would contain a character of the secret.
    URL_SAFE_NO_PAD.decode(text).map_err(|_| CatalogueError::Unreadable("a key's secret"))
}

/// The position of a key. MongoDB's shell can write any type of number, so all of them are read.
#[derive(Deserialize)]
pub(super) struct KeyPosition {
    position: Option<f64>,
}

impl KeyPosition {
    /// The position. A key without one is the first.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "positions count keys; a conversion of another number saturates"
    )]
    pub fn position(&self) -> i64 {
        self.position.unwrap_or(0.0) as i64
    }
}
