//! Writes the selected part of event data.

use super::super::document::{Kind, Value};
use super::{Branch, Mode, Tree};

/// Appends the selected part of `value`. Returns false, and appends nothing, if nothing of it is selected.
// Each call goes one level deeper into the document, so recursion is bounded by `DOCUMENT_DEPTH`.
pub(super) fn write(mode: Mode, fields: &Tree, value: Value<'_>, out: &mut Vec<u8>) -> bool {
    match value.kind() {
        Kind::Object => write_object(mode, fields, value, out),
        Kind::Array => write_array(mode, fields, value, out),
        _ if mode == Mode::Keep => return false,
        _ => out.extend_from_slice(value.raw().as_bytes()),
    }
    true
}

fn write_object(mode: Mode, fields: &Tree, object: Value<'_>, out: &mut Vec<u8>) {
    out.push(b'{');
    let mut is_first = true;
    for (key, value) in object.fields() {
        let before = out.len();
        if !is_first {
            out.push(b',');
        }
        out.extend_from_slice(key.raw().as_bytes());
        out.push(b':');
        if write_field(mode, find(fields, key), value, out) {
            is_first = false;
        } else {
            out.truncate(before);
        }
    }
    out.push(b'}');
}

fn write_field(mode: Mode, branch: Option<&Branch>, value: Value<'_>, out: &mut Vec<u8>) -> bool {
    match (mode, branch) {
        (_, Some(Branch::Inside(fields))) => write(mode, fields, value, out),
        (Mode::Keep, Some(Branch::Whole)) | (Mode::Drop, None) => {
            out.extend_from_slice(value.raw().as_bytes());
            true
        }
        (Mode::Keep, None) | (Mode::Drop, Some(Branch::Whole)) => false,
    }
}

fn write_array(mode: Mode, fields: &Tree, array: Value<'_>, out: &mut Vec<u8>) {
    out.push(b'[');
    let mut is_first = true;
    for element in array.elements() {
        let before = out.len();
        if !is_first {
            out.push(b',');
        }
        if write(mode, fields, element, out) {
            is_first = false;
        } else {
            out.truncate(before);
        }
    }
    out.push(b']');
}

fn find<'t>(fields: &'t Tree, key: Value<'_>) -> Option<&'t Branch> {
    let name = key.as_str()?;
    let at = fields.binary_search_by(|(field, _)| (**field).cmp(&*name)).ok()?;
    Some(&fields[at].1)
}
