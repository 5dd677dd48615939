//! Valid and invalid tokens, signed with the keys in the catalogue of a node.

use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use rusqlite::{Connection, OpenFlags, params};
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Both tokens of one client.
#[derive(Clone, Debug)]
pub struct Tokens {
    pub api: String,
    pub user: String,
}

impl Tokens {
    /// The two header lines that carry them.
    pub fn headers(&self) -> [(&str, &str); 2] {
        [("x-am-authorization", self.api.as_str()), ("x-am-user-authorization", self.user.as_str())]
    }

    /// The path of a WebSocket with both tokens in its query string.
    pub fn in_query(&self, path: &str) -> String {
        format!("{path}?x-am-authorization={}&x-am-user-authorization={}", self.api, self.user)
    }

    /// The value of `Sec-WebSocket-Protocol` that carries them.
    pub fn in_subprotocol(&self) -> String {
        format!("carillon.v1, api.{}, user.{}", self.api, self.user)
    }
}

/// The claims of a token, and the project and use of its signing key.
#[derive(Clone, Debug)]
pub struct Claims {
    project: String,
    key_use: &'static str,
    body: Value,
}

impl Claims {
    /// The token of an application, valid for an hour. Scopes are separated by spaces.
    pub fn api(scopes: &str) -> Claims {
        let scopes: Vec<&str> = scopes.split_whitespace().collect();
        Claims {
            project: "demo".to_owned(),
            key_use: "api",
            body: json!({"project": "demo", "sub": "tests", "scope": scopes}),
        }
        .expiring_in(3600)
    }

    /// The token of a user, valid for an hour.
    pub fn user(subject: &str) -> Claims {
        Claims { project: "demo".to_owned(), key_use: "user", body: json!({"project": "demo", "sub": subject}) }
            .expiring_in(3600)
    }

    /// Changes the project, in the claims and for the signature.
    pub fn of_project(mut self, project: &str) -> Claims {
        self.project = project.to_owned();
        self.with("project", json!(project))
    }

    /// Sets a claim.
    pub fn with(mut self, name: &str, value: Value) -> Claims {
        self.body[name] = value;
        self
    }

    /// Removes a claim.
    pub fn without(mut self, name: &str) -> Claims {
        if let Some(claims) = self.body.as_object_mut() {
            claims.remove(name);
        }
        self
    }

    /// Sets the expiry, in seconds from now. Negative numbers are in the past.
    pub fn expiring_in(self, seconds: i64) -> Claims {
        let exp = seconds_since_epoch() + seconds;
        self.with("exp", json!(exp))
    }

    /// The time of expiry.
    pub fn expiry(&self) -> i64 {
        self.body["exp"].as_i64().expect("set in whole seconds")
    }

    /// Signs with the key of the project for this use.
    pub fn sign(&self, data_directory: &Path) -> String {
        self.sign_with(signing_key(data_directory, &self.project, self.key_use))
    }

    fn sign_with(&self, (kid, secret): (String, Vec<u8>)) -> String {
        let mut header = Header::new(Algorithm::HS256);
        header.kid = Some(kid);
        let key = EncodingKey::from_secret(&secret).expect("a key of HS256");
        encode(&header, &self.body, &key).expect("a token")
    }

    /// Signs with a key that no project has.
    pub fn sign_wrongly(&self) -> String {
        let key = EncodingKey::from_secret(b"a secret that no project has, 32 bytes or more").expect("a key of HS256");
        encode(&Header::new(Algorithm::HS256), &self.body, &key).expect("a token")
    }
}

/// Tokens of user `u1`, signed with these keys of the project `demo`.
pub fn signed_with(data_directory: &Path, api_key: &str, user_key: &str) -> Tokens {
    let key = |id: &str| {
        let secret = catalogue(data_directory)
            .query_row("SELECT secret FROM keys WHERE project = 'demo' AND id = ?1", [id], |row| row.get(0))
            .expect("a key of this id");
        (id.to_owned(), secret)
    };
    Tokens {
        api: Claims::api("connect emit").sign_with(key(api_key)),
        user: Claims::user("u1").sign_with(key(user_key)),
    }
}

/// The Unix time in seconds, as in tokens.
pub fn seconds_since_epoch() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    i64::try_from(since.unwrap_or(Duration::ZERO).as_secs()).expect("a date of this age")
}

/// Creates a project in the catalogue of a running node, with one key per use.
pub fn add_project(data_directory: &Path, project: &str) {
    let catalogue = catalogue(data_directory);
    catalogue.execute("INSERT INTO projects (name) VALUES (?1)", [project]).expect("a new project");
    for key_use in ["api", "user"] {
        let secret = format!("the secret of {project} for {key_use}, 32 bytes or more").into_bytes();
        catalogue
            .execute(
                "INSERT INTO keys (project, id, key_use, algorithm, secret, active)
                 VALUES (?1, ?2, ?2, 'HS256', ?3, 1)",
                params![project, key_use, secret],
            )
            .expect("a new key");
    }
}

/// Reads the id and the secret of a key from the catalogue of a running node.
fn signing_key(data_directory: &Path, project: &str, key_use: &str) -> (String, Vec<u8>) {
    catalogue(data_directory)
        .query_row("SELECT id, secret FROM keys WHERE project = ?1 AND key_use = ?2", [project, key_use], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .expect("one key for each use")
}

fn catalogue(data_directory: &Path) -> Connection {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE;
    Connection::open_with_flags(data_directory.join("carillon.sqlite3"), flags).expect("the node's catalogue")
}
