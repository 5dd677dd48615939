//! Random conditions, event data and comings and goings: the index must tell whom the plain loop tells.

use super::random::{criteria, data};
use super::*;
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
        let mut found = Vec::new();
        self.index.find(channel, &document, &mut |delivery, target| found.push((target, delivery.0)));
        found.sort_unstable();
        let meets = |plain: &&Plain| {
            let condition = plain.condition.as_ref();
            plain.channel == channel && condition.is_none_or(|condition| condition.matches(&document))
        };
        let expected = self.plain.iter().filter(meets).map(|plain| (plain.target, plain.delivery.0));
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
        let mut both = Both::default();
        for step in &steps {
            both.take(step)?;
        }
        while !both.plain.is_empty() {
            both.unsubscribe(0)?;
        }
        prop_assert!(holds_nothing(&both.index));
    }
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
