//! Every algorithm verifies only its own tokens.

use super::*;

const RSA_PRIVATE: &str = include_str!("../../../tests/keys/rsa_private.pem");
const RSA_PUBLIC: &str = include_str!("../../../tests/keys/rsa_public.pem");
const SHORT_RSA_PUBLIC: &str = include_str!("../../../tests/keys/rsa_1024_public.pem");
const ES256_PRIVATE: &str = include_str!("../../../tests/keys/es256_private.pem");
const ES256_PUBLIC: &str = include_str!("../../../tests/keys/es256_public.pem");
const ES384_PRIVATE: &str = include_str!("../../../tests/keys/es384_private.pem");
const ES384_PUBLIC: &str = include_str!("../../../tests/keys/es384_public.pem");
const ED25519_PRIVATE: &str = include_str!("../../../tests/keys/ed25519_private.pem");
const ED25519_PUBLIC: &str = include_str!("../../../tests/keys/ed25519_public.pem");

/// An algorithm with a key pair (or the secret twice).
fn pair(algorithm: Algorithm) -> (JwtAlgorithm, EncodingKey, KeyMaterial) {
    let secret = || (EncodingKey::from_secret(&SECRET).unwrap(), KeyMaterial::Secret(SECRET.to_vec()));
    let rsa = || (EncodingKey::from_rsa_pem(RSA_PRIVATE.as_bytes()).unwrap(), public(RSA_PUBLIC));
    let ec = |private: &str, pem| (EncodingKey::from_ec_pem(private.as_bytes()).unwrap(), public(pem));
    let (jwt, (private, material)) = match algorithm {
        Algorithm::HS256 => (JwtAlgorithm::HS256, secret()),
        Algorithm::HS384 => (JwtAlgorithm::HS384, secret()),
        Algorithm::HS512 => (JwtAlgorithm::HS512, secret()),
        Algorithm::RS256 => (JwtAlgorithm::RS256, rsa()),
        Algorithm::RS384 => (JwtAlgorithm::RS384, rsa()),
        Algorithm::RS512 => (JwtAlgorithm::RS512, rsa()),
        Algorithm::ES256 => (JwtAlgorithm::ES256, ec(ES256_PRIVATE, ES256_PUBLIC)),
        Algorithm::ES384 => (JwtAlgorithm::ES384, ec(ES384_PRIVATE, ES384_PUBLIC)),
        Algorithm::EdDSA => {
            let private = EncodingKey::from_ed_pem(ED25519_PRIVATE.as_bytes()).unwrap();
            (JwtAlgorithm::EdDSA, (private, public(ED25519_PUBLIC)))
        }
    };
    (jwt, private, material)
}

fn public(pem: &str) -> KeyMaterial {
    KeyMaterial::PublicPem(pem.to_owned())
}

fn desk_with_key(algorithm: Algorithm, material: KeyMaterial) -> Fixture {
    let mut project = Project::new(ProjectName::demo());
    project.keys.push(Key { id: "k".to_owned(), key_use: KeyUse::Api, algorithm, material, active: true });
    Fixture::new(project)
}

