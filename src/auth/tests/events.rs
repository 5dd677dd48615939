//! Which events an application may use, and how long that is believed.

use super::*;

/// A project that knows `orders` (for all), `bills` (emitted by `shop`, for clients of `web`) and the removed `old`.
fn desk() -> Desk {
    let desk = Desk::new(Project { events: EventMode::Defined, ..demo() });
    let names = |name: &str| Some(vec![name.to_owned()]);
    put(&desk, EventDefinition::new("orders"));
    put(&desk, EventDefinition { emitters: names("shop"), subscribers: names("web"), ..EventDefinition::new("bills") });
    put(&desk, EventDefinition { active: false, ..EventDefinition::new("old") });
    desk
}

fn put(desk: &Desk, event: EventDefinition) {
    desk.catalogue.events.lock().unwrap().insert((ProjectName::demo(), event.name.clone()), event);
}

fn check(desk: &Desk, application: &str, event: &str, wanted: EventUse) -> Result<(), EventError> {
    let claims = format!(r#"{{"project":"demo","sub":"{application}"}}"#);
    let token = desk.api(&api_token(&claims)).unwrap();
    let application = desk.authenticator.application(&token);
    block_on(desk.authenticator.check_event(&token.project, application, event, wanted))
}

#[test]
fn definition_says_who_may_subscribe_and_who_may_emit() {
    let desk = desk();
    for (application, event, subscribe, emit) in [
        ("shop", "orders", Ok(()), Ok(())),
        ("web", "orders", Ok(()), Ok(())),
        ("shop", "bills", Err(EventError::NoSubscriber), Ok(())),
        ("web", "bills", Ok(()), Err(EventError::NoEmitter)),
        ("shop", "old", Err(EventError::Unknown), Err(EventError::Unknown)),
        ("shop", "Orders", Err(EventError::Unknown), Err(EventError::Unknown)),
    ] {
        assert_eq!(check(&desk, application, event, EventUse::Subscribe), subscribe, "{application} {event}");
        assert_eq!(check(&desk, application, event, EventUse::Emit), emit, "{application} {event}");
    }
}

#[test]
fn open_project_knows_every_event_and_never_asks() {
    let desk = Desk::new(demo());
    put(&desk, EventDefinition { emitters: Some(Vec::new()), ..EventDefinition::new("orders") });
    assert_eq!(check(&desk, "shop", "orders", EventUse::Emit), Ok(()));
    assert_eq!(check(&desk, "shop", "anything", EventUse::Subscribe), Ok(()));
    assert_eq!(desk.catalogue.look_ups(), 1, "the project alone");
}

#[test]
fn event_is_read_once_until_its_project_is_expired() {
    let desk = desk();
    for _ in 0..3 {
        assert_eq!(check(&desk, "shop", "orders", EventUse::Emit), Ok(()));
    }
    assert_eq!(desk.catalogue.look_ups(), 2, "project and event");
    put(&desk, EventDefinition { active: false, ..EventDefinition::new("orders") });
    desk.authenticator.expire(Some(&ProjectName::demo()));
    assert_eq!(check(&desk, "shop", "orders", EventUse::Emit), Err(EventError::Unknown));
    put(&desk, EventDefinition::new("orders"));
    desk.clock.advance(2_000);
    assert_eq!(check(&desk, "shop", "orders", EventUse::Emit), Ok(()), "unknown for a short while only");
}

#[test]
fn catalogue_away_keeps_known_events_and_refuses_new_ones() {
    let desk = desk();
    assert_eq!(check(&desk, "shop", "bills", EventUse::Emit), Ok(()));
    desk.catalogue.is_down.store(true, Ordering::Relaxed);
    desk.clock.advance(CACHE_SECONDS * 1_000);
    assert_eq!(check(&desk, "shop", "bills", EventUse::Emit), Ok(()));
    assert_eq!(check(&desk, "web", "bills", EventUse::Emit), Err(EventError::NoEmitter));
    assert_eq!(check(&desk, "shop", "orders", EventUse::Emit), Err(EventError::Unavailable));
}
