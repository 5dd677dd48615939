//! Parses the `select` of a client into a [`Selection`].

use super::super::document::{Document, DocumentError, Kind, Value};
use super::{Branch, Mode, Selection, SelectionError, Tree, bounds};
use std::collections::BTreeMap;

/// A tree under construction.
#[derive(Default)]
struct Draft {
    fields: BTreeMap<Box<str>, DraftBranch>,
}

enum DraftBranch {
    Whole,
    Inside(Draft),
}

#[derive(Default)]
struct Parser {
    root: Draft,
    mode: Option<Mode>,
    fields: usize,
}

pub(super) fn parse(text: &str) -> Result<Selection, SelectionError> {
    if text.len() > bounds::TEXT_BYTES {
        return Err(too_large(bounds::TEXT_BYTES, "bytes of text"));
    }
    let document = Document::parse_within(text, bounds::DEPTH).map_err(|error| match error {
        DocumentError::TooDeep => too_large(bounds::DEPTH, "segments in a path"),
        DocumentError::Syntax(at) => refused(&format!("select is not valid JSON (byte {at})")),
    })?;
    if document.duplicate_key().is_some() {
        return Err(refused("a field appears twice in select"));
    }
    if document.root().kind() != Kind::Object {
        return Err(refused("select must be an object of fields, each with 1 or 0"));
    }
    let mut parser = Parser::default();
    parser.read_fields(document.root(), &mut Vec::new())?;
    Ok(Selection { mode: parser.mode.unwrap_or(Mode::Drop), fields: finish(parser.root) })
}

impl Parser {
    // Recursion is bounded by the depth of the text.
    fn read_fields(&mut self, object: Value<'_>, path: &mut Vec<Box<str>>) -> Result<(), SelectionError> {
        for (key, value) in object.fields() {
            let parent_length = path.len();
            let name = key.as_str().unwrap_or_default();
            path.extend(name.split('.').map(Box::from));
            check_path(&path[parent_length..], path.len())?;
            if value.kind() == Kind::Object && value.fields().next().is_some() {
                self.read_fields(value, path)?;
            } else {
                self.take_mode(value)?;
                self.root.insert(path)?;
            }
            path.truncate(parent_length);
        }
        Ok(())
    }

    fn take_mode(&mut self, value: Value<'_>) -> Result<(), SelectionError> {
        let keeps = match (value.as_bool(), value.as_number()) {
            (Some(keeps), _) => keeps,
            (None, Some(number)) => number != 0.into(),
            (None, None) => {
                return Err(refused("a field in select takes 1, 0, true or false"));
            }
        };
        let mode = if keeps { Mode::Keep } else { Mode::Drop };
        if self.mode.is_some_and(|earlier| earlier != mode) {
            return Err(refused("select must either keep or drop fields, not both"));
        }
        self.mode = Some(mode);
        self.fields += 1;
        if self.fields > bounds::FIELDS {
            return Err(too_large(bounds::FIELDS, "fields"));
        }
        Ok(())
    }
}

impl Draft {
    fn insert(&mut self, path: &[Box<str>]) -> Result<(), SelectionError> {
        let Some((name, rest)) = path.split_first() else {
            return Ok(());
        };
        if rest.is_empty() {
            return match self.fields.insert(name.clone(), DraftBranch::Whole) {
                None => Ok(()),
                Some(_) => Err(collision()),
            };
        }
        let branch = self.fields.entry(name.clone()).or_insert_with(|| DraftBranch::Inside(Draft::default()));
        match branch {
            DraftBranch::Inside(inner) => inner.insert(rest),
            DraftBranch::Whole => Err(collision()),
        }
    }
}

fn finish(draft: Draft) -> Tree {
    let fields = draft.fields.into_iter();
    fields
        .map(|(name, branch)| {
            let branch = match branch {
                DraftBranch::Whole => Branch::Whole,
                DraftBranch::Inside(inner) => Branch::Inside(finish(inner)),
            };
            (name, branch)
        })
        .collect()
}

fn check_path(added: &[Box<str>], depth: usize) -> Result<(), SelectionError> {
    if depth > bounds::DEPTH {
        return Err(too_large(bounds::DEPTH, "segments in a path"));
    }
    if added.iter().any(|name| name.is_empty()) {
        return Err(refused("a path in select has an empty segment"));
    }
    if added.iter().any(|name| name.starts_with('$')) {
        return Err(refused("select does not support operators; give paths with 1 or 0"));
    }
    Ok(())
}

fn collision() -> SelectionError {
    refused("a path in select appears twice or is inside another")
}

fn too_large(limit: usize, unit: &str) -> SelectionError {
    SelectionError(format!("select exceeds the limit of {limit} {unit}"))
}

fn refused(message: &str) -> SelectionError {
    SelectionError(message.into())
}
