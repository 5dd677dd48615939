//! The text of a token: strict compact form, bounded length, one text per token.

use super::*;

fn assert_malformed(fixture: &Fixture, text: &str) {
    assert_eq!(fixture.api(text), Err(TokenError::Malformed), "{text}");
    assert_eq!(fixture.user(text), Err(TokenError::Malformed), "{text}");
}

#[test]
fn an_empty_text_is_a_missing_token() {
    let fixture = Fixture::new(demo());
    assert_eq!(fixture.api(""), Err(TokenError::Missing(KeyUse::Api)));
    assert_eq!(fixture.user(""), Err(TokenError::Missing(KeyUse::User)));
}

#[test]
fn a_token_has_exactly_three_parts() {
    let fixture = Fixture::new(demo());
    let token = api_token(API_CLAIMS);
    for text in ["a", ".", "..", "...", "a.b.c", &token[..token.rfind('.').unwrap()]] {
        assert_malformed(&fixture, text);
    }
    for text in [format!("{token}."), format!(".{token}"), format!("{token}.e30"), token.replacen('.', "..", 1)] {
        assert_malformed(&fixture, &text);
    }
}

#[test]
fn base64url_is_strict() {
    let fixture = Fixture::new(demo());
    let token = api_token(API_CLAIMS);
    for text in [
        format!("{token}="),
        format!(" {token}"),
        format!("{token}\n"),
        format!("Bearer {token}"),
        token.replacen('.', "=.", 1),
    ] {
        assert_malformed(&fixture, &text);
    }
    // A signature of 32 bytes leaves two bits of the last character unused.
    let last = token.chars().last().unwrap();
    for other in
        ('A'..='Z').chain('a'..='z').chain('0'..='9').chain(['-', '_', '+', '/']).filter(|other| *other != last)
    {
        let text = format!("{}{other}", &token[..token.len() - 1]);
        assert!(fixture.api(&text).is_err(), "{other}");
    }
}

#[test]
fn a_header_is_an_object_without_critical_extensions() {
    let fixture = Fixture::new(demo());
    for header in [
        "",
        "null",
        "[]",
        r#"["HS256","api"]"#,
        r#""HS256""#,
        "{}",
        r#"{"alg":null}"#,
        r#"{"alg":["HS256"]}"#,
        r#"{"kid":"api"}"#,
        r#"{"alg":"HS256","kid":"api"} {}"#,
        r#"{"alg":"HS256","alg":"HS256"}"#,
        r#"{"alg":"HS256","kid":"api","kid":"api"}"#,
        r#"{"alg":"HS256","crit":["b64"],"b64":true}"#,
        r#"{"alg":"HS256","crit":[]}"#,
        r#"{"alg":"HS256","crit":null}"#,
    ] {
        assert_malformed(&fixture, &with_secret(header, API_CLAIMS));
    }
    let unread = r#"{"alg":"HS256","typ":7,"jwk":{"k":"AAAA"},"jku":"http://127.0.0.1/","x5c":[[[]]]}"#;
    assert!(fixture.api(&with_secret(unread, API_CLAIMS)).is_ok());
}

#[test]
fn claims_are_an_object_without_duplicates_of_known_claims() {
    let fixture = Fixture::new(demo());
    for claims in [
        "",
        "null",
        "[]",
        r#"["demo","shop"]"#,
        r#"{"project":"demo""#,
        r#"{"project":"demo","sub":"shop"}x"#,
        r#"{"project":"demo","sub":"a","sub":"b"}"#,
        r#"{"project":"demo","project":"other","sub":"a"}"#,
        r#"{"project":"demo","sub":"a","exp":NaN}"#,
        r#"{"project":"demo","sub":"a","exp":01}"#,
    ] {
        assert_malformed(&fixture, &api_token(claims));
    }
    let not_utf8 = [br#"{"project":"demo","sub":""#.as_slice(), &[0xff], br#""}"#].concat();
    let message = format!("{}.{}", URL_SAFE_NO_PAD.encode(r#"{"alg":"HS256"}"#), URL_SAFE_NO_PAD.encode(not_utf8));
    assert_malformed(&fixture, &format!("{message}.AAAA"));
}

#[test]
fn the_length_is_bounded_to_the_byte() {
    let fixture = Fixture::new(demo());
    let padded = |bytes: usize| {
        let claims = format!(r#"{{"project":"demo","sub":"shop","pad":"{}"}}"#, "x".repeat(bytes));
        api_token(&claims)
    };
    let longest = (5_900..6_200).map(padded).rfind(|token| token.len() <= MAX_TOKEN_BYTES).unwrap();
    assert!(longest.len() >= MAX_TOKEN_BYTES - 1);
    assert!(fixture.api(&longest).is_ok());
    let longer = (5_900..6_200).map(padded).find(|token| token.len() > MAX_TOKEN_BYTES).unwrap();
    assert_malformed(&fixture, &longer);
    assert_malformed(&fixture, &".".repeat(100_000));
    let header = format!(r#"{{"alg":"HS256","kid":"api","x":"{}"}}"#, "x".repeat(2_000));
    assert_malformed(&fixture, &with_secret(&header, API_CLAIMS));
}

#[test]
fn no_error_repeats_any_part_of_the_token() {
    let fixture = Fixture::new(demo());
    for text in [
        api_token(r#"{"project":"demo","sub":"Sesame","exp":1}"#),
        api_token(r#"{"project":"Sesame"}"#),
        api_token(r#"{"project":"sesame-1","sub":"x"}"#),
        with_secret(r#"{"alg":"Sesame"}"#, "{}"),
        with_secret(r#"{"alg":"HS256","kid":"Sesame"}"#, r#"{"project":"demo","sub":"Sesame"}"#),
        "Sesame".to_owned(),
    ] {
        let error = fixture.api(&text).unwrap_err();
        let text = format!("{error} {error:?} {}", error.message(KeyUse::Api)).to_lowercase();
        assert!(!text.contains("sesame"), "{text}");
    }
}
