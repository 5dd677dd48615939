//! Evaluating a [`Condition`] over a [`Document`], with MongoDB's meaning.

use super::{Condition, Literal, document::Document};
use std::hash::Hasher;

impl Condition {
    /// Whether the event data meets the condition.
    pub fn matches(&self, document: &Document<'_>) -> bool {
        let _ = document;
        todo!()
    }
}

impl Literal {
    /// See [`super::document::Value::hash_canonical`].
    pub fn hash_canonical<H: Hasher>(&self, state: &mut H) {
        let _ = state;
        todo!()
    }
}
