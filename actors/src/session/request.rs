//! A REGISTER that waits for its answer. Each entry is parsed and checked alone.

use super::on_client_message::read_event_id;
use crate::condition::selection::Selection;
use crate::condition::{Condition, ConditionError};
use crate::ids::SessionRef;
use crate::ids::SubscriptionId;
use crate::protocol::codes::ErrorCode;
use crate::protocol::messages::{self, CUSTOM_WS_EVENTS, ErrorBody, EventId};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::sync::Arc;

/// Maximum length of an event name, in bytes.
pub const EVENT_NAME_BYTES: usize = 200;

/// Maximum length of the `epoch` of a `recover`, in bytes.
const EPOCH_BYTES: usize = 64;

/// The subscription that a valid entry asks for.
#[derive(Debug)]
pub struct SubscriptionSpec {
    pub event: Arc<str>,
    pub condition: Option<Condition>,
    pub delivery: Delivery,
}

/// How a match is delivered. Equal deliveries of an emit share one frame.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Delivery {
    pub event_id: EventId,
    pub selection: Option<Selection>,
    pub with_data: bool,
}

/// A request of a session to the registry.
#[derive(Debug)]
pub enum Request {
    Subscribe(Registration),
    /// Removes subscriptions. `answer` is set if the client waits for it.
    Unsubscribe {
        session: SessionRef,
        ids: Vec<SubscriptionId>,
        answer: Option<Box<PendingUnregister>>,
    },
}

/// The answer to an UNREGISTER: each entry a complete JSON text.
#[derive(Debug)]
pub struct PendingUnregister {
    pub guid: Option<Box<str>>,
    pub valid: Vec<String>,
    pub invalid: Vec<String>,
}

impl PendingUnregister {
    /// The ids of the removed subscriptions, for a log line.
    pub fn event_ids(&self) -> Vec<String> {
        self.valid.iter().filter_map(|entry| read_event_id(entry)).map(|id| id.to_string()).collect()
    }

    /// Writes the answer.
    pub fn write(&self) -> Vec<u8> {
        messages::answer_lists("UNREGISTER", self.guid.as_deref(), &self.valid, &self.invalid)
    }
}

/// The valid entries of a REGISTER, and its pending answer.
#[derive(Debug)]
pub struct Registration {
    pub session: SessionRef,
    pub project: Arc<str>,
    pub specs: Vec<SubscriptionSpec>,
    pub answer: PendingAnswer,
}

/// The answer to a REGISTER, without the results of the registry.
#[derive(Debug)]
pub struct PendingAnswer {
    pub guid: Option<Box<str>>,
    /// For each spec: the client's entry, and whether it asked to recover.
    entries: Vec<(Box<str>, EventId, bool)>,
    invalid: Vec<String>,
    /// The codes of the entries in `invalid`, in the same order.
    refused: Vec<ErrorCode>,
}

/// The registry's result for one spec: the subscription's id, or the reason why it was refused.
pub type SubscribeResult = Result<SubscriptionId, ErrorCode>;

impl Registration {
    /// Removes the specs that were refused, and returns their number. There is one verdict for each spec.
    pub fn refuse(&mut self, verdicts: Vec<Result<(), ErrorBody>>) -> usize {
        let before = self.specs.len();
        let specs = std::mem::take(&mut self.specs).into_iter().zip(std::mem::take(&mut self.answer.entries));
        for ((spec, entry), verdict) in specs.zip(verdicts) {
            match verdict {
                Ok(()) => {
                    self.specs.push(spec);
                    self.answer.entries.push(entry);
                }
                Err(error) => self.answer.refuse(&entry.0, &error),
            }
        }
        before - self.specs.len()
    }
}

impl PendingAnswer {
    /// An answer without entries.
    pub fn new(guid: Option<&str>) -> PendingAnswer {
        PendingAnswer { guid: guid.map(Box::from), entries: Vec::new(), invalid: Vec::new(), refused: Vec::new() }
    }

