//! Tests of the authenticator's public functions, with a catalogue in memory and a manual clock.

mod algorithms;
mod cache;
mod claims;
mod events;
mod form;
mod issuing;
mod keys;
mod properties;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures::executor::block_on;
use futures::future::{BoxFuture, FutureExt as _};
use jsonwebtoken::{Algorithm as JwtAlgorithm, EncodingKey};

use super::*;
use crate::catalogue::{
    Algorithm, Catalogue, CatalogueError, EventDefinition, EventMode, Key, KeyMaterial, KeyUse, Project, ProjectName,
};

/// The initial time of the clock, in seconds.
const NOW: u64 = 1_790_000_000;
const LEEWAY: u64 = 5;
const CACHE_SECONDS: u64 = 30;
const SECRET: [u8; 64] = *b"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// An authenticator with the catalogue and the clock that a test controls.
struct Fixture {
    catalogue: Arc<MemoryCatalogue>,
    clock: Arc<ManualClock>,
    authenticator: Authenticator,
}

impl Fixture {
    fn new(project: Project) -> Self {
        let catalogue = Arc::new(MemoryCatalogue::default());
        catalogue.put(project);
        let clock = Arc::new(ManualClock(AtomicU64::new(NOW * 1_000)));
        let authenticator = Authenticator::with_clock(catalogue.clone(), LEEWAY, CACHE_SECONDS, clock.clone());
        Fixture { catalogue, clock, authenticator }
    }

    fn api(&self, text: &str) -> Result<Arc<ApiToken>, TokenError> {
        block_on(self.authenticator.verify_api(text))
    }

    fn user(&self, text: &str) -> Result<UserToken, TokenError> {
        block_on(self.authenticator.verify_user(text, &ProjectName::demo()))
    }
}

struct ManualClock(AtomicU64);

impl ManualClock {
    fn advance(&self, milliseconds: u64) {
        self.0.fetch_add(milliseconds, Ordering::Relaxed);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::Relaxed))
    }
}

#[derive(Default)]
struct MemoryCatalogue {
    projects: Mutex<HashMap<ProjectName, Project>>,
    events: Mutex<HashMap<(ProjectName, String), EventDefinition>>,
    lookups: AtomicUsize,
    is_down: AtomicBool,
}

impl MemoryCatalogue {
    fn put(&self, project: Project) {
        self.projects.lock().unwrap().insert(project.name.clone(), project);
    }

    fn lookups(&self) -> usize {
        self.lookups.load(Ordering::Relaxed)
    }
}

impl Catalogue for MemoryCatalogue {
    fn project<'a>(&'a self, name: &'a ProjectName) -> BoxFuture<'a, Result<Option<Project>, CatalogueError>> {
        async move {
            self.lookups.fetch_add(1, Ordering::Relaxed);
            // Like a real catalogue, it answers later, so that other callers run in between.
            tokio::task::yield_now().await;
            if self.is_down.load(Ordering::Relaxed) {
                return Err(CatalogueError::Closing);
            }
            Ok(self.projects.lock().unwrap().get(name).cloned())
        }
        .boxed()
    }

    fn create_project<'a>(&'a self, _: &'a Project) -> BoxFuture<'a, Result<(), CatalogueError>> {
        unreachable!("an authenticator only reads")
    }

    fn put_key<'a>(&'a self, _: &'a ProjectName, _: &'a Key) -> BoxFuture<'a, Result<(), CatalogueError>> {
        unreachable!("an authenticator only reads")
    }

    fn put_project<'a>(&'a self, _: &'a Project) -> BoxFuture<'a, Result<(), CatalogueError>> {
        unreachable!("an authenticator only reads")
    }

    fn remove_project<'a>(&'a self, _: &'a ProjectName) -> BoxFuture<'a, Result<(), CatalogueError>> {
        unreachable!("an authenticator only reads")
    }

    fn projects(&self) -> BoxFuture<'_, Result<Vec<ProjectName>, CatalogueError>> {
        unreachable!("an authenticator reads one project")
    }

    fn event<'a>(
        &'a self,
        project: &'a ProjectName,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Option<EventDefinition>, CatalogueError>> {
        async move {
            self.lookups.fetch_add(1, Ordering::Relaxed);
            tokio::task::yield_now().await;
            if self.is_down.load(Ordering::Relaxed) {
                return Err(CatalogueError::Closing);
            }
            Ok(self.events.lock().unwrap().get(&(project.clone(), name.to_owned())).cloned())
        }
        .boxed()
    }

    fn events<'a>(&'a self, _: &'a ProjectName) -> BoxFuture<'a, Result<Vec<EventDefinition>, CatalogueError>> {
        unreachable!("an authenticator reads one event")
    }

    fn put_event<'a>(
        &'a self,
        _: &'a ProjectName,
        _: &'a EventDefinition,
    ) -> BoxFuture<'a, Result<(), CatalogueError>> {
        unreachable!("an authenticator only reads")
    }

    fn ensure_demo(&self) -> BoxFuture<'_, Result<bool, CatalogueError>> {
        unreachable!("an authenticator only reads")
    }
}

