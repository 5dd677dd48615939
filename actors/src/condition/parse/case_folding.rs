//! The cost of case folding, checked before a pattern is compiled.
//!
//! In a case-insensitive pattern, the `regex` crate folds every character of a class on its own. `[!-\u{10FFFF}]` is a
//! million characters, or 8 ms, in nine bytes, and nested classes are folded again at each level: 4 KiB of them took 20
//! s. So the characters are counted first, on the syntax tree, in time linear in the length of the pattern.

use super::super::{ConditionError, bounds};
use super::budget::ParseBudget;
use super::problems::{invalid, invalid_pattern, too_large};
use regex_syntax::ast::parse::Parser;
use regex_syntax::ast::{Ast, ClassBracketed, ClassSet, ClassSetItem, Flag, Flags, FlagsItemKind, GroupKind};
use regex_syntax::ast::{Visitor, visit};
use std::convert::Infallible;

/// A class of unknown size counts as all characters.
const ALL_CHARACTERS: usize = 0x11_0000;

/// Charges the characters that would be folded. Refuses set operations, because `[a&&b]` is a plain class in MongoDB.
pub(super) fn charge(pattern: &str, budget: &mut ParseBudget) -> Result<(), ConditionError> {
    let tree = Parser::new().parse(pattern).map_err(|_| invalid_pattern())?;
    let Ok(found) = visit(&tree, CaseFolding::default());
    if found.has_operations {
        return Err(invalid(r"$regex does not support &&, -- or ~~ in brackets; escape them, as in [a\&\&b]"));
    }
    if found.ignores_case {
        let left = budget.folded_characters.checked_sub(found.characters);
        budget.folded_characters =
            left.ok_or_else(|| too_large(bounds::FOLDED_CHARACTERS, "characters in brackets that ignore case"))?;
    }
    Ok(())
}

#[derive(Default)]
struct CaseFolding {
    /// Whether any part of the pattern ignores case.
    ignores_case: bool,
    /// The characters that are folded, each counted as often as it is folded.
    characters: usize,
    has_operations: bool,
}

impl Visitor for CaseFolding {
    type Output = CaseFolding;
    type Err = Infallible;

    fn finish(self) -> Result<CaseFolding, Infallible> {
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
            Ast::ClassUnicode(_) => self.characters += ALL_CHARACTERS,
            Ast::ClassBracketed(class) => {
                self.count(class);
            }
            _ => {}
        }
        Ok(())
    }
}

impl CaseFolding {
    fn read_flags(&mut self, flags: &Flags) {
        self.ignores_case |= flags.items.iter().any(|item| item.kind == FlagsItemKind::Flag(Flag::CaseInsensitive));
    }

    /// The number of characters in a class. Counts those that are folded on the way.
    // Recursion is bounded by the parser: 250 levels.
    fn count(&mut self, class: &ClassBracketed) -> usize {
        let characters = match &class.kind {
            ClassSet::Item(ClassSetItem::Union(union)) => self.count_items(&union.items),
            ClassSet::Item(item) => self.count_items(std::slice::from_ref(item)),
            ClassSet::BinaryOp(_) => {
                self.has_operations = true;
                ALL_CHARACTERS
            }
        };
        // A class is folded before it is negated.
        if class.negated { ALL_CHARACTERS } else { characters }
    }

    fn count_items(&mut self, items: &[ClassSetItem]) -> usize {
        let mut characters = 0;
        // A class that consists of folded classes only is not folded again.
        let mut is_folded = true;
        for item in items {
            characters += match item {
                ClassSetItem::Bracketed(inner) => self.count(inner),
                other => {
                    is_folded = false;
                    characters_of(other)
                }
            };
        }
        if !is_folded {
            self.characters += characters;
        }
        characters
    }
}

fn characters_of(item: &ClassSetItem) -> usize {
    match item {
        ClassSetItem::Empty(_) => 0,
        ClassSetItem::Literal(_) => 1,
        ClassSetItem::Range(range) => 1 + range.end.c as usize - range.start.c as usize,
        ClassSetItem::Ascii(class) if !class.negated => 128,
        _ => ALL_CHARACTERS,
    }
}