    /// Adds an entry that is refused.
    pub fn refuse(&mut self, entry: &str, error: &ErrorBody) {
        self.refused.push(error.code);
        self.invalid.push(messages::extend_entry(entry, &messages::error_member(error)));
    }

    /// The event ids of the valid entries, in order.
    pub fn event_ids(&self) -> impl Iterator<Item = EventId> + '_ {
        self.entries.iter().map(|(_, id, _)| *id)
    }

    /// For a log line: `EVENT_ID:EVENT` of the accepted entries, and `EVENT:CODE` of the refused ones. An entry without
    /// a valid event name has its code only.
    pub fn names(&self, results: &[SubscribeResult]) -> (Vec<String>, Vec<String>) {
        let (mut accepted, mut refused) = (Vec::new(), Vec::new());
        for (entry, code) in self.invalid.iter().zip(&self.refused) {
            refused.push(refused_name(entry, *code));
        }
        for ((entry, id, _), result) in self.entries.iter().zip(results) {
            match result {
                Ok(_) => accepted.push(format!("{id}:{}", read_event_name(entry).unwrap_or_default())),
                Err(code) => refused.push(refused_name(entry, *code)),
            }
        }
        (accepted, refused)
    }

    /// Writes the answer. `results` are those of the valid entries, in order.
    pub fn write(mut self, results: &[SubscribeResult]) -> Vec<u8> {
        let mut valid = Vec::with_capacity(self.entries.len());
        for ((entry, id, recovers), result) in self.entries.iter().zip(results) {
            match result {
                Ok(_) => {
                    // Events have no history, so nothing is replayed. The answer says so.
                    let recovered = if *recovers { r#","recovered":false,"replayed":0"# } else { "" };
                    valid.push(messages::extend_entry(entry, &format!(r#""eventId":"{id}"{recovered}"#)));
                }
                Err(code) => {
                    let error = ErrorBody::new(*code, "the node could not join the event's channel: register again");
                    self.invalid.push(messages::extend_entry(entry, &messages::error_member(&error)));
                }
            }
        }
        messages::answer_lists("REGISTER", self.guid.as_deref(), &valid, &self.invalid)
    }
}

#[derive(Deserialize)]
struct Entry<'a> {
    #[serde(borrow, rename = "eventType")]
    event_type: Option<&'a RawValue>,
    #[serde(borrow, rename = "apiName")]
    event_name: Option<&'a RawValue>,
    #[serde(borrow)]
    condition: Option<&'a RawValue>,
    #[serde(borrow)]
    select: Option<&'a RawValue>,
    #[serde(borrow, rename = "getEventData")]
    with_data: Option<&'a RawValue>,
    #[serde(borrow)]
    recover: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ConditionField<'a> {
    #[serde(borrow, rename = "conditionType")]
    condition_type: Option<&'a RawValue>,
    #[serde(borrow)]
    criteria: Option<&'a RawValue>,
}

/// Adds an entry of a REGISTER to `registration`, under `id`. An invalid entry is refused in the answer.
pub fn add_entry(registration: &mut Registration, raw: &RawValue, id: EventId) {
    match read_entry(raw, id) {
        Ok((spec, recovers)) => {
            registration.specs.push(spec);
            registration.answer.entries.push((raw.get().into(), id, recovers));
        }
        Err(error) => registration.answer.refuse(raw.get(), &error),
    }
}

fn read_entry(raw: &RawValue, event_id: EventId) -> Result<(SubscriptionSpec, bool), ErrorBody> {
    let entry: Entry<'_> = messages::read_object(raw.get()).ok_or_else(|| {
        ErrorBody::new(ErrorCode::InvalidJson, "an entry of onEvents must be an object, each key once")
    })?;
    let event_type = entry.event_type.and_then(messages::read_string);
    if event_type.as_deref() != Some(CUSTOM_WS_EVENTS) {
        return Err(ErrorBody::new(ErrorCode::EventTypeUnsupported, "eventType must be CUSTOM_WS_EVENTS"));
    }
    let event = entry.event_name.and_then(messages::read_string).filter(|name| is_event_name(name));
    let event = event.ok_or_else(|| ErrorBody::new(ErrorCode::EventNameInvalid, EVENT_NAME_RULE))?;
    let condition = present(entry.condition).map(read_condition).transpose()?;
    let selection = present(entry.select).map(|raw| read_selection(raw.get())).transpose()?;
    let with_data = match present(entry.with_data).map(RawValue::get) {
        None | Some("true") => true,
        Some("false") => false,
        Some(_) => return Err(ErrorBody::new(ErrorCode::SelectInvalid, "getEventData must be true or false")),
    };
    let recovers = present(entry.recover).map(check_recover).transpose()?.is_some();
    let delivery = Delivery { event_id, selection, with_data };
    Ok((SubscriptionSpec { event: event.as_ref().into(), condition, delivery }, recovers))
}

