//! How long what was read and what was verified is believed.

use futures::future::join_all;

use super::*;

#[test]
fn project_is_read_once_within_its_age_and_again_after_it() {
    let desk = Desk::new(demo());
    for _ in 0..3 {
        desk.api(&api_token(API_CLAIMS)).unwrap();
        desk.user(&user_token(USER_CLAIMS)).unwrap();
        desk.clock.advance(CACHE_SECONDS * 1_000 / 3 - 1);
    }
    assert_eq!(desk.catalogue.look_ups(), 1);
    desk.clock.advance(3);
    desk.api(&api_token(API_CLAIMS)).unwrap();
    assert_eq!(desk.catalogue.look_ups(), 2);
}

#[test]
fn callers_that_miss_at_once_share_one_look_up() {
    let desk = Desk::new(demo());
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let token = user_token(USER_CLAIMS);
    let demo = ProjectName::demo();
    let verdicts = runtime.block_on(join_all((0..100).map(|_| desk.authenticator.verify_user(&token, &demo))));
    assert!(verdicts.iter().all(Result::is_ok));
    assert_eq!(desk.catalogue.look_ups(), 1);
}

#[test]
fn callers_that_wait_for_a_look_up_share_its_failure() {
    let desk = Desk::new(demo());
    desk.catalogue.is_down.store(true, Ordering::Relaxed);
    let (token, demo) = (user_token(USER_CLAIMS), ProjectName::demo());
    let verdicts = block_on(join_all((0..100).map(|_| desk.authenticator.verify_user(&token, &demo))));
    assert!(verdicts.iter().all(|verdict| *verdict == Err(TokenError::Unavailable)));
    assert_eq!(desk.catalogue.look_ups(), 1);
}

#[test]
fn revoked_key_ends_with_the_age_of_the_cache_for_seen_tokens_too() {
    for revoke in [
        (|project| project.keys[0].active = false) as fn(&mut Project),
        |project| drop(project.keys.remove(0)),
        |project| project.keys[0].material = KeyMaterial::Secret(vec![7; 32]),
    ] {
        let desk = Desk::new(demo());
        let token = api_token(API_CLAIMS);
        assert!(desk.api(&token).is_ok());
        let mut project = demo();
        revoke(&mut project);
        desk.catalogue.put(project);
        desk.clock.advance(CACHE_SECONDS * 1_000 - 1);
        assert!(desk.api(&token).is_ok(), "within the age");
        desk.clock.advance(1);
        assert!(desk.api(&token).is_err());
        assert!(desk.api(&token).is_err(), "and stays refused");
    }
}

#[test]
fn seen_token_outlives_a_refresh_that_changes_nothing_and_another_key() {
    let desk = Desk::new(demo());
    let token = api_token(API_CLAIMS);
    let first = desk.api(&token).unwrap();
    desk.clock.advance(CACHE_SECONDS * 1_000);
    assert!(Arc::ptr_eq(&first, &desk.api(&token).unwrap()), "still the same one");
    let mut project = demo();
    project.keys.push(secret_key("new", KeyUse::Api, &SECRET));
    desk.catalogue.put(project);
    desk.clock.advance(CACHE_SECONDS * 1_000);
    let again = desk.api(&token).unwrap();
    assert!(!Arc::ptr_eq(&first, &again), "verified again");
    assert_eq!(first, again);
}

