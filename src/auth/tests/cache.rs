//! How long projects and verified tokens are cached.

use futures::future::join_all;

use super::*;

#[test]
fn a_project_is_read_once_per_cache_period() {
    let fixture = Fixture::new(demo());
    for _ in 0..3 {
        fixture.api(&api_token(API_CLAIMS)).unwrap();
        fixture.user(&user_token(USER_CLAIMS)).unwrap();
        fixture.clock.advance(CACHE_SECONDS * 1_000 / 3 - 1);
    }
    assert_eq!(fixture.catalogue.lookups(), 1);
    fixture.clock.advance(3);
    fixture.api(&api_token(API_CLAIMS)).unwrap();
    assert_eq!(fixture.catalogue.lookups(), 2);
}

#[test]
fn concurrent_callers_share_one_lookup() {
    let fixture = Fixture::new(demo());
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let token = user_token(USER_CLAIMS);
    let demo = ProjectName::demo();
    let results = runtime.block_on(join_all((0..100).map(|_| fixture.authenticator.verify_user(&token, &demo))));
    assert!(results.iter().all(Result::is_ok));
    assert_eq!(fixture.catalogue.lookups(), 1);
}

#[test]
fn callers_that_wait_for_a_lookup_share_its_failure() {
    let fixture = Fixture::new(demo());
    fixture.catalogue.is_down.store(true, Ordering::Relaxed);
    let (token, demo) = (user_token(USER_CLAIMS), ProjectName::demo());
    let results = block_on(join_all((0..100).map(|_| fixture.authenticator.verify_user(&token, &demo))));
    assert!(results.iter().all(|result| *result == Err(TokenError::Unavailable)));
    assert_eq!(fixture.catalogue.lookups(), 1);
}

#[test]
fn a_revoked_key_ends_with_the_cache_period_also_for_cached_tokens() {
    for revoke in [
        (|project| project.keys[0].active = false) as fn(&mut Project),
        |project| drop(project.keys.remove(0)),
        |project| project.keys[0].material = KeyMaterial::Secret(vec![7; 32]),
    ] {
        let fixture = Fixture::new(demo());
        let token = api_token(API_CLAIMS);
        assert!(fixture.api(&token).is_ok());
        let mut project = demo();
        revoke(&mut project);
        fixture.catalogue.put(project);
        fixture.clock.advance(CACHE_SECONDS * 1_000 - 1);
        assert!(fixture.api(&token).is_ok(), "within the age");
        fixture.clock.advance(1);
        assert!(fixture.api(&token).is_err());
        assert!(fixture.api(&token).is_err(), "and stays refused");
    }
}

#[test]
fn a_cached_token_stays_valid_when_the_project_is_unchanged_or_gets_another_key() {
    let fixture = Fixture::new(demo());
    let token = api_token(API_CLAIMS);
    let first = fixture.api(&token).unwrap();
    fixture.clock.advance(CACHE_SECONDS * 1_000);
    assert!(Arc::ptr_eq(&first, &fixture.api(&token).unwrap()), "still the same one");
    let mut project = demo();
    project.keys.push(secret_key("new", KeyUse::Api, &SECRET));
    fixture.catalogue.put(project);
    fixture.clock.advance(CACHE_SECONDS * 1_000);
    let again = fixture.api(&token).unwrap();
    assert!(!Arc::ptr_eq(&first, &again), "verified again");
    assert_eq!(first, again);
}

