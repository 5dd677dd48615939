//! Evaluating a [`Condition`] over a [`Document`], with MongoDB's meaning.

use super::{Condition, document::Document};

impl Condition {
    /// Whether the event data meets the condition.
    pub fn matches(&self, document: &Document<'_>) -> bool {
        let _ = document;
        todo!()
    }
}
