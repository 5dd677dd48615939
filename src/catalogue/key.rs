//! A project's key: its use, its algorithm and its material.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::CatalogueError;

/// Bytes of a generated secret (RFC 7518 §3.2: at least as long as the hash of HS256).
const RANDOM_SECRET_BYTES: usize = 32;
/// Bytes of a generated id, which give 8 characters.
const RANDOM_ID_BYTES: usize = 6;

/// The kind of token that a key signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyUse {
    /// API tokens, which identify an application.
    Api,
    /// User tokens, which identify a user.
    User,
}

impl KeyUse {
    /// The name of the use in the catalogue.
    pub const fn as_str(self) -> &'static str {
        match self {
            KeyUse::Api => "api",
            KeyUse::User => "user",
        }
    }
}

impl FromStr for KeyUse {
    type Err = CatalogueError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        [KeyUse::Api, KeyUse::User]
            .into_iter()
            .find(|key_use| key_use.as_str() == text)
            .ok_or(CatalogueError::Unreadable("a key's use"))
    }
}

/// The algorithm of a key (RFC 7518 §3.1, RFC 8037 §3.1). Each key has exactly one. There is no `none`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    HS256,
    HS384,
    HS512,
    RS256,
    RS384,
    RS512,
    ES256,
    ES384,
    EdDSA,
}

impl Algorithm {
    /// Every algorithm.
    pub const ALL: [Algorithm; 9] = [
        Algorithm::HS256,
        Algorithm::HS384,
        Algorithm::HS512,
        Algorithm::RS256,
        Algorithm::RS384,
        Algorithm::RS512,
        Algorithm::ES256,
        Algorithm::ES384,
        Algorithm::EdDSA,
    ];

    /// The algorithm's name in a token's header.
    pub const fn as_str(self) -> &'static str {
        match self {
            Algorithm::HS256 => "HS256",
            Algorithm::HS384 => "HS384",
            Algorithm::HS512 => "HS512",
            Algorithm::RS256 => "RS256",
            Algorithm::RS384 => "RS384",
            Algorithm::RS512 => "RS512",
            Algorithm::ES256 => "ES256",
            Algorithm::ES384 => "ES384",
            Algorithm::EdDSA => "EdDSA",
        }
    }
}

impl FromStr for Algorithm {
    type Err = CatalogueError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Algorithm::ALL
            .into_iter()
            .find(|algorithm| algorithm.as_str() == text)
            .ok_or(CatalogueError::Unreadable("a key's algorithm"))
    }
}

/// The material of a key. Of a key pair it is only the public key.
#[derive(Clone, PartialEq, Eq)]
pub enum KeyMaterial {
    /// A shared secret (HS256, HS384, HS512).
    Secret(Vec<u8>),
    /// A public key as PEM, `-----BEGIN PUBLIC KEY-----` (RS*, ES*, EdDSA).
    PublicPem(String),
}

/// Hides the material: a key never appears in a log line or an error.
impl fmt::Debug for KeyMaterial {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            KeyMaterial::Secret(_) => "Secret(hidden)",
            KeyMaterial::PublicPem(_) => "PublicPem(hidden)",
        })
    }
}

/// A key of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// The `kid` in a token's header. It is unique within the project.
    pub id: String,
    pub key_use: KeyUse,
    pub algorithm: Algorithm,
    pub material: KeyMaterial,
    /// An inactive key verifies and signs nothing.
    pub active: bool,
}

impl Key {
    /// Generates an active HS256 key of 256 random bits with a short random id. The id begins with a letter, because a
    /// command line would read one that begins with `-` as an option.
    pub fn random(key_use: KeyUse) -> Result<Self, CatalogueError> {
        let mut secret = vec![0; RANDOM_SECRET_BYTES];
        let mut id = [0; RANDOM_ID_BYTES];
        getrandom::fill(&mut secret).map_err(CatalogueError::Random)?;
        getrandom::fill(&mut id).map_err(CatalogueError::Random)?;
        // The first 32 of the alphabet's 64 characters are letters (RFC 4648 §5).
        id[0] &= 0x7f;
        Ok(Key {
            id: URL_SAFE_NO_PAD.encode(id),
            key_use,
            algorithm: Algorithm::HS256,
            material: KeyMaterial::Secret(secret),
            active: true,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_algorithms_and_uses_are_parsed() {
        for algorithm in Algorithm::ALL {
            assert_eq!(algorithm.as_str().parse::<Algorithm>().unwrap(), algorithm);
        }
        for key_use in [KeyUse::Api, KeyUse::User] {
            assert_eq!(key_use.as_str().parse::<KeyUse>().unwrap(), key_use);
        }
        for bad in ["none", "None", "hs256", "PS256", ""] {
            assert!(bad.parse::<Algorithm>().is_err());
        }
    }

    #[test]
    fn material_is_hidden_from_debug_output() {
        let mut key = Key::random(KeyUse::Api).unwrap();
        key.material = KeyMaterial::Secret(b"open sesame".to_vec());
        let text = format!("{key:?}");
        assert!(!text.contains("sesame") && !text.contains("111, 112"), "{text}");
    }

    #[test]
    fn the_id_of_a_random_key_begins_with_a_letter() {
        for _ in 0..2000 {
            let id = Key::random(KeyUse::Api).unwrap().id;
            assert!(id.starts_with(|first: char| first.is_ascii_alphabetic()), "{id}");
        }
    }

    #[test]
    fn random_keys_differ() {
        let (one, other) = (Key::random(KeyUse::Api).unwrap(), Key::random(KeyUse::Api).unwrap());
        assert_ne!(one.id, other.id);
        assert!(one.material != other.material);
    }
}
