//! Each claim has one meaning; everything else is refused by name.

use super::*;

/// The claims of a good API token with some of them set or (with an empty text) left out.
fn api_with(changes: &[(&str, &str)]) -> String {
    api_token(&changed(&[("project", r#""demo""#), ("sub", r#""shop""#)], changes))
}

fn user_with(changes: &[(&str, &str)]) -> String {
    user_token(&changed(&[("project", r#""demo""#), ("sub", r#""u42""#), ("exp", "1790000100")], changes))
}

fn changed(claims: &[(&str, &str)], changes: &[(&str, &str)]) -> String {
    let kept = claims.iter().filter(|(name, _)| changes.iter().all(|(other, _)| other != name));
    let members: Vec<_> = kept
        .chain(changes)
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| format!("\"{name}\":{value}"))
        .collect();
    format!("{{{}}}", members.join(","))
}

fn assert_complains<T: std::fmt::Debug>(verdict: Result<T, TokenError>, claim: &str, note: &str) {
    match verdict {
        Err(TokenError::Claims(text)) => assert!(text.contains(claim), "{note}: {text}"),
        other => panic!("{note}: {other:?}"),
    }
}

#[test]
fn project_must_be_the_name_of_a_project_that_exists() {
    let desk = Desk::new(demo());
    for bad in ["", "null", "1", r#""""#, r#""Demo""#, r#""../demo""#, r#"["demo"]"#, r#"{"a":"demo"}"#] {
        assert_complains(desk.api(&api_with(&[("project", bad)])), "project", bad);
        assert_complains(desk.user(&user_with(&[("project", bad)])), "project", bad);
    }
    assert_eq!(desk.api(&api_with(&[("project", r#""nobody""#)])), Err(TokenError::UnknownProject));
    assert!(desk.api(&api_with(&[("project", r#""\u0064emo""#)])).is_ok());
}

#[test]
fn sub_is_a_string_of_1_to_256_bytes() {
    let desk = Desk::new(demo());
    let (longest, too_long) = (format!("\"{}\"", "x".repeat(256)), format!("\"{}\"", "x".repeat(257)));
    for bad in ["", "null", "42", r#""""#, r#"["u"]"#, r#""\ud800""#, &too_long] {
        assert_complains(desk.api(&api_with(&[("sub", bad)])), "sub", bad);
        assert_complains(desk.user(&user_with(&[("sub", bad)])), "sub", bad);
    }
    for good in [r#""u""#, r#""é\n\u0000😀""#, &longest] {
        assert!(desk.api(&api_with(&[("sub", good)])).is_ok(), "{good}");
        assert!(desk.user(&user_with(&[("sub", good)])).is_ok(), "{good}");
    }
}

#[test]
fn scope_is_an_array_of_strings_of_which_unknown_ones_are_ignored() {
    let desk = Desk::new(demo());
    for bad in [r#""connect emit""#, r#""emit""#, "null", "7", r#"["emit",null]"#, r#"[["emit"]]"#, r#"{"emit":true}"#]
    {
        assert_complains(desk.api(&api_with(&[("scope", bad)])), "scope", bad);
    }
    let allowed = |scope: &str| desk.api(&api_with(&[("scope", scope)])).unwrap();
    assert_eq!(allowed(r#"["emit","read:orders","Admin"]"#).scopes, [Scope::Emit].into_iter().collect());
    for nothing in ["[]", ""] {
        assert_eq!(allowed(nothing).scopes, Scopes::default());
        assert_eq!(allowed(nothing).require(Scope::Connect), Err(TokenError::Scope(Scope::Connect)));
    }
    assert_eq!(allowed(r#"["connect"]"#).require(Scope::Connect), Ok(()));
}

#[test]
fn dates_that_are_no_numbers_of_seconds_are_refused_by_name() {
    let desk = Desk::new(demo());
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
            assert_complains(desk.api(&api_with(&[(claim, bad)])), claim, bad);
            assert_complains(desk.user(&user_with(&[(claim, bad)])), claim, bad);
        }
    }
}

#[test]
fn exp_and_nbf_are_checked_with_the_leeway_and_no_more() {
    let desk = Desk::new(demo());
    for (claim, date, verdict) in [
        ("exp", "1789999995", Err(TokenError::Expired)),
        ("exp", "1789999995.001", Ok(())),
        ("exp", "1.789999996e9", Ok(())),
        ("exp", "0", Err(TokenError::Expired)),
        ("exp", "253402300799", Ok(())),
        ("nbf", "1790000005", Ok(())),
        ("nbf", "1790000005.001", Err(TokenError::NotYetValid)),
        ("nbf", "0.5", Ok(())),
    ] {
        assert_eq!(desk.api(&api_with(&[(claim, date)])).map(|_| ()), verdict, "{claim} {date}");
        assert_eq!(desk.user(&user_with(&[(claim, date)])).map(|_| ()), verdict, "{claim} {date}");
    }
}

#[test]
fn exp_is_optional_for_applications_and_required_for_persons() {
    let desk = Desk::new(demo());
    assert_eq!(desk.api(&api_with(&[])).unwrap().expires_at, None);
    assert_eq!(desk.api(&api_with(&[("exp", "1790000000.25")])).unwrap().expires_at, Some(1_790_000_001));
    assert_complains(desk.user(&user_with(&[("exp", "")])), "exp", "left out");
}

#[test]
fn aud_and_iss_are_checked_where_the_project_sets_them() {
    let mut project = demo();
    project.audience = Some("carillon".to_owned());
    project.issuer = Some("https://issuer.example".to_owned());
    let desk = Desk::new(project);
    let iss = ("iss", r#""https://issuer.example""#);
    let aud = ("aud", r#""carillon""#);
    for good in [r#""carillon""#, r#"["x","carillon"]"#, r#"["\u0063arillon"]"#] {
        assert!(desk.api(&api_with(&[iss, ("aud", good)])).is_ok(), "{good}");
        assert!(desk.user(&user_with(&[iss, ("aud", good)])).is_ok(), "{good}");
    }
    let deep = format!("{}{}", "[".repeat(2_000), "]".repeat(2_000));
    for bad in ["", "null", r#""carillon2""#, "[]", r#"["x"]"#, r#"["carillon",1]"#, "1", r#"{"carillon":1}"#, &deep] {
        let note = &bad[..bad.len().min(40)];
        assert_complains(desk.api(&api_with(&[iss, ("aud", bad)])), "aud", note);
        assert_complains(desk.user(&user_with(&[iss, ("aud", bad)])), "aud", note);
    }
    for bad in ["", "null", r#""https://issuer.example/""#, r#"["https://issuer.example"]"#] {
        assert_complains(desk.api(&api_with(&[aud, ("iss", bad)])), "iss", bad);
    }
}

#[test]
fn what_the_project_does_not_set_and_what_is_the_applications_own_is_not_looked_at() {
    let desk = Desk::new(demo());
    let deep = format!("{}{}", "[".repeat(2_000), "]".repeat(2_000));
    for (claim, value) in
        [("aud", "7"), ("iss", "null"), ("iat", r#""yesterday""#), ("iat", "1e999"), ("jti", "{}"), ("roles", &deep)]
    {
        assert!(desk.api(&api_with(&[(claim, value)])).is_ok(), "{claim}");
        assert!(desk.user(&user_with(&[(claim, value)])).is_ok(), "{claim}");
    }
}

#[test]
fn signature_is_judged_before_what_the_claims_say() {
    let desk = Desk::new(demo());
    for claims in [r#"{"project":"demo","exp":1}"#, r#"{"project":"demo","sub":7,"scope":"x"}"#] {
        let token = api_token(claims);
        let forged = format!("{}{}", &token[..token.len() - 2], "AA");
        assert_eq!(desk.api(&forged), Err(TokenError::BadSignature), "{claims}");
    }
}
