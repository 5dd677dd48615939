//! Asks the operator before a command does something that cannot be undone.

use std::io::{BufRead as _, IsTerminal as _, Write as _};

use super::catalogue::AccessFailure;

/// Longest answer that is read from the terminal.
const MAX_ANSWER_BYTES: u64 = 64;

/// Asks `question` on the terminal. Only the answer `yes` continues.
///
/// # Errors
/// [`AccessFailure::Argument`] if the answer is not `yes`, or if standard input is not a terminal: a script
/// gives `--yes`.
pub(super) fn confirm(question: &str) -> Result<(), AccessFailure> {
    let input = std::io::stdin();
    if !input.is_terminal() {
        let message = format!("{question} Standard input is not a terminal: give --yes to do it without asking");
        return Err(AccessFailure::Argument(message));
    }
    let mut error = std::io::stderr();
    // If standard error is closed, the operator sees no question and types no yes.
    let _ = write!(error, "{question} Type yes to continue: ").and_then(|()| error.flush());
    let mut answer = String::new();
    let read = std::io::Read::take(input.lock(), MAX_ANSWER_BYTES).read_line(&mut answer);
    if read.is_ok() && answer.trim() == "yes" {
        Ok(())
    } else {
        Err(AccessFailure::Argument("nothing was done: the answer was not yes".to_owned()))
    }
}
