//! Which key may verify which token.

use super::*;

const OTHER_SECRET: &[u8] = b"another secret of at least 32 bytes";

#[test]
fn kid_picks_the_key_and_nothing_else_is_tried() {
    let mut project = demo();
    project.keys.insert(0, secret_key("old", KeyUse::Api, OTHER_SECRET));
    let desk = Desk::new(project);
    assert!(desk.api(&api_token(API_CLAIMS)).is_ok());
    let with_kid = |kid: &str| with_secret(&format!(r#"{{"alg":"HS256","kid":{kid}}}"#), API_CLAIMS);
    assert_eq!(desk.api(&with_kid(r#""old""#)), Err(TokenError::BadSignature));
    for unknown in [r#""gone""#, r#""""#, r#""API""#, r#""api ""#] {
        assert_eq!(desk.api(&with_kid(unknown)), Err(TokenError::UnknownKey), "{unknown}");
    }
    for broken in ["null", "1", r#"["api"]"#] {
        assert_eq!(desk.api(&with_kid(broken)), Err(TokenError::Malformed), "{broken}");
    }
}

#[test]
fn without_kid_each_active_key_of_the_use_is_tried() {
    let mut project = demo();
    project.keys.insert(0, secret_key("old", KeyUse::Api, OTHER_SECRET));
    let desk = Desk::new(project);
    assert!(desk.api(&with_secret(r#"{"alg":"HS256"}"#, API_CLAIMS)).is_ok());
    let stranger = EncodingKey::from_secret(b"a stranger's secret of some bytes").unwrap();
    let foreign = signed(r#"{"alg":"HS256"}"#, API_CLAIMS, JwtAlgorithm::HS256, &stranger);
    assert_eq!(desk.api(&foreign), Err(TokenError::BadSignature));
}

#[test]
fn key_of_one_use_does_not_verify_the_other_token() {
    let mut project = demo();
    project.keys[1] = secret_key("user", KeyUse::User, OTHER_SECRET);
    let desk = Desk::new(project);
    let other = EncodingKey::from_secret(OTHER_SECRET).unwrap();
    for header in [r#"{"alg":"HS256","kid":"user"}"#, r#"{"alg":"HS256"}"#] {
        let token = signed(header, API_CLAIMS, JwtAlgorithm::HS256, &other);
        assert!(desk.api(&token).is_err(), "{header}");
        assert!(desk.user(&token).is_ok(), "{header}");
    }
    assert_eq!(desk.user(&api_token(USER_CLAIMS)), Err(TokenError::UnknownKey));
}

#[test]
fn inactive_key_verifies_nothing() {
    let mut project = demo();
    project.keys[0].active = false;
    let desk = Desk::new(project);
    assert_eq!(desk.api(&api_token(API_CLAIMS)), Err(TokenError::UnknownKey));
    assert_eq!(desk.api(&with_secret(r#"{"alg":"HS256"}"#, API_CLAIMS)), Err(TokenError::UnknownKey));
}

#[test]
fn only_the_first_sixteen_active_keys_of_a_use_are_used() {
    let mut project = Project::new(ProjectName::demo());
    for number in 0..17 {
        project.keys.push(secret_key(&format!("k{number}"), KeyUse::Api, &SECRET));
    }
    project.keys[3].active = false;
    project.keys.push(secret_key("k17", KeyUse::Api, &SECRET));
    let desk = Desk::new(project);
    let with_kid = |number| with_secret(&format!(r#"{{"alg":"HS256","kid":"k{number}"}}"#), API_CLAIMS);
    assert!(desk.api(&with_kid(16)).is_ok());
    assert_eq!(desk.api(&with_kid(17)), Err(TokenError::UnknownKey));
}

#[test]
fn user_token_of_another_project_is_a_mismatch_whoever_signed_it() {
    let desk = Desk::new(demo());
    let mut other = demo();
    other.name = ProjectName::parse("other").unwrap();
    desk.catalogue.put(other);
    let token = user_token(r#"{"project":"other","sub":"u","exp":1790000100}"#);
    assert_eq!(desk.user(&token), Err(TokenError::ProjectMismatch));
    assert!(desk.api(&api_token(r#"{"project":"other","sub":"shop"}"#)).is_ok());
}

#[test]
fn claim_of_another_project_does_not_borrow_its_trust() {
    let desk = Desk::new(demo());
    let mut other = Project::new(ProjectName::parse("other").unwrap());
    other.keys = vec![secret_key("api", KeyUse::Api, OTHER_SECRET)];
    desk.catalogue.put(other);
    let forged = api_token(r#"{"project":"other","sub":"shop"}"#);
    assert_eq!(desk.api(&forged), Err(TokenError::BadSignature));
}
