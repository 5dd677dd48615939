//! What a pattern costs before its size is known.
//!
//! Where case is ignored, the `regex` crate looks at each letter of a range, one after the other. `[!-\u{10FFFF}]` is a
//! million letters, or 8 ms, in nine bytes, and brackets in brackets are gone through again at each level: 4 KiB of
//! them took 20 s. So the brackets are counted first, on the syntax tree, which costs no more than the text is long.

use super::super::{ConditionError, bounds};
use super::pattern::not_a_pattern;
use super::{Budget, invalid, too_large};
use regex_syntax::ast::parse::Parser;
use regex_syntax::ast::{Ast, ClassBracketed, ClassSet, ClassSetItem, Flag, Flags, FlagsItemKind, GroupKind};
use regex_syntax::ast::{Visitor, visit};
use std::convert::Infallible;

/// What may be any number of letters counts as all of them.
const ALL_LETTERS: usize = 0x11_0000;

/// Charges the letters that would be folded, and refuses set operations: to MongoDB `[a&&b]` is three letters.
pub(super) fn charge(pattern: &str, budget: &mut Budget) -> Result<(), ConditionError> {
    let tree = Parser::new().parse(pattern).map_err(|_| not_a_pattern())?;
    let Ok(found) = visit(&tree, Folding::default());
    if found.has_operations {
        return Err(invalid("$regex: && -- and ~~ in brackets must be escaped".into()));
    }
    if found.ignores_case {
        let left = budget.folded_letters.checked_sub(found.letters);
        budget.folded_letters =
            left.ok_or_else(|| too_large("letters in brackets that ignore case", bounds::FOLDED_LETTERS))?;
    }
    Ok(())
}

#[derive(Default)]
struct Folding {
    /// Anywhere in the pattern.
    ignores_case: bool,
    /// Letters that are folded, each as often as that is done.
    letters: usize,
    has_operations: bool,
}

impl Visitor for Folding {
    type Output = Folding;
    type Err = Infallible;

    fn finish(self) -> Result<Folding, Infallible> {
        Ok(self)
    }

    fn visit_pre(&mut self, part: &Ast) -> Result<(), Infallible> {
        match part {
            Ast::Flags(set) => self.read_flags(&set.flags),
            Ast::Group(group) => {
                if let GroupKind::NonCapturing(flags) = &group.kind {
                    self.read_flags(flags);
                }
            }
            Ast::ClassUnicode(_) => self.letters += ALL_LETTERS,
            Ast::ClassBracketed(class) => {
                self.count(class);
            }
            _ => {}
        }
        Ok(())
    }
}

impl Folding {
    fn read_flags(&mut self, flags: &Flags) {
        self.ignores_case |= flags.items.iter().any(|item| item.kind == FlagsItemKind::Flag(Flag::CaseInsensitive));
    }

    /// How many letters are in brackets, those that are folded on the way counted.
    // Recursion is bounded by the parser: 250 levels.
    fn count(&mut self, class: &ClassBracketed) -> usize {
        let letters = match &class.kind {
            ClassSet::Item(ClassSetItem::Union(union)) => self.count_items(&union.items),
            ClassSet::Item(item) => self.count_items(std::slice::from_ref(item)),
            ClassSet::BinaryOp(_) => {
                self.has_operations = true;
                ALL_LETTERS
            }
        };
        // Folded before it is negated.
        if class.negated { ALL_LETTERS } else { letters }
    }

    fn count_items(&mut self, items: &[ClassSetItem]) -> usize {
        let mut letters = 0;
        // What is nothing but folded brackets is not folded again.
        let mut is_folded = true;
        for item in items {
            letters += match item {
                ClassSetItem::Bracketed(inner) => self.count(inner),
                other => {
                    is_folded = false;
                    letters_of(other)
                }
            };
        }
        if !is_folded {
            self.letters += letters;
        }
        letters
    }
}

fn letters_of(item: &ClassSetItem) -> usize {
    match item {
        ClassSetItem::Empty(_) => 0,
        ClassSetItem::Literal(_) => 1,
        ClassSetItem::Range(range) => 1 + range.end.c as usize - range.start.c as usize,
        ClassSetItem::Ascii(class) if !class.negated => 128,
        _ => ALL_LETTERS,
    }
}
