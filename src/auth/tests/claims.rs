//! Each claim has one type and one meaning. Any other value is refused with the name of the claim.

use super::*;

/// The claims of a valid API token, with some of them replaced or, with an empty text, removed.
fn api_with(changes: &[(&str, &str)]) -> String {
    api_token(&changed(&[("project", r#""demo""#), ("sub", r#""shop""#)], changes))
}

fn user_with(changes: &[(&str, &str)]) -> String {
    user_token(&changed(&[("project", r#""demo""#), ("sub", r#""u42""#), ("exp", "1790000100")], changes))
}

fn changed(claims: &[(&str, &str)], changes: &[(&str, &str)]) -> String {
    let unchanged = claims.iter().filter(|(name, _)| changes.iter().all(|(other, _)| other != name));
    let members: Vec<_> = unchanged
        .chain(changes)
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| format!("\"{name}\":{value}"))
        .collect();
    format!("{{{}}}", members.join(","))
}

fn assert_refused<T: std::fmt::Debug>(result: Result<T, TokenError>, claim: &str, note: &str) {
    match result {
        Err(TokenError::Claims(text)) => assert!(text.contains(claim), "{note}: {text}"),
        other => panic!("{note}: {other:?}"),
    }
}

#[test]
fn the_claim_project_must_name_an_existing_project() {
    let fixture = Fixture::new(demo());
    for bad in ["", "null", "1", r#""""#, r#""Demo""#, r#""../demo""#, r#"["demo"]"#, r#"{"a":"demo"}"#] {
        assert_refused(fixture.api(&api_with(&[("project", bad)])), "project", bad);
        assert_refused(fixture.user(&user_with(&[("project", bad)])), "project", bad);
    }
    assert_eq!(fixture.api(&api_with(&[("project", r#""nobody""#)])), Err(TokenError::UnknownProject));
    assert!(fixture.api(&api_with(&[("project", r#""\u0064emo""#)])).is_ok());
}

#[test]
fn the_claim_sub_is_a_string_of_1_to_256_bytes() {
    let fixture = Fixture::new(demo());
    let (longest, too_long) = (format!("\"{}\"", "x".repeat(256)), format!("\"{}\"", "x".repeat(257)));
    for bad in ["", "null", "42", r#""""#, r#"["u"]"#, r#""\ud800""#, &too_long] {
        assert_refused(fixture.api(&api_with(&[("sub", bad)])), "sub", bad);
        assert_refused(fixture.user(&user_with(&[("sub", bad)])), "sub", bad);
    }
    for good in [r#""u""#, r#""é\n\u0000😀""#, &longest] {
        assert!(fixture.api(&api_with(&[("sub", good)])).is_ok(), "{good}");
        assert!(fixture.user(&user_with(&[("sub", good)])).is_ok(), "{good}");
    }
}

#[test]
fn unknown_scopes_are_ignored_and_other_types_refused() {
    let fixture = Fixture::new(demo());
    for bad in [r#""connect emit""#, r#""emit""#, "null", "7", r#"["emit",null]"#, r#"[["emit"]]"#, r#"{"emit":true}"#]
    {
        assert_refused(fixture.api(&api_with(&[("scope", bad)])), "scope", bad);
    }
    let allowed = |scope: &str| fixture.api(&api_with(&[("scope", scope)])).unwrap();
    assert_eq!(allowed(r#"["emit","read:orders","Admin"]"#).scopes, [Scope::Emit].into_iter().collect());
    for nothing in ["[]", ""] {
        assert_eq!(allowed(nothing).scopes, Scopes::default());
        assert_eq!(allowed(nothing).require(Scope::Connect), Err(TokenError::Scope(Scope::Connect)));
    }
    assert_eq!(allowed(r#"["connect"]"#).require(Scope::Connect), Ok(()));
}

#[test]
fn a_date_that_is_not_a_number_of_seconds_is_refused_by_name() {
    let fixture = Fixture::new(demo());
    for bad in [
        "null",
        r#""1790000100""#,
        "true",
        "[]",
        "-1",
        "1e400",
        "-1e400",
        "1790000100000",
        "253402300800",
        "99999999999999999999999",
    ] {
        for claim in ["exp", "nbf"] {
            assert_refused(fixture.api(&api_with(&[(claim, bad)])), claim, bad);
            assert_refused(fixture.user(&user_with(&[(claim, bad)])), claim, bad);
        }
    }
}

#[test]
fn exp_and_nbf_are_checked_with_exactly_the_leeway() {
    let fixture = Fixture::new(demo());
    for (claim, date, expected) in [
        ("exp", "1789999995", Err(TokenError::Expired)),
        ("exp", "1789999995.001", Ok(())),
        ("exp", "1.789999996e9", Ok(())),
        ("exp", "0", Err(TokenError::Expired)),
        ("exp", "253402300799", Ok(())),
        ("nbf", "1790000005", Ok(())),
        ("nbf", "1790000005.001", Err(TokenError::NotYetValid)),
        ("nbf", "0.5", Ok(())),
    ] {
        assert_eq!(fixture.api(&api_with(&[(claim, date)])).map(|_| ()), expected, "{claim} {date}");
        assert_eq!(fixture.user(&user_with(&[(claim, date)])).map(|_| ()), expected, "{claim} {date}");
    }
}

#[test]
fn exp_is_optional_in_api_tokens_and_required_in_user_tokens() {
    let fixture = Fixture::new(demo());
    assert_eq!(fixture.api(&api_with(&[])).unwrap().expires_at, None);
    assert_eq!(fixture.api(&api_with(&[("exp", "1790000000.25")])).unwrap().expires_at, Some(1_790_000_001));
    assert_refused(fixture.user(&user_with(&[("exp", "")])), "exp", "left out");
}

#[test]
fn aud_and_iss_are_checked_if_the_project_sets_them() {
    let mut project = demo();
    project.audience = Some("carillon".to_owned());
    project.issuer = Some("https://issuer.example".to_owned());
    let fixture = Fixture::new(project);
    let iss = ("iss", r#""https://issuer.example""#);
    let aud = ("aud", r#""carillon""#);
    for good in [r#""carillon""#, r#"["x","carillon"]"#, r#"["\u0063arillon"]"#] {
        assert!(fixture.api(&api_with(&[iss, ("aud", good)])).is_ok(), "{good}");
        assert!(fixture.user(&user_with(&[iss, ("aud", good)])).is_ok(), "{good}");
    }
    let deep = format!("{}{}", "[".repeat(2_000), "]".repeat(2_000));
    for bad in ["", "null", r#""carillon2""#, "[]", r#"["x"]"#, r#"["carillon",1]"#, "1", r#"{"carillon":1}"#, &deep] {
        let note = &bad[..bad.len().min(40)];
        assert_refused(fixture.api(&api_with(&[iss, ("aud", bad)])), "aud", note);
        assert_refused(fixture.user(&user_with(&[iss, ("aud", bad)])), "aud", note);
    }
    for bad in ["", "null", r#""https://issuer.example/""#, r#"["https://issuer.example"]"#] {
        assert_refused(fixture.api(&api_with(&[aud, ("iss", bad)])), "iss", bad);
    }
}

#[test]
fn other_claims_are_ignored() {
    let fixture = Fixture::new(demo());
    let deep = format!("{}{}", "[".repeat(2_000), "]".repeat(2_000));
    for (claim, value) in
        [("aud", "7"), ("iss", "null"), ("iat", r#""yesterday""#), ("iat", "1e999"), ("jti", "{}"), ("roles", &deep)]
    {
        assert!(fixture.api(&api_with(&[(claim, value)])).is_ok(), "{claim}");
        assert!(fixture.user(&user_with(&[(claim, value)])).is_ok(), "{claim}");
    }
}

#[test]
fn the_signature_is_checked_before_the_claims() {
    let fixture = Fixture::new(demo());
    for claims in [r#"{"project":"demo","exp":1}"#, r#"{"project":"demo","sub":7,"scope":"x"}"#] {
        let token = api_token(claims);
        let forged = format!("{}{}", &token[..token.len() - 2], "AA");
        assert_eq!(fixture.api(&forged), Err(TokenError::BadSignature), "{claims}");
    }
}
