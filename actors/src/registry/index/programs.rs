//! What of a condition the index has not answered: kept once for all that share it, run at most once per emit.

use super::interner::Interner;
use crate::chunked_slab::NONE;
use crate::condition::{Condition, Effort, Expression, document::Document};
use hashbrown::Equivalent;
use std::hash::{Hash, Hasher};

/// The programs in use. The number [`NONE`] is the empty one, which always holds.
#[derive(Default)]
pub(super) struct Programs {
    interner: Interner<Program>,
}

struct Program {
    /// An `And`: the expressions that must all hold.
    condition: Condition,
    /// The emit that last ran it, and what came out, if the steps sufficed.
    ran: u32,
    held: Option<bool>,
    /// The binary digits of the steps that it had then.
    tried: u8,
}

impl Programs {
    /// The number of the program that asks for all of `rest`, if there is one.
    pub(super) fn find(&self, rest: &[&Expression]) -> Option<u32> {
        match rest {
            [] => Some(NONE),
            _ => self.interner.find(&Rest(rest)),
        }
    }

    /// Adds a holder to the program that asks for all of `rest`.
    pub(super) fn acquire(&mut self, rest: &[&Expression]) -> u32 {
        match rest {
            [] => NONE,
            _ => self.interner.acquire(&Rest(rest), || Program::new(rest)),
        }
    }

    /// Adds a holder to a program that has one.
    pub(super) fn retain(&mut self, program: u32) {
        if program != NONE {
            self.interner.retain(program);
        }
    }

    /// Takes a holder away.
    pub(super) fn release(&mut self, program: u32) {
        if program != NONE {
            self.interner.release(program);
        }
    }

    /// Whether the program holds for the data of `emit`, which is `document`; `None` where to find out takes more than
    /// `effort`. Spends nothing where it was found out before, or not with steps of that many digits.
    pub(super) fn holds(&mut self, program: u32, document: &Document<'_>, emit: u32, effort: &Effort) -> Option<bool> {
        if program == NONE {
            return Some(true);
        }
        let program = &mut self.interner[program];
        let digits = (usize::BITS - effort.allowed().leading_zeros()) as u8;
        if program.ran != emit || (program.held.is_none() && program.tried < digits) {
            program.ran = emit;
            program.tried = digits;
            program.held = program.condition.matches(document, effort);
        }
        program.held
    }

    /// Forgets which emits were seen.
    pub(super) fn forget_emits(&mut self) {
        self.interner.iter_mut().for_each(|program| program.ran = 0);
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.interner.len()
    }
}

impl Program {
    fn new(rest: &[&Expression]) -> Program {
        Program {
            condition: Condition { root: Expression::And(rest.iter().map(|&item| item.clone()).collect()) },
            ran: 0,
            held: None,
            tried: 0,
        }
    }

    fn items(&self) -> &[Expression] {
        match &self.condition.root {
            Expression::And(items) => items,
            other => std::slice::from_ref(other),
        }
    }
}

impl Hash for Program {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.items().hash(state);
    }
}

/// A program not made yet; hashes as the made one does (a reference hashes as what it refers to).
#[derive(Hash)]
struct Rest<'a>(&'a [&'a Expression]);

impl Equivalent<Program> for Rest<'_> {
    fn equivalent(&self, program: &Program) -> bool {
        self.0.iter().copied().eq(program.items())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_rests_are_one_program() {
        let items = [Expression::And([].into()), Expression::Or([].into())];
        let rest: Vec<&Expression> = items.iter().collect();
        let mut programs = Programs::default();
        let first = programs.acquire(&rest);
        assert_eq!(programs.acquire(&rest), first);
        assert_ne!(programs.acquire(&rest[..1]), first);
        assert_eq!(programs.find(&rest), Some(first));
        assert_eq!(programs.acquire(&[]), NONE);
        assert_eq!(programs.len(), 2);
    }
}