#[test]
fn a_cached_token_expires_to_the_millisecond() {
    let fixture = Fixture::new(demo());
    let token = api_token(r#"{"project":"demo","sub":"shop","exp":1790000003.5}"#);
    assert!(fixture.api(&token).is_ok());
    fixture.clock.advance(8_499);
    assert!(fixture.api(&token).is_ok());
    fixture.clock.advance(1);
    assert_eq!(fixture.api(&token), Err(TokenError::Expired));
}

#[test]
fn a_removed_project_has_no_cached_tokens() {
    let fixture = Fixture::new(demo());
    let token = api_token(API_CLAIMS);
    assert!(fixture.api(&token).is_ok());
    fixture.catalogue.projects.lock().unwrap().clear();
    fixture.clock.advance(CACHE_SECONDS * 1_000);
    assert_eq!(fixture.api(&token), Err(TokenError::UnknownProject));
}

#[test]
fn an_unknown_project_is_looked_up_again_after_a_while() {
    let fixture = Fixture::new(demo());
    let token = api_token(r#"{"project":"later","sub":"shop"}"#);
    for _ in 0..50 {
        assert_eq!(fixture.api(&token), Err(TokenError::UnknownProject));
    }
    assert_eq!(fixture.catalogue.lookups(), 1);
    let mut later = demo();
    later.name = ProjectName::parse("later").unwrap();
    fixture.catalogue.put(later);
    fixture.clock.advance(2_000);
    assert!(fixture.api(&token).is_ok());
}

#[test]
fn an_unavailable_catalogue_leaves_cached_projects_valid_and_refuses_new_ones() {
    let fixture = Fixture::new(demo());
    let token = user_token(USER_CLAIMS);
    assert!(fixture.user(&token).is_ok());
    fixture.catalogue.is_down.store(true, Ordering::Relaxed);
    fixture.clock.advance(CACHE_SECONDS * 1_000);
    for _ in 0..10 {
        assert!(fixture.user(&token).is_ok());
    }
    assert_eq!(fixture.catalogue.lookups(), 2, "asked again once, not at each token");
    let other = api_token(r#"{"project":"other","sub":"shop"}"#);
    assert_eq!(fixture.api(&other), Err(TokenError::Unavailable));
    assert_eq!(fixture.authenticator.failed_lookups().value(), 2);
    fixture.catalogue.is_down.store(false, Ordering::Relaxed);
    assert_eq!(fixture.api(&other), Err(TokenError::UnknownProject), "a failure is not remembered");
    let mut project = demo();
    project.keys.clear();
    fixture.catalogue.put(project);
    fixture.clock.advance(1_000);
    assert_eq!(fixture.user(&token), Err(TokenError::UnknownKey), "and the refresh comes soon");
}

#[test]
fn while_one_caller_asks_an_unavailable_catalogue_the_others_get_cached_answers() {
    let fixture = Fixture::new(demo());
    let (token, demo) = (user_token(USER_CLAIMS), ProjectName::demo());
    assert!(fixture.user(&token).is_ok());
    fixture.catalogue.is_down.store(true, Ordering::Relaxed);
    fixture.clock.advance(CACHE_SECONDS * 1_000);
    assert!(fixture.user(&token).is_ok(), "the first that asks in vain");
    fixture.clock.advance(1_000);
    block_on(async {
        let mut asking = std::pin::pin!(fixture.authenticator.verify_user(&token, &demo));
        assert!(futures::poll!(asking.as_mut()).is_pending());
        let other = fixture.authenticator.verify_user(&token, &demo).now_or_never();
        assert!(other.is_some_and(|result| result.is_ok()));
        assert!(asking.await.is_ok());
    });
    assert_eq!(fixture.catalogue.lookups(), 3);
}

#[test]
fn a_clock_set_back_does_not_extend_the_cache_period() {
    let fixture = Fixture::new(demo());
    fixture.user(&user_token(USER_CLAIMS)).unwrap();
    fixture.clock.0.store((NOW - 1_000) * 1_000, Ordering::Relaxed);
    fixture.user(&user_token(USER_CLAIMS)).unwrap();
    assert_eq!(fixture.catalogue.lookups(), 2);
}

#[test]
fn unknown_projects_do_not_evict_the_one_in_use() {
    let fixture = Fixture::new(demo());
    let token = user_token(USER_CLAIMS);
    fixture.user(&token).unwrap();
    for number in 0..20_000 {
        let made_up = format!(r#"{{"project":"made-up-{number}","sub":"shop"}}"#);
        assert_eq!(fixture.api(&api_token(&made_up)), Err(TokenError::UnknownProject));
        if number % 16 == 0 {
            fixture.user(&token).unwrap();
        }
    }
    let of_demo = fixture.catalogue.lookups() - 20_000;
    assert!(of_demo <= 10, "{of_demo}");
}

#[test]
fn an_expired_project_is_read_again_at_once_and_refuses_tokens_of_a_revoked_key() {
    let fixture = Fixture::new(demo());
    let token = api_token(API_CLAIMS);
    assert!(fixture.api(&token).is_ok());
    let mut project = demo();
    project.keys[0].active = false;
    fixture.catalogue.put(project);
    fixture.authenticator.expire(Some(&ProjectName::parse("other").unwrap()));
    assert!(fixture.api(&token).is_ok(), "another project's matter");
    fixture.authenticator.expire(Some(&ProjectName::demo()));
    assert_eq!(fixture.api(&token), Err(TokenError::UnknownKey));
    assert_eq!(fixture.catalogue.lookups(), 2);
}

#[test]
fn a_lookup_that_began_before_its_project_was_expired_is_not_stored() {
    let fixture = Fixture::new(demo());
    let (token, demo_name) = (user_token(USER_CLAIMS), ProjectName::demo());
    block_on(async {
        let mut asking = std::pin::pin!(fixture.authenticator.verify_user(&token, &demo_name));
        assert!(futures::poll!(asking.as_mut()).is_pending());
        let mut project = demo();
        project.keys.clear();
        fixture.catalogue.put(project);
        fixture.authenticator.expire(None);
        assert_eq!(asking.await, Err(TokenError::UnknownKey));
    });
    assert_eq!(fixture.catalogue.lookups(), 2, "read again");
}

#[test]
fn an_expired_project_stays_valid_while_the_catalogue_is_unavailable_but_its_keys_are_unknown() {
    let fixture = Fixture::new(demo());
    let token = user_token(USER_CLAIMS);
    assert!(fixture.user(&token).is_ok());
    fixture.catalogue.is_down.store(true, Ordering::Relaxed);
    fixture.authenticator.expire(None);
    assert!(fixture.user(&token).is_ok());
    let keys = || block_on(fixture.authenticator.active_keys(&ProjectName::demo()));
    assert_eq!(keys(), Err(TokenError::Unavailable));
    fixture.catalogue.is_down.store(false, Ordering::Relaxed);
    fixture.clock.advance(1_000);
    assert_eq!(keys().map(|keys| keys.user.len()), Ok(1));
}

#[test]
fn an_inactive_project_has_no_valid_tokens_and_no_keys() {
    let fixture = Fixture::new(Project { active: false, ..demo() });
    assert_eq!(fixture.api(&api_token(API_CLAIMS)), Err(TokenError::InactiveProject));
    assert_eq!(fixture.user(&user_token(USER_CLAIMS)), Err(TokenError::InactiveProject));
    assert_eq!(block_on(fixture.authenticator.active_keys(&ProjectName::demo())), Ok(ActiveKeys::default()));
}

#[test]
fn the_fingerprint_of_a_key_changes_only_with_its_material() {
    let fixture = Fixture::new(demo());
    let keys = || {
        fixture.authenticator.expire(None);
        block_on(fixture.authenticator.active_keys(&ProjectName::demo())).unwrap()
    };
    let before = keys();
    let mut project = demo();
    project.keys.push(secret_key("new", KeyUse::Api, &SECRET));
    fixture.catalogue.put(project.clone());
    let with_another = keys();
    assert_eq!((with_another.api.len(), with_another.api[0]), (2, before.api[0]));
    assert_ne!(with_another.api[1], before.api[0], "the same secret under another id");
    project.keys[0].material = KeyMaterial::Secret(vec![7; 32]);
    fixture.catalogue.put(project);
    assert_ne!(keys().api[0], before.api[0]);
}
