//! Signs JSON Web Tokens (RFC 7519) with HS256. The key is prepared once, since each client needs a token.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::Sha256;
use std::fmt;
use std::str::FromStr;

/// A project's key for one of the two tokens.
#[derive(Clone, Deserialize, PartialEq, Eq, Serialize)]
pub struct Key {
    /// The `kid` in the header of tokens.
    pub id: String,
    pub secret: Vec<u8>,
}

/// Hides the secret.
impl fmt::Debug for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Key({}, hidden)", self.id)
    }
}

/// Reads `KID:SECRET`, the secret in base64url without padding.
impl FromStr for Key {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Key, &'static str> {
        let (id, secret) = text.split_once(':').ok_or("a key is format_number KID:SECRET")?;
        let secret = URL_SAFE_NO_PAD.decode(secret).map_err(|_| "a secret is base64url without padding")?;
        Ok(Key { id: id.to_owned(), secret })
    }
}

/// Signs tokens with one key.
pub struct Signer {
    /// The encoded header with its trailing dot.
    head: String,
    mac: Hmac<Sha256>,
}

impl fmt::Debug for Signer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Signer").finish_non_exhaustive()
    }
}

impl Signer {
    /// Prepares a key.
    pub fn new(key: &Key) -> Signer {
        let header = json!({"alg": "HS256", "typ": "JWT", "kid": key.id}).to_string();
        let mac = Hmac::new_from_slice(&key.secret).expect("HMAC takes a key of any length (RFC 2104 §2)");
        Signer { head: URL_SAFE_NO_PAD.encode(header) + ".", mac }
    }

    /// Appends a token with these claims, given as JSON.
    pub fn sign(&self, claims: &str, out: &mut String) {
        let start = out.len();
        out.push_str(&self.head);
        URL_SAFE_NO_PAD.encode_string(claims, out);
        let mut mac = self.mac.clone();
        mac.update(&out.as_bytes()[start..]);
        out.push('.');
        URL_SAFE_NO_PAD.encode_string(mac.finalize().into_bytes(), out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_rfc_7515_gets_the_same_signature() {
        // Appendix A.1: another header, the same key and claims.
        let key: Key =
            "k:AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow".parse().unwrap();
        let mut signer = Signer::new(&key);
        signer.head = "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.".into();
        let mut token = String::from("before ");
        signer.sign("{\"iss\":\"joe\",\r\n \"exp\":1300819380,\r\n \"http://example.com/is_root\":true}", &mut token);
        assert!(token.starts_with("before eyJ0eXAi"), "{token}");
        assert!(token.ends_with(".dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"), "{token}");
    }

    #[test]
    fn a_secret_is_hidden_from_debug_output() {
        let key: Key = "id:b3BlbiBzZXNhbWU".parse().unwrap();
        assert_eq!(format!("{key:?}"), "Key(id, hidden)");
        assert!("no colon".parse::<Key>().is_err() && "id:***".parse::<Key>().is_err());
    }
}
