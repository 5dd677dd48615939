//! Arbitrary input never causes a panic, and only a signed token is valid.

use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::sample::Index;

use super::*;

/// Any JSON with a few levels.
fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        any::<bool>().prop_map(|value| value.to_string()),
        any::<i64>().prop_map(|value| value.to_string()),
        any::<f64>()
            .prop_filter("JSON has no infinity", |value| value.is_finite())
            .prop_map(|value| format!("{value:e}")),
        (any::<i32>(), any::<i16>()).prop_map(|(digits, exponent)| format!("{digits}e{exponent}")),
        any::<String>().prop_map(|text| serde_json::to_string(&text).unwrap()),
        prop_oneof![Just(r#""demo""#), Just(r#""emit""#), Just("1790000100")].prop_map(str::to_owned),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(|values| format!("[{}]", values.join(","))),
            prop::collection::vec((claim_name(), inner), 0..6).prop_map(|members| object(&members)),
        ]
    })
}

fn claim_name() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec!["project", "sub", "scope", "exp", "nbf", "aud", "iss", "alg", "kid", "crit"])
            .prop_map(str::to_owned),
        "[a-z]{0,3}",
    ]
}

fn object(members: &[(String, String)]) -> String {
    let members: Vec<_> = members.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}", members.join(","))
}

/// One authenticator for all cases, as a node has one for all callers.
static FIXTURE: LazyLock<Fixture> = LazyLock::new(|| Fixture::new(demo()));
/// A fixture whose project sets an audience.
static STRICT_FIXTURE: LazyLock<Fixture> = LazyLock::new(|| {
    let mut project = demo();
    project.audience = Some("carillon".to_owned());
    Fixture::new(project)
});

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(text in any::<String>(), ascii in "[A-Za-z0-9_.=-]{0,300}") {
        for text in [text, ascii] {
            prop_assert!(FIXTURE.api(&text).is_err());
            prop_assert!(FIXTURE.user(&text).is_err());
        }
    }

    #[test]
    fn no_header_makes_the_parser_panic(header in json()) {
        let token = with_secret(&header, API_CLAIMS);
        let _ = (FIXTURE.api(&token), FIXTURE.user(&token));
    }

    #[test]
    fn no_signed_claims_make_the_parser_panic(members in prop::collection::vec((claim_name(), json()), 0..8), sub in any::<String>()) {
        let mut members = members;
        members.push(("project".to_owned(), r#""demo""#.to_owned()));
        members.push(("sub".to_owned(), serde_json::to_string(&sub).unwrap()));
        for claims in [object(&members), object(&members[members.len() - 2..])] {
            for fixture in [&*FIXTURE, &*STRICT_FIXTURE] {
                if let Ok(token) = fixture.api(&api_token(&claims)) {
                    prop_assert_eq!(&*token.application, &*sub);
                }
                if let Ok(token) = fixture.user(&user_token(&claims)) {
                    prop_assert!(token.expires_at >= NOW - LEEWAY && token.expires_at <= 253_402_300_799);
                }
            }
        }
    }

    #[test]
    fn any_number_in_exp_is_checked_by_its_value(digits in "-?(0|[1-9][0-9]{0,25})(\\.[0-9]{1,25})?([eE][+-]?[0-9]{1,4})?") {
        let token = user_token(&format!(r#"{{"project":"demo","sub":"u","exp":{digits}}}"#));
        let value: f64 = digits.parse().unwrap();
        let is_good = value > (NOW - LEEWAY) as f64 && value <= 253_402_300_799.0;
        prop_assert_eq!(FIXTURE.user(&token).is_ok(), is_good, "{}", digits);
    }

    #[test]
    fn only_the_exact_token_verifies(at in any::<Index>(), with in prop_oneof![Just(None), any::<char>().prop_map(Some), "[A-Za-z0-9_.-]".prop_map(|text| text.chars().next())], insert in any::<bool>()) {
        let token = user_token(USER_CLAIMS);
        prop_assert!(FIXTURE.user(&token).is_ok());
        let mut changed: Vec<char> = token.chars().collect();
        let at = at.index(changed.len());
        match with {
            None => { changed.remove(at); }
            Some(other) if insert => changed.insert(at, other),
            Some(other) => changed[at] = other,
        }
        let changed: String = changed.into_iter().collect();
        prop_assert_eq!(FIXTURE.user(&changed).is_ok(), changed == token);
    }

    #[test]
    fn cached_tokens_are_found_by_their_whole_text_only(at in any::<Index>(), other in "[A-Za-z0-9_.-]") {
        let token = api_token(API_CLAIMS);
        prop_assert!(FIXTURE.api(&token).is_ok());
        let at = at.index(token.len());
        let changed = format!("{}{other}{}", &token[..at], &token[at + 1..]);
        prop_assert_eq!(FIXTURE.api(&changed).is_ok(), changed == token);
        prop_assert!(FIXTURE.api(&token).is_ok());
    }
}
