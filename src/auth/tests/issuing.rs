//! Tokens signed here verify here.

use super::*;

/// A fixture with the machine's clock, because signing uses it too.
fn verify_now(project: &Project, api: Option<&str>, user: Option<&str>) -> (Option<Arc<ApiToken>>, Option<UserToken>) {
    let catalogue = Arc::new(MemoryCatalogue::default());
    catalogue.put(project.clone());
    let authenticator = Authenticator::new(catalogue, LEEWAY, CACHE_SECONDS);
    (
        api.map(|text| block_on(authenticator.verify_api(text)).unwrap()),
        user.map(|text| block_on(authenticator.verify_user(text, &project.name)).unwrap()),
    )
}

fn claims_of(token: &str) -> String {
    let claims = token.split('.').nth(1).unwrap();
    String::from_utf8(URL_SAFE_NO_PAD.decode(claims).unwrap()).unwrap()
}

fn claim(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

const HOUR: Duration = Duration::from_secs(3_600);

#[test]
fn issued_tokens_verify_with_their_scopes_subject_and_expiry() {
    let mut project = demo();
    project.audience = Some("carillon".to_owned());
    project.issuer = Some("here".to_owned());
    let scopes: Scopes = [Scope::Connect, Scope::Emit].into_iter().collect();
    let endless = issue_api(&project, "shop", scopes, None).unwrap();
    let user = issue_user(&project, "u42", HOUR, &[claim("role", "clerk")]).unwrap();
    let before = SystemClock.now().as_secs();
    let (api, person) = verify_now(&project, Some(&endless), Some(&user));
    let (api, person) = (api.unwrap(), person.unwrap());
    assert_eq!((&*api.application, api.scopes, api.expires_at), ("shop", scopes, None));
    assert_eq!(&*person.subject, "u42");
    assert!(person.expires_at.abs_diff(before + 3_600) <= 60);
    let ending = issue_api(&project, "shop", scopes, Some(HOUR)).unwrap();
    let (api, _) = verify_now(&project, Some(&ending), None);
    assert!(api.unwrap().expires_at.is_some());
}

#[test]
fn an_issued_token_names_the_first_active_secret_key_of_its_use() {
    let mut project = demo();
    project.keys[0].active = false;
    let mut public = secret_key("public", KeyUse::Api, &[]);
    public.algorithm = Algorithm::EdDSA;
    public.material = KeyMaterial::PublicPem(String::new());
    let mut long = secret_key("long", KeyUse::Api, &SECRET);
    long.algorithm = Algorithm::HS512;
    project.keys.extend([public, long, secret_key("late", KeyUse::Api, &SECRET)]);
    let token = issue_api(&project, "shop", Scopes::default(), None).unwrap();
    let header = String::from_utf8(URL_SAFE_NO_PAD.decode(token.split('.').next().unwrap()).unwrap()).unwrap();
    assert!(header.contains(r#""alg":"HS512""#) && header.contains(r#""kid":"long""#), "{header}");
    verify_now(&project, Some(&token), None);
    project.keys.retain(|key| key.key_use == KeyUse::User);
    let refusal = issue_api(&project, "shop", Scopes::default(), None).unwrap_err();
    assert_eq!(refusal.to_string(), "the project demo has no active secret key for api tokens");
}

#[test]
fn json_claims_keep_their_digits_and_others_are_strings() {
    let claims = [
        claim("number", "9007199254740993123"),
        claim("price", "1.10"),
        claim("list", r#"["a", {"b":null}]"#),
        claim("word", "clerk"),
        claim("quoted", r#""clerk""#),
        claim("empty", ""),
        claim("half", r#"{"a":"#),
    ];
    let token = issue_user(&demo(), "u", HOUR, &claims).unwrap();
    let text = claims_of(&token);
    for part in [
        r#""number":9007199254740993123"#,
        r#""price":1.10"#,
        r#""list":["a", {"b":null}]"#,
        r#""word":"clerk""#,
        r#""quoted":"clerk""#,
        r#""empty":"""#,
        r#""half":"{\"a\":""#,
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    verify_now(&demo(), None, Some(&token));
}

#[test]
fn reserved_and_duplicate_claims_are_refused_by_name() {
    let mut project = demo();
    for name in ["project", "sub", "exp", "nbf"] {
        let refusal = issue_user(&project, "u", HOUR, &[claim(name, "1")]).unwrap_err().to_string();
        assert!(refusal.contains(&format!("the claim {name} ")), "{refusal}");
    }
    let twice = [claim("role", "a"), claim("role", "b")];
    assert!(matches!(issue_user(&project, "u", HOUR, &twice), Err(IssueError::ClaimTaken(name)) if name == "role"));
    assert!(issue_user(&project, "u", HOUR, &[claim("aud", "mine")]).is_ok());
    project.audience = Some("carillon".to_owned());
    assert!(matches!(issue_user(&project, "u", HOUR, &[claim("aud", "mine")]), Err(IssueError::ClaimTaken(_))));
}

#[test]
fn a_token_that_would_not_verify_is_not_signed() {
    let project = demo();
    for subject in ["", &"x".repeat(257)] {
        assert!(matches!(issue_user(&project, subject, HOUR, &[]), Err(IssueError::Subject)));
        assert!(matches!(issue_api(&project, subject, Scopes::default(), None), Err(IssueError::Subject)));
    }
    assert!(matches!(issue_user(&project, "u", Duration::MAX, &[]), Err(IssueError::TimeToLive)));
    assert!(matches!(
        issue_user(&project, "u", Duration::from_secs(253_402_300_799), &[]),
        Err(IssueError::TimeToLive)
    ));
    let long = [claim("pad", &"x".repeat(8_192))];
    assert!(matches!(issue_user(&project, "u", HOUR, &long), Err(IssueError::TooLong)));
}
