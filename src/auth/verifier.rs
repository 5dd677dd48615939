//! Prepares a project's key once, so that verifying a token costs only a signature check.
//!
//! HMAC is prepared here: the two key blocks are hashed once, not for each token. `hmac` compares in constant time
//! (`Mac::verify_slice`). RSA, ECDSA and EdDSA use `jsonwebtoken`, which compares public values.

use actors::fingerprint::Fingerprint64;
use hmac::{Hmac, KeyInit as _, Mac};
use jsonwebtoken::crypto::CryptoProvider;
use jsonwebtoken::{Algorithm as PublicAlgorithm, DecodingKey};
use sha2::{Sha256, Sha384, Sha512};
use thiserror::Error;

use super::compact::CompactToken;
use crate::catalogue::{Algorithm, Key, KeyMaterial};

/// The shortest RSA modulus (RFC 7518 §3.3).
const MIN_RSA_BITS: usize = 2_048;

/// A prepared key.
pub(super) struct Verifier {
    pub key_id: String,
    pub algorithm: Algorithm,
    /// Identifies the key in comparisons.
    pub fingerprint: Fingerprint64,
    method: Method,
}

enum Method {
    Hs256(Box<Hmac<Sha256>>),
    Hs384(Box<Hmac<Sha384>>),
    Hs512(Box<Hmac<Sha512>>),
    Public(PublicAlgorithm, DecodingKey),
}

/// Why a key of the catalogue cannot be used. It holds nothing of the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum UnusableKey {
    #[error("its secret is shorter than the algorithm's hash (RFC 7518 section 3.2)")]
    ShortSecret,
    #[error("its RSA modulus is shorter than 2048 bits (RFC 7518 section 3.3)")]
    ShortModulus,
    #[error("its material is not a secret for HS*, or not a public key of the algorithm's kind as PEM")]
    WrongMaterial,
}

/// Checks that a key can verify tokens.
///
/// # Errors
/// [`UnusableKey`].
pub fn check_key(key: &Key) -> Result<(), UnusableKey> {
    Verifier::prepare(key, Fingerprint64::default()).map(drop)
}

impl Verifier {
    /// Prepares a key, or returns why it cannot verify tokens.
    pub fn prepare(key: &Key, fingerprint: Fingerprint64) -> Result<Self, UnusableKey> {
        let method = match &key.material {
            KeyMaterial::Secret(secret) => prepare_secret(key.algorithm, secret)?,
            KeyMaterial::PublicPem(pem) => prepare_public(key.algorithm, pem)?,
        };
        Ok(Verifier { key_id: key.id.clone(), algorithm: key.algorithm, fingerprint, method })
    }

    /// Whether this key signed the token. The caller has compared the algorithms.
    pub fn verifies(&self, token: &CompactToken<'_>) -> bool {
        match &self.method {
            Method::Hs256(mac) => is_hmac_of(mac.as_ref(), token),
            Method::Hs384(mac) => is_hmac_of(mac.as_ref(), token),
            Method::Hs512(mac) => is_hmac_of(mac.as_ref(), token),
            Method::Public(algorithm, key) => {
                jsonwebtoken::crypto::verify(token.signature_text, token.signed, key, *algorithm).unwrap_or(false)
            }
        }
    }
}

fn is_hmac_of<M: Mac + Clone>(mac: &M, token: &CompactToken<'_>) -> bool {
    let mut mac = mac.clone();
    mac.update(token.signed);
    mac.verify_slice(&token.signature).is_ok()
}

fn prepare_secret(algorithm: Algorithm, secret: &[u8]) -> Result<Method, UnusableKey> {
    let shortest = match algorithm {
        Algorithm::HS256 => 32,
        Algorithm::HS384 => 48,
        Algorithm::HS512 => 64,
        _ => return Err(UnusableKey::WrongMaterial),
    };
    if secret.len() < shortest {
        return Err(UnusableKey::ShortSecret);
    }
    let method = match algorithm {
        Algorithm::HS384 => Hmac::new_from_slice(secret).map(|mac| Method::Hs384(Box::new(mac))),
        Algorithm::HS512 => Hmac::new_from_slice(secret).map(|mac| Method::Hs512(Box::new(mac))),
        _ => Hmac::new_from_slice(secret).map(|mac| Method::Hs256(Box::new(mac))),
    };
    method.map_err(|_| UnusableKey::ShortSecret)
}

fn prepare_public(algorithm: Algorithm, pem: &str) -> Result<Method, UnusableKey> {
    let pem = pem.as_bytes();
    let (algorithm, key) = match algorithm {
        Algorithm::RS256 => (PublicAlgorithm::RS256, DecodingKey::from_rsa_pem(pem)),
        Algorithm::RS384 => (PublicAlgorithm::RS384, DecodingKey::from_rsa_pem(pem)),
        Algorithm::RS512 => (PublicAlgorithm::RS512, DecodingKey::from_rsa_pem(pem)),
        Algorithm::ES256 => (PublicAlgorithm::ES256, DecodingKey::from_ec_pem(pem)),
        Algorithm::ES384 => (PublicAlgorithm::ES384, DecodingKey::from_ec_pem(pem)),
        Algorithm::EdDSA => (PublicAlgorithm::EdDSA, DecodingKey::from_ed_pem(pem)),
        Algorithm::HS256 | Algorithm::HS384 | Algorithm::HS512 => {
            return Err(UnusableKey::WrongMaterial);
        }
    };
    let key = key.map_err(|_| UnusableKey::WrongMaterial)?;
    check_public(algorithm, &key)?;
    Ok(Method::Public(algorithm, key))
}

/// Finds unusable keys early: a private key, another curve, a short modulus. Otherwise every token would seem to have a
/// wrong signature.
fn check_public(algorithm: PublicAlgorithm, key: &DecodingKey) -> Result<(), UnusableKey> {
    let provider = CryptoProvider::try_get_default().ok_or(UnusableKey::WrongMaterial)?;
    (provider.verifier_factory)(&algorithm, key).map_err(|_| UnusableKey::WrongMaterial)?;
    if matches!(algorithm, PublicAlgorithm::RS256 | PublicAlgorithm::RS384 | PublicAlgorithm::RS512) {
        let der = key.try_get_as_bytes().map_err(|_| UnusableKey::WrongMaterial)?;
        let (modulus, _) =
            (provider.key_utils.rsa_pub_components_from_public_key)(der).map_err(|_| UnusableKey::WrongMaterial)?;
        if significant_bits(&modulus) < MIN_RSA_BITS {
            return Err(UnusableKey::ShortModulus);
        }
    }
    Ok(())
}

/// Bits of a big-endian number without its leading zeros.
fn significant_bits(number: &[u8]) -> usize {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    number.get(zeros).map_or(0, |first| (number.len() - zeros) * 8 - first.leading_zeros() as usize)
}