fn named(algorithm: &str) -> String {
    format!(r#"{{"alg":"{algorithm}","kid":"k"}}"#)
}

#[test]
fn a_token_of_each_algorithm_verifies_with_and_without_kid() {
    for algorithm in Algorithm::ALL {
        let (jwt, private, material) = pair(algorithm);
        let fixture = desk_with_key(algorithm, material);
        let name = algorithm.as_str();
        for header in [named(name), format!(r#"{{"alg":"{name}"}}"#)] {
            let token = signed(&header, API_CLAIMS, jwt, &private);
            assert_eq!(fixture.api(&token).map(|token| token.application.clone()), Ok("shop".into()), "{name}");
            let other_claims = URL_SAFE_NO_PAD.encode(API_CLAIMS.replace("shop", "shoq"));
            let parts: Vec<_> = token.split('.').collect();
            let forged = format!("{}.{other_claims}.{}", parts[0], parts[2]);
            assert_eq!(fixture.api(&forged), Err(TokenError::BadSignature), "{name}");
        }
    }
}

#[test]
fn a_token_with_another_algorithm_than_its_key_is_refused() {
    for of_key in Algorithm::ALL {
        let (_, _, material) = pair(of_key);
        let fixture = desk_with_key(of_key, material);
        for of_token in Algorithm::ALL.into_iter().filter(|other| *other != of_key) {
            let (jwt, private, _) = pair(of_token);
            let name = of_token.as_str();
            let with_kid = signed(&named(name), API_CLAIMS, jwt, &private);
            assert_eq!(fixture.api(&with_kid), Err(TokenError::AlgorithmMismatch), "{name}");
            let without = signed(&format!(r#"{{"alg":"{name}"}}"#), API_CLAIMS, jwt, &private);
            assert_eq!(fixture.api(&without), Err(TokenError::UnknownKey), "{name}");
        }
    }
}

/// The classic attack: a public RSA key as the secret of an HMAC.
#[test]
fn a_public_key_is_never_used_as_a_secret() {
    let fixture = desk_with_key(Algorithm::RS256, public(RSA_PUBLIC));
    let der = RSA_PUBLIC.trim();
    for secret in [RSA_PUBLIC, der] {
        let key = EncodingKey::from_secret(secret.as_bytes()).unwrap();
        let with_kid = signed(&named("HS256"), API_CLAIMS, JwtAlgorithm::HS256, &key);
        assert_eq!(fixture.api(&with_kid), Err(TokenError::AlgorithmMismatch));
        let without = signed(r#"{"alg":"HS256"}"#, API_CLAIMS, JwtAlgorithm::HS256, &key);
        assert_eq!(fixture.api(&without), Err(TokenError::UnknownKey));
        let lying = signed(&named("RS256"), API_CLAIMS, JwtAlgorithm::HS256, &key);
        assert_eq!(fixture.api(&lying), Err(TokenError::BadSignature));
    }
}

#[test]
fn the_algorithm_none_and_unknown_algorithms_are_refused() {
    let fixture = Fixture::new(demo());
    for name in ["none", "None", "NONE", "nOnE", "hs256", "PS256", "HS1", ""] {
        let header = format!(r#"{{"alg":"{name}","kid":"api"}}"#);
        assert_eq!(fixture.api(&with_secret(&header, API_CLAIMS)), Err(TokenError::AlgorithmMismatch), "{name}");
        let unsigned = format!("{}.{}.", URL_SAFE_NO_PAD.encode(&header), URL_SAFE_NO_PAD.encode(API_CLAIMS));
        assert_eq!(fixture.api(&unsigned), Err(TokenError::AlgorithmMismatch), "{name}");
    }
}

#[test]
fn a_token_without_a_signature_is_refused_for_every_algorithm() {
    for algorithm in Algorithm::ALL {
        let fixture = desk_with_key(algorithm, pair(algorithm).2);
        let header = URL_SAFE_NO_PAD.encode(named(algorithm.as_str()));
        let unsigned = format!("{header}.{}.", URL_SAFE_NO_PAD.encode(API_CLAIMS));
        assert_eq!(fixture.api(&unsigned), Err(TokenError::BadSignature), "{}", algorithm.as_str());
    }
}

#[test]
fn a_key_that_its_algorithm_forbids_verifies_nothing() {
    let (jwt, private, _) = pair(Algorithm::RS256);
    let rsa_token = signed(&named("RS256"), API_CLAIMS, jwt, &private);
    for (algorithm, material, token) in [
        (Algorithm::HS256, KeyMaterial::Secret(SECRET[..31].to_vec()), None),
        (Algorithm::HS384, KeyMaterial::Secret(SECRET[..47].to_vec()), None),
        (Algorithm::HS512, KeyMaterial::Secret(SECRET[..63].to_vec()), None),
        (Algorithm::HS256, KeyMaterial::Secret(Vec::new()), None),
        (Algorithm::HS256, public(RSA_PUBLIC), None),
        (Algorithm::RS256, KeyMaterial::Secret(SECRET.to_vec()), Some(&rsa_token)),
        (Algorithm::RS256, public(SHORT_RSA_PUBLIC), Some(&rsa_token)),
        (Algorithm::RS256, public(RSA_PRIVATE), Some(&rsa_token)),
        (Algorithm::RS256, public(ES256_PUBLIC), Some(&rsa_token)),
        (Algorithm::RS256, public("not a PEM"), Some(&rsa_token)),
        (Algorithm::ES256, public(ES384_PUBLIC), None),
        (Algorithm::ES256, public(ES256_PRIVATE), None),
        (Algorithm::ES384, public(ES256_PUBLIC), None),
        (Algorithm::EdDSA, public(ED25519_PRIVATE), None),
        (Algorithm::EdDSA, public(RSA_PUBLIC), None),
    ] {
        let note = format!("{algorithm:?}");
        let fixture = desk_with_key(algorithm, material);
        let own = token.cloned().unwrap_or_else(|| {
            let (jwt, private, _) = pair(algorithm);
            signed(&named(algorithm.as_str()), API_CLAIMS, jwt, &private)
        });
        assert_eq!(fixture.api(&own), Err(TokenError::UnknownKey), "{note}");
    }
}
