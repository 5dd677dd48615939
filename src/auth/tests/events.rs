//! The events that an application may use, and how long they are cached.

use super::*;

/// A project with the events `orders` (for all), `bills` (emitted by `shop`, for clients of `web`) and the removed
/// `old`.
fn fixture() -> Fixture {
    let fixture = Fixture::new(Project { events: EventMode::Defined, ..demo() });
    let names = |name: &str| Some(vec![name.to_owned()]);
    put(&fixture, EventDefinition::new("orders"));
    put(
        &fixture,
        EventDefinition { emitters: names("shop"), subscribers: names("web"), ..EventDefinition::new("bills") },
    );
    put(&fixture, EventDefinition { active: false, ..EventDefinition::new("old") });
    fixture
}

fn put(fixture: &Fixture, event: EventDefinition) {
    fixture.catalogue.events.lock().unwrap().insert((ProjectName::demo(), event.name.clone()), event);
}

fn check(fixture: &Fixture, application: &str, event: &str, wanted: EventUse) -> Result<(), EventError> {
    let claims = format!(r#"{{"project":"demo","sub":"{application}"}}"#);
    let token = fixture.api(&api_token(&claims)).unwrap();
    let application = fixture.authenticator.application(&token);
    block_on(fixture.authenticator.check_event(&token.project, application, event, wanted))
}

#[test]
fn a_definition_lists_the_applications_that_may_subscribe_and_emit() {
    let fixture = fixture();
    for (application, event, subscribe, emit) in [
        ("shop", "orders", Ok(()), Ok(())),
        ("web", "orders", Ok(()), Ok(())),
        ("shop", "bills", Err(EventError::NoSubscriber), Ok(())),
        ("web", "bills", Ok(()), Err(EventError::NoEmitter)),
        ("shop", "old", Err(EventError::Unknown), Err(EventError::Unknown)),
        ("shop", "Orders", Err(EventError::Unknown), Err(EventError::Unknown)),
    ] {
        assert_eq!(check(&fixture, application, event, EventUse::Subscribe), subscribe, "{application} {event}");
        assert_eq!(check(&fixture, application, event, EventUse::Emit), emit, "{application} {event}");
    }
}

#[test]
fn an_open_project_allows_every_event_without_a_lookup() {
    let fixture = Fixture::new(demo());
    put(&fixture, EventDefinition { emitters: Some(Vec::new()), ..EventDefinition::new("orders") });
    assert_eq!(check(&fixture, "shop", "orders", EventUse::Emit), Ok(()));
    assert_eq!(check(&fixture, "shop", "anything", EventUse::Subscribe), Ok(()));
    assert_eq!(fixture.catalogue.lookups(), 1, "the project alone");
}

#[test]
fn an_event_is_read_once_until_its_project_is_expired() {
    let fixture = fixture();
    for _ in 0..3 {
        assert_eq!(check(&fixture, "shop", "orders", EventUse::Emit), Ok(()));
    }
    assert_eq!(fixture.catalogue.lookups(), 2, "project and event");
    put(&fixture, EventDefinition { active: false, ..EventDefinition::new("orders") });
    fixture.authenticator.expire(Some(&ProjectName::demo()));
    assert_eq!(check(&fixture, "shop", "orders", EventUse::Emit), Err(EventError::Unknown));
    put(&fixture, EventDefinition::new("orders"));
    fixture.clock.advance(2_000);
    assert_eq!(check(&fixture, "shop", "orders", EventUse::Emit), Ok(()), "unknown for a short while only");
}

#[test]
fn an_unavailable_catalogue_leaves_cached_events_valid_and_refuses_new_ones() {
    let fixture = fixture();
    assert_eq!(check(&fixture, "shop", "bills", EventUse::Emit), Ok(()));
    fixture.catalogue.is_down.store(true, Ordering::Relaxed);
    fixture.clock.advance(CACHE_SECONDS * 1_000);
    assert_eq!(check(&fixture, "shop", "bills", EventUse::Emit), Ok(()));
    assert_eq!(check(&fixture, "web", "bills", EventUse::Emit), Err(EventError::NoEmitter));
    assert_eq!(check(&fixture, "shop", "orders", EventUse::Emit), Err(EventError::Unavailable));
}
