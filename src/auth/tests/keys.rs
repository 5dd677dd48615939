//! The key that verifies a token.

use super::*;

const OTHER_SECRET: &[u8] = b"another secret of at least 32 bytes";

#[test]
fn a_token_with_kid_is_only_checked_with_that_key() {
    let mut project = demo();
    project.keys.insert(0, secret_key("old", KeyUse::Api, OTHER_SECRET));
    let fixture = Fixture::new(project);
    assert!(fixture.api(&api_token(API_CLAIMS)).is_ok());
    let with_kid = |kid: &str| with_secret(&format!(r#"{{"alg":"HS256","kid":{kid}}}"#), API_CLAIMS);
    assert_eq!(fixture.api(&with_kid(r#""old""#)), Err(TokenError::BadSignature));
    for unknown in [r#""gone""#, r#""""#, r#""API""#, r#""api ""#] {
        assert_eq!(fixture.api(&with_kid(unknown)), Err(TokenError::UnknownKey), "{unknown}");
    }
    for broken in ["null", "1", r#"["api"]"#] {
        assert_eq!(fixture.api(&with_kid(broken)), Err(TokenError::Malformed), "{broken}");
    }
}

#[test]
fn a_token_without_kid_is_checked_with_each_active_key_of_its_use() {
    let mut project = demo();
    project.keys.insert(0, secret_key("old", KeyUse::Api, OTHER_SECRET));
    let fixture = Fixture::new(project);
    assert!(fixture.api(&with_secret(r#"{"alg":"HS256"}"#, API_CLAIMS)).is_ok());
    let stranger = EncodingKey::from_secret(b"a stranger's secret of some bytes").unwrap();
    let foreign = signed(r#"{"alg":"HS256"}"#, API_CLAIMS, JwtAlgorithm::HS256, &stranger);
    assert_eq!(fixture.api(&foreign), Err(TokenError::BadSignature));
}

#[test]
fn a_key_of_one_use_does_not_verify_tokens_of_the_other() {
    let mut project = demo();
    project.keys[1] = secret_key("user", KeyUse::User, OTHER_SECRET);
    let fixture = Fixture::new(project);
    let other = EncodingKey::from_secret(OTHER_SECRET).unwrap();
    for header in [r#"{"alg":"HS256","kid":"user"}"#, r#"{"alg":"HS256"}"#] {
        let token = signed(header, API_CLAIMS, JwtAlgorithm::HS256, &other);
        assert!(fixture.api(&token).is_err(), "{header}");
        assert!(fixture.user(&token).is_ok(), "{header}");
    }
    assert_eq!(fixture.user(&api_token(USER_CLAIMS)), Err(TokenError::UnknownKey));
}

#[test]
fn an_inactive_key_verifies_nothing() {
    let mut project = demo();
    project.keys[0].active = false;
    let fixture = Fixture::new(project);
    assert_eq!(fixture.api(&api_token(API_CLAIMS)), Err(TokenError::UnknownKey));
    assert_eq!(fixture.api(&with_secret(r#"{"alg":"HS256"}"#, API_CLAIMS)), Err(TokenError::UnknownKey));
}

#[test]
fn only_the_first_sixteen_active_keys_of_a_use_are_used() {
    let mut project = Project::new(ProjectName::demo());
    for number in 0..17 {
        project.keys.push(secret_key(&format!("k{number}"), KeyUse::Api, &SECRET));
    }
    project.keys[3].active = false;
    project.keys.push(secret_key("k17", KeyUse::Api, &SECRET));
    let fixture = Fixture::new(project);
    let with_kid = |number| with_secret(&format!(r#"{{"alg":"HS256","kid":"k{number}"}}"#), API_CLAIMS);
    assert!(fixture.api(&with_kid(16)).is_ok());
    assert_eq!(fixture.api(&with_kid(17)), Err(TokenError::UnknownKey));
}

#[test]
fn a_user_token_of_another_project_is_a_mismatch_with_any_signature() {
    let fixture = Fixture::new(demo());
    let mut other = demo();
    other.name = ProjectName::parse("other").unwrap();
    fixture.catalogue.put(other);
    let token = user_token(r#"{"project":"other","sub":"u","exp":1790000100}"#);
    assert_eq!(fixture.user(&token), Err(TokenError::ProjectMismatch));
    assert!(fixture.api(&api_token(r#"{"project":"other","sub":"shop"}"#)).is_ok());
}

#[test]
fn a_token_that_names_another_project_is_checked_with_the_keys_of_that_project() {
    let fixture = Fixture::new(demo());
    let mut other = Project::new(ProjectName::parse("other").unwrap());
    other.keys = vec![secret_key("api", KeyUse::Api, OTHER_SECRET)];
    fixture.catalogue.put(other);
    let forged = api_token(r#"{"project":"other","sub":"shop"}"#);
    assert_eq!(fixture.api(&forged), Err(TokenError::BadSignature));
}
