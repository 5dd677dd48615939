//! An address that may hold a password, which is never shown.

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};

/// Shown in place of a password.
const HIDDEN: &str = "***";

/// A URL that may hold a password. Only [`expose`](Self::expose) returns the password.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct SecretUrl(String);

impl SecretUrl {
    /// The URL with its password. It is for the driver that connects and must never be written anywhere.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// The URL with `***` in place of the password and of secret parameters.
    pub fn masked(&self) -> String {
        let (address, parameters) = match self.0.split_once('?') {
            // A password with an unescaped `?` is malformed, but must be hidden too.
            Some((address, rest)) if !rest.contains('@') || address.contains('@') => (address, Some(rest)),
            _ => (self.0.as_str(), None),
        };
        let mut masked = mask_password(address);
        for (position, parameter) in parameters.into_iter().flat_map(|all| all.split('&')).enumerate() {
            masked.push(if position == 0 { '?' } else { '&' });
            masked.push_str(&mask_parameter(parameter));
        }
        masked
    }
}

impl From<&str> for SecretUrl {
    fn from(url: &str) -> Self {
        SecretUrl(url.to_owned())
    }
}

/// Hides everything between the first `:` after the scheme and the last `@`. It rather hides too much than to show a
/// part of a password.
fn mask_password(address: &str) -> String {
    let user_at = address.find("://").map_or(0, |at| at + "://".len());
    let Some(end) = address.rfind('@').filter(|end| *end >= user_at) else { return address.to_owned() };
    match address[user_at..end].find(':') {
        Some(colon) => format!("{}:{HIDDEN}{}", &address[..user_at + colon], &address[end..]),
        None => address.to_owned(),
    }
}

/// Hides parameters such as `tlsCertificateKeyFilePassword` and `authMechanismProperties`, which may hold a session
/// token.
fn mask_parameter(parameter: &str) -> String {
    match parameter.split_once('=') {
        Some((name, _)) if is_secret(name) => format!("{name}={HIDDEN}"),
        _ => parameter.to_owned(),
    }
}

fn is_secret(name: &str) -> bool {
    let name = name.to_lowercase();
    name.contains("password") || name.contains("mechanismproperties")
}

/// Without the password.
impl fmt::Debug for SecretUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?}", self.masked())
    }
}

/// Without the password.
impl fmt::Display for SecretUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.masked())
    }
}

/// Without the password, because serialized settings are shown.
impl Serialize for SecretUrl {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.masked())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_hidden_and_the_rest_is_shown() {
        let rows = [
            ("mongodb://127.0.0.1:27017", "mongodb://127.0.0.1:27017"),
            ("mongodb://ann@a:1,b:2/x?replicaSet=rs", "mongodb://ann@a:1,b:2/x?replicaSet=rs"),
            ("mongodb://ann:secret@a:1,b:2/x?replicaSet=rs", "mongodb://ann:***@a:1,b:2/x?replicaSet=rs"),
            ("mongodb+srv://ann:secret@a.example", "mongodb+srv://ann:***@a.example"),
            ("redis://:secret@a:6379/1", "redis://:***@a:6379/1"),
            ("mongodb://ann:sec@ret@a", "mongodb://ann:***@a"),
            ("mongodb://ann:sec/ret@a", "mongodb://ann:***@a"),
            ("mongodb://ann:sec?ret@a", "mongodb://ann:***@a"),
            ("mongodb://ann:sec:ret@a?x=1", "mongodb://ann:***@a?x=1"),
            (
                "mongodb://a/?tlsCertificateKeyFilePassword=secret&tls=true",
                "mongodb://a/?tlsCertificateKeyFilePassword=***&tls=true",
            ),
            (
                "mongodb://a/?authMechanismProperties=AWS_SESSION_TOKEN:secret",
                "mongodb://a/?authMechanismProperties=***",
            ),
            ("ann:secret@a", "ann:***@a"),
            ("", ""),
        ];
        for (url, shown) in rows {
            let url = SecretUrl::from(url);
            assert_eq!(url.masked(), shown);
            assert_eq!((url.to_string(), format!("{url:?}")), (shown.to_owned(), format!("{shown:?}")));
            assert_eq!(serde_json::to_value(&url).unwrap(), shown);
        }
    }

    #[test]
    fn expose_returns_the_url_with_its_password() {
        let url: SecretUrl = serde_json::from_value("mongodb://ann:secret@a".into()).unwrap();
        assert_eq!(url.expose(), "mongodb://ann:secret@a");
    }
}
