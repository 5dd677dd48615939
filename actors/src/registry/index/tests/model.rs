//! Random conditions, event data and comings and goings: the index must tell whom the plain loop tells.

use super::random::{criteria, data};
use super::*;
use crate::condition::bounds;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::strategy::ValueTree;

/// One subscription as the plain loop knows it.
struct Plain {
    id: SubscriptionId,
    channel: ChannelId,
    condition: Option<Condition>,
    delivery: DeliveryId,
    target: SessionRef,
}

impl Plain {
    fn is_met(&self, document: &Document<'_>) -> bool {
        let matches = |condition: &Condition| condition.matches(document, &Effort::default()) == Some(true);
        self.condition.as_ref().is_none_or(matches)
    }
}

#[derive(Clone, Debug)]
enum Step {
    Subscribe {
        channel: u32,
        condition: Option<String>,
        delivery: u32,
    },
    /// One more like one that there is.
    Join(Index),
    Unsubscribe(Index),
    Emit {
        channel: u32,
        data: String,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let subscribe = (0..3u32, prop::option::weighted(0.95, criteria()), 0..2u32);
    prop_oneof![
        5 => subscribe.prop_map(|(channel, condition, delivery)| Step::Subscribe { channel, condition, delivery }),
        2 => any::<Index>().prop_map(Step::Join),
        2 => any::<Index>().prop_map(Step::Unsubscribe),
        5 => (0..3u32, data()).prop_map(|(channel, data)| Step::Emit { channel, data }),
    ]
}

/// The index and the loop, side by side.
#[derive(Default)]
struct Both {
    index: SubscriptionIndex,
    plain: Vec<Plain>,
    sessions: u32,
}

impl Both {
    fn take(&mut self, step: &Step) -> Result<(), TestCaseError> {
        match step {
            Step::Subscribe { channel, condition, delivery } => {
                // One in a while is no condition.
                let condition = condition.as_deref().map(Condition::parse).transpose();
                if let Ok(condition) = condition {
                    self.subscribe(ChannelId(*channel), condition, DeliveryId(*delivery));
                }
                Ok(())
            }
            Step::Emit { channel, data } => self.emit(ChannelId(*channel), data),
            Step::Join(_) | Step::Unsubscribe(_) if self.plain.is_empty() => Ok(()),
            Step::Unsubscribe(which) => self.unsubscribe(which.index(self.plain.len())),
            Step::Join(which) => {
                let Plain { channel, condition, delivery, .. } = which.get(&self.plain);
                self.subscribe(*channel, condition.clone(), *delivery);
                Ok(())
            }
        }
    }

    fn subscribe(&mut self, channel: ChannelId, condition: Option<Condition>, delivery: DeliveryId) {
        self.sessions += 1;
        let target = session(self.sessions);
        let id = self.index.insert(channel, condition.clone(), delivery, target);
        self.plain.push(Plain { id, channel, condition, delivery, target });
    }

    fn unsubscribe(&mut self, position: usize) -> Result<(), TestCaseError> {
        let gone = self.plain.swap_remove(position);
        let stranger = session(0);
        prop_assert_eq!(self.index.remove(gone.id, stranger), None);
        let removed = self.index.remove(gone.id, gone.target);
        prop_assert_eq!(removed, Some((gone.channel, gone.delivery)));
        Ok(())
    }

    fn emit(&mut self, channel: ChannelId, data: &str) -> Result<(), TestCaseError> {
        let document = Document::parse(data).expect("made valid");
        let (mut found, mut open) = (Vec::new(), Vec::new());
        let undecided = self.index.find(channel, &document, &mut |delivery, target| found.push((target, delivery.0)));
        self.index.for_each_undecided(&undecided, &mut |delivery, target| open.push((target, delivery.0)));
        prop_assert!(open.is_empty() || self.index.steps.emit < bounds::EMIT_STEPS);
        prop_assert!(!undecided.is_empty() || open.is_empty());
        // Each is another session: what is left open is the channel's own, and told once, either so or so.
        for one in &open {
            let plain = self.plain.iter().find(|plain| plain.target == one.0).expect("subscribed");
            prop_assert_eq!(plain.channel, channel);
            if plain.is_met(&document) || found.contains(one) {
                found.push(*one);
            }
        }
        open.sort_unstable();
        prop_assert!(open.windows(2).all(|pair| pair[0] != pair[1]), "left open twice");
        found.sort_unstable();
        let expected = self.plain.iter().filter(|plain| plain.channel == channel && plain.is_met(&document));
        let expected = expected.map(|plain| (plain.target, plain.delivery.0));
        let mut expected: Vec<_> = expected.collect();
        expected.sort_unstable();
        prop_assert_eq!(found, expected, "event data {}", data);
        prop_assert_eq!(self.index.len(), self.plain.len());
        Ok(())
    }
}

proptest! {
    #[test]
    fn the_index_tells_whom_the_plain_loop_tells(steps in prop::collection::vec(step(), 1..60)) {
        run(Both::default(), &steps)?;
    }

    #[test]
    fn what_the_index_has_no_steps_for_is_left_open_and_nothing_else(
        steps in prop::collection::vec(step(), 1..60),
        free in 0..6usize,
        emit in 0..20usize,
    ) {
        let index = SubscriptionIndex { steps: Steps { free, emit }, ..SubscriptionIndex::default() };
        run(Both { index, ..Both::default() }, &steps)?;
    }
}

fn run(mut both: Both, steps: &[Step]) -> Result<(), TestCaseError> {
    for step in steps {
        both.take(step)?;
    }
    while !both.plain.is_empty() {
        both.unsubscribe(0)?;
    }
    prop_assert!(holds_nothing(&both.index));
    Ok(())
}

#[test]
fn most_random_criteria_are_conditions() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let parsed = (0..500).filter(|_| {
        let text = criteria().new_tree(&mut runner).expect("a strategy without filters").current();
        Condition::parse(&text).is_ok()
    });
    assert!(parsed.count() > 300);
}