/// The event that an entry names, if it is a valid name.
fn read_event_name(entry: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Named<'a> {
        #[serde(borrow, rename = "apiName")]
        event: &'a RawValue,
    }
    let named: Named<'_> = messages::read_object(entry)?;
    messages::read_string(named.event).filter(|name| is_event_name(name)).map(|name| name.into_owned())
}

fn refused_name(entry: &str, code: ErrorCode) -> String {
    match read_event_name(entry) {
        Some(event) => format!("{event}:{}", code.as_str()),
        None => code.as_str().to_owned(),
    }
}

/// The rule of event names, for error messages.
pub const EVENT_NAME_RULE: &str = "an event's name must be 1 to 200 bytes of printable text";

/// Whether the name is valid for an event: 1 to 200 bytes, no control characters.
pub fn is_event_name(name: &str) -> bool {
    (1..=EVENT_NAME_BYTES).contains(&name.len()) && !name.chars().any(char::is_control)
}

/// The field, unless it is absent or `null`.
fn present(raw: Option<&RawValue>) -> Option<&RawValue> {
    raw.filter(|raw| raw.get() != "null")
}

fn read_condition(raw: &RawValue) -> Result<Condition, ErrorBody> {
    let invalid = |message: &'static str| ErrorBody::new(ErrorCode::ConditionInvalid, message);
    let field: ConditionField<'_> = messages::read_object(raw.get())
        .ok_or_else(|| invalid(r#"condition must be {"conditionType":"RESPONSE","criteria":{…}}"#))?;
    let condition_type = present(field.condition_type).map(messages::read_string);
    if condition_type.is_some_and(|name| name.as_deref() != Some("RESPONSE")) {
        return Err(invalid("conditionType must be RESPONSE"));
    }
    let criteria = present(field.criteria).ok_or_else(|| invalid("condition needs criteria, an object"))?;
    Condition::parse(criteria.get()).map_err(|error| match error {
        ConditionError::Invalid(message) => ErrorBody::new(ErrorCode::ConditionInvalid, message),
        ConditionError::TooLarge(message) => ErrorBody::new(ErrorCode::ConditionTooLarge, message),
    })
}

fn read_selection(text: &str) -> Result<Selection, ErrorBody> {
    Selection::parse(text).map_err(|error| ErrorBody::new(ErrorCode::SelectInvalid, error.0))
}

fn check_recover(raw: &RawValue) -> Result<(), ErrorBody> {
    #[derive(Deserialize)]
    struct Recover {
        epoch: Box<str>,
        #[serde(rename = "offset")]
        _offset: u64,
    }
    let recover: Option<Recover> = messages::read_object(raw.get());
    match recover {
        Some(recover) if (1..=EPOCH_BYTES).contains(&recover.epoch.len()) => Ok(()),
        _ => Err(ErrorBody::new(ErrorCode::RecoverInvalid, r#"recover must be {"epoch":"…","offset":N}"#)),
    }
}
