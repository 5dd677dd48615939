//! Random conditions, event data, subscriptions and removals: the index must match what a plain loop matches.

use super::random::{criteria, data};
use super::*;
use crate::condition::bounds;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::strategy::ValueTree;

/// A subscription in the plain loop.
struct Plain {
    id: SubscriptionId,
    channel: ChannelId,
    condition: Option<Condition>,
    delivery: DeliveryId,
    target: SessionRef,
}

impl Plain {
    fn matches(&self, document: &Document<'_>) -> bool {
        let matches = |condition: &Condition| condition.matches(document, &CostBudget::default()) == Some(true);
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
    /// Adds a subscription equal to an existing one.
    Duplicate(Index),
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
        2 => any::<Index>().prop_map(Step::Duplicate),
        2 => any::<Index>().prop_map(Step::Unsubscribe),
        5 => (0..3u32, data()).prop_map(|(channel, data)| Step::Emit { channel, data }),
    ]
}

/// The index and the plain loop.
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
                // Some random criteria are not valid conditions.
                let condition = condition.as_deref().map(Condition::parse).transpose();
                if let Ok(condition) = condition {
                    self.subscribe(ChannelId(*channel), condition, DeliveryId(*delivery));
                }
                Ok(())
            }
            Step::Emit { channel, data } => self.emit(ChannelId(*channel), data),
            Step::Duplicate(_) | Step::Unsubscribe(_) if self.plain.is_empty() => Ok(()),
            Step::Unsubscribe(which) => self.unsubscribe(which.index(self.plain.len())),
            Step::Duplicate(which) => {
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
        let removed_plain = self.plain.swap_remove(position);
        let other_session = session(0);
        prop_assert_eq!(self.index.remove(removed_plain.id, other_session), None);
        let removed = self.index.remove(removed_plain.id, removed_plain.target);
        prop_assert_eq!(removed, Some((removed_plain.channel, removed_plain.delivery)));
        Ok(())
    }

    fn emit(&mut self, channel: ChannelId, data: &str) -> Result<(), TestCaseError> {
        let document = Document::parse(data).expect("valid event data");
        let (mut found, mut undecided) = (Vec::new(), Vec::new());
        let result = self.index.find(channel, &document, &mut |delivery, target| found.push((target, delivery.0)));
        self.index.for_each_undecided(&result, &mut |delivery, target| undecided.push((target, delivery.0)));
        prop_assert!(undecided.is_empty() || self.index.limits.emit < bounds::EMIT_COST);
        prop_assert!(!result.is_empty() || undecided.is_empty());
        // Each subscription has its own session. An undecided one belongs to the channel and is reported once: as a
        // match or as undecided.
        for one in &undecided {
            let plain = self.plain.iter().find(|plain| plain.target == one.0).expect("subscribed");
            prop_assert_eq!(plain.channel, channel);
            if plain.matches(&document) || found.contains(one) {
                found.push(*one);
            }
        }
        undecided.sort_unstable();
        prop_assert!(undecided.windows(2).all(|pair| pair[0] != pair[1]), "reported as undecided twice");
        found.sort_unstable();
        let expected = self.plain.iter().filter(|plain| plain.channel == channel && plain.matches(&document));
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
    fn the_index_matches_what_the_plain_loop_matches(steps in prop::collection::vec(step(), 1..60)) {
        run(Both::default(), &steps)?;
    }

    #[test]
    fn only_what_exceeds_the_cost_limits_stays_undecided(
        steps in prop::collection::vec(step(), 1..60),
        guaranteed in 0..6usize,
        emit in 0..20usize,
    ) {
        let index = SubscriptionIndex { limits: CostLimits { guaranteed, emit }, ..SubscriptionIndex::default() };
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
fn most_random_criteria_are_valid() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let parsed = (0..500).filter(|_| {
        let text = criteria().new_tree(&mut runner).expect("a strategy without filters").current();
        Condition::parse(&text).is_ok()
    });
    assert!(parsed.count() > 300);
}