fn secret_key(id: &str, key_use: KeyUse, secret: &[u8]) -> Key {
    Key {
        id: id.to_owned(),
        key_use,
        algorithm: Algorithm::HS256,
        material: KeyMaterial::Secret(secret.to_vec()),
        active: true,
    }
}

/// The project `demo` with the HS256 keys `api` and `user`, both of them [`SECRET`].
fn demo() -> Project {
    let mut project = Project::new(ProjectName::demo());
    project.keys = vec![secret_key("api", KeyUse::Api, &SECRET), secret_key("user", KeyUse::User, &SECRET)];
    project
}

/// A compact token with any header and claims, signed with `key`.
fn signed(header: &str, claims: &str, algorithm: JwtAlgorithm, key: &EncodingKey) -> String {
    let message = format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims));
    let signature = jsonwebtoken::crypto::sign(message.as_bytes(), key, algorithm).unwrap();
    format!("{message}.{signature}")
}

/// A token signed with HS256 and [`SECRET`].
fn with_secret(header: &str, claims: &str) -> String {
    let key = EncodingKey::from_secret(&SECRET).unwrap();
    signed(header, claims, JwtAlgorithm::HS256, &key)
}

/// A correctly signed API token with these claims.
fn api_token(claims: &str) -> String {
    with_secret(r#"{"alg":"HS256","typ":"JWT","kid":"api"}"#, claims)
}

/// A correctly signed user token with these claims.
fn user_token(claims: &str) -> String {
    with_secret(r#"{"alg":"HS256","typ":"JWT","kid":"user"}"#, claims)
}

const API_CLAIMS: &str = r#"{"project":"demo","sub":"shop","scope":["connect","emit"],"exp":1790000100}"#;
const USER_CLAIMS: &str = r#"{"project":"demo","sub":"u42","exp":1790000100.5,"mine":[{"a":1e999}]}"#;

#[test]
fn valid_tokens_are_read_with_all_their_claims() {
    let fixture = Fixture::new(demo());
    let (api, user) = (fixture.api(&api_token(API_CLAIMS)).unwrap(), fixture.user(&user_token(USER_CLAIMS)).unwrap());
    let keys = block_on(fixture.authenticator.active_keys(&ProjectName::demo())).unwrap();
    assert_eq!((keys.api, keys.user), (vec![api.key], vec![user.key]));
    assert_eq!(
        *api,
        ApiToken {
            project: ProjectName::demo(),
            application: "shop".into(),
            scopes: [Scope::Connect, Scope::Emit].into_iter().collect(),
            events: EventMode::Open,
            key: api.key,
            expires_at: Some(1_790_000_100),
        }
    );
    let expected =
        UserToken { project: ProjectName::demo(), subject: "u42".into(), key: user.key, expires_at: 1_790_000_101 };
    assert_eq!(user, expected);
}

#[test]
fn errors_have_the_token_a_remedy_and_a_code_of_the_protocol() {
    use actors::protocol::codes::ErrorCode;
    for (error, code) in [
        (TokenError::Missing(KeyUse::User), ErrorCode::TokenMissing),
        (TokenError::Malformed, ErrorCode::TokenInvalid),
        (TokenError::Expired, ErrorCode::TokenExpired),
        (TokenError::NotYetValid, ErrorCode::TokenInvalid),
        (TokenError::Scope(Scope::Emit), ErrorCode::TokenScope),
        (TokenError::ProjectMismatch, ErrorCode::ProjectMismatch),
        (TokenError::Unavailable, ErrorCode::TemporarilyUnavailable),
    ] {
        assert_eq!(error.code(), code);
        assert!(error.message(KeyUse::User).starts_with("user token: "));
    }
    let missing = TokenError::Missing(KeyUse::Api).message(KeyUse::Api);
    assert!(missing.starts_with("API token: missing: send it as the header"), "{missing}");
    assert!(TokenError::Scope(Scope::Emit).to_string().contains("emit"));
}