#[test]
fn seen_token_expires_to_the_millisecond() {
    let desk = Desk::new(demo());
    let token = api_token(r#"{"project":"demo","sub":"shop","exp":1790000003.5}"#);
    assert!(desk.api(&token).is_ok());
    desk.clock.advance(8_499);
    assert!(desk.api(&token).is_ok());
    desk.clock.advance(1);
    assert_eq!(desk.api(&token), Err(TokenError::Expired));
}

#[test]
fn project_that_is_gone_takes_its_seen_tokens_along() {
    let desk = Desk::new(demo());
    let token = api_token(API_CLAIMS);
    assert!(desk.api(&token).is_ok());
    desk.catalogue.projects.lock().unwrap().clear();
    desk.clock.advance(CACHE_SECONDS * 1_000);
    assert_eq!(desk.api(&token), Err(TokenError::UnknownProject));
}

#[test]
fn unknown_project_is_asked_for_once_in_a_while_and_found_when_made() {
    let desk = Desk::new(demo());
    let token = api_token(r#"{"project":"later","sub":"shop"}"#);
    for _ in 0..50 {
        assert_eq!(desk.api(&token), Err(TokenError::UnknownProject));
    }
    assert_eq!(desk.catalogue.look_ups(), 1);
    let mut later = demo();
    later.name = ProjectName::parse("later").unwrap();
    desk.catalogue.put(later);
    desk.clock.advance(2_000);
    assert!(desk.api(&token).is_ok());
}

#[test]
fn catalogue_away_keeps_what_is_held_and_refuses_what_is_new() {
    let desk = Desk::new(demo());
    let token = user_token(USER_CLAIMS);
    assert!(desk.user(&token).is_ok());
    desk.catalogue.is_down.store(true, Ordering::Relaxed);
    desk.clock.advance(CACHE_SECONDS * 1_000);
    for _ in 0..10 {
        assert!(desk.user(&token).is_ok());
    }
    assert_eq!(desk.catalogue.look_ups(), 2, "asked again once, not at each token");
    let other = api_token(r#"{"project":"other","sub":"shop"}"#);
    assert_eq!(desk.api(&other), Err(TokenError::Unavailable));
    assert_eq!(desk.authenticator.failed_look_ups().value(), 2);
    desk.catalogue.is_down.store(false, Ordering::Relaxed);
    assert_eq!(desk.api(&other), Err(TokenError::UnknownProject), "a failure is not remembered");
    let mut project = demo();
    project.keys.clear();
    desk.catalogue.put(project);
    desk.clock.advance(1_000);
    assert_eq!(desk.user(&token), Err(TokenError::UnknownKey), "and the refresh comes soon");
}

#[test]
fn while_one_asks_a_catalogue_that_is_away_the_others_are_served_at_once() {
    let desk = Desk::new(demo());
    let (token, demo) = (user_token(USER_CLAIMS), ProjectName::demo());
    assert!(desk.user(&token).is_ok());
    desk.catalogue.is_down.store(true, Ordering::Relaxed);
    desk.clock.advance(CACHE_SECONDS * 1_000);
    assert!(desk.user(&token).is_ok(), "the first that asks in vain");
    desk.clock.advance(1_000);
    block_on(async {
        let mut asking = std::pin::pin!(desk.authenticator.verify_user(&token, &demo));
        assert!(futures::poll!(asking.as_mut()).is_pending());
        let other = desk.authenticator.verify_user(&token, &demo).now_or_never();
        assert!(other.is_some_and(|verdict| verdict.is_ok()));
        assert!(asking.await.is_ok());
    });
    assert_eq!(desk.catalogue.look_ups(), 3);
}

#[test]
fn clock_set_back_does_not_make_the_cache_live_longer() {
    let desk = Desk::new(demo());
    desk.user(&user_token(USER_CLAIMS)).unwrap();
    desk.clock.0.store((NOW - 1_000) * 1_000, Ordering::Relaxed);
    desk.user(&user_token(USER_CLAIMS)).unwrap();
    assert_eq!(desk.catalogue.look_ups(), 2);
}

#[test]
fn made_up_projects_do_not_push_out_the_one_in_use() {
    let desk = Desk::new(demo());
    let token = user_token(USER_CLAIMS);
    desk.user(&token).unwrap();
    for number in 0..20_000 {
        let made_up = format!(r#"{{"project":"made-up-{number}","sub":"shop"}}"#);
        assert_eq!(desk.api(&api_token(&made_up)), Err(TokenError::UnknownProject));
        if number % 16 == 0 {
            desk.user(&token).unwrap();
        }
    }
    let of_demo = desk.catalogue.look_ups() - 20_000;
    assert!(of_demo <= 10, "{of_demo}");
}

#[test]
fn expired_project_is_read_again_at_once_and_ends_the_tokens_of_a_revoked_key() {
    let desk = Desk::new(demo());
    let token = api_token(API_CLAIMS);
    assert!(desk.api(&token).is_ok());
    let mut project = demo();
    project.keys[0].active = false;
    desk.catalogue.put(project);
    desk.authenticator.expire(Some(&ProjectName::parse("other").unwrap()));
    assert!(desk.api(&token).is_ok(), "another project's matter");
    desk.authenticator.expire(Some(&ProjectName::demo()));
    assert_eq!(desk.api(&token), Err(TokenError::UnknownKey));
    assert_eq!(desk.catalogue.look_ups(), 2);
}

#[test]
fn what_a_look_up_read_before_its_project_was_expired_is_not_kept() {
    let desk = Desk::new(demo());
    let (token, demo_name) = (user_token(USER_CLAIMS), ProjectName::demo());
    block_on(async {
        let mut asking = std::pin::pin!(desk.authenticator.verify_user(&token, &demo_name));
        assert!(futures::poll!(asking.as_mut()).is_pending());
        let mut project = demo();
        project.keys.clear();
        desk.catalogue.put(project);
        desk.authenticator.expire(None);
        assert_eq!(asking.await, Err(TokenError::UnknownKey));
    });
    assert_eq!(desk.catalogue.look_ups(), 2, "read again");
}

#[test]
fn expired_project_serves_on_while_the_catalogue_is_away_but_its_keys_are_not_known() {
    let desk = Desk::new(demo());
    let token = user_token(USER_CLAIMS);
    assert!(desk.user(&token).is_ok());
    desk.catalogue.is_down.store(true, Ordering::Relaxed);
    desk.authenticator.expire(None);
    assert!(desk.user(&token).is_ok());
    let keys = || block_on(desk.authenticator.active_keys(&ProjectName::demo()));
    assert_eq!(keys(), Err(TokenError::Unavailable));
    desk.catalogue.is_down.store(false, Ordering::Relaxed);
    desk.clock.advance(1_000);
    assert_eq!(keys().map(|keys| keys.user.len()), Ok(1));
}

#[test]
fn inactive_project_has_no_good_tokens_and_no_keys() {
    let desk = Desk::new(Project { active: false, ..demo() });
    assert_eq!(desk.api(&api_token(API_CLAIMS)), Err(TokenError::InactiveProject));
    assert_eq!(desk.user(&user_token(USER_CLAIMS)), Err(TokenError::InactiveProject));
    assert_eq!(block_on(desk.authenticator.active_keys(&ProjectName::demo())), Ok(ActiveKeys::default()));
}

#[test]
fn mark_of_a_key_lives_on_when_another_key_comes_and_changes_with_its_material() {
    let desk = Desk::new(demo());
    let keys = || {
        desk.authenticator.expire(None);
        block_on(desk.authenticator.active_keys(&ProjectName::demo())).unwrap()
    };
    let before = keys();
    let mut project = demo();
    project.keys.push(secret_key("new", KeyUse::Api, &SECRET));
    desk.catalogue.put(project.clone());
    let with_another = keys();
    assert_eq!((with_another.api.len(), with_another.api[0]), (2, before.api[0]));
    assert_ne!(with_another.api[1], before.api[0], "the same secret under another id");
    project.keys[0].material = KeyMaterial::Secret(vec![7; 32]);
    desk.catalogue.put(project);
    assert_ne!(keys().api[0], before.api[0]);
}
