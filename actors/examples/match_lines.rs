//! Evaluates conditions line by line, to compare other implementations with ours.
//!
//! Reads `{"criteria": …, "data": …}` on standard input and prints `true`, `false` or `error CODE message` for each.

use actors::condition::document::{Document, Value};
use actors::condition::{Condition, ConditionError, CostBudget};
use actors::protocol::codes::ErrorCode;
use std::io::{self, BufRead, BufWriter, Write};

fn main() -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    for line in io::stdin().lock().lines() {
        writeln!(out, "{}", answer(&line?))?;
    }
    out.flush()
}

fn answer(line: &str) -> String {
    let document = match Document::parse(line) {
        Ok(document) => document,
        Err(error) => return error_line(ErrorCode::InvalidJson, &error.to_string()),
    };
    let field = |name| document.root().field(name).as_ref().map(Value::raw);
    let (Some(criteria), Some(data)) = (field("criteria"), field("data")) else {
        return error_line(ErrorCode::InvalidJson, "a line must have criteria and data");
    };
    match (Condition::parse(criteria), Document::parse(data)) {
        (Ok(condition), Ok(data)) => match condition.matches(&data, &CostBudget::default()) {
            Some(matches) => matches.to_string(),
            None => error_line(ErrorCode::ConditionTooLarge, "the condition takes too many steps on this data"),
        },
        (Err(ConditionError::Invalid(message)), _) => error_line(ErrorCode::ConditionInvalid, &message),
        (Err(ConditionError::TooLarge(message)), _) => error_line(ErrorCode::ConditionTooLarge, &message),
        (_, Err(error)) => error_line(ErrorCode::InvalidJson, &error.to_string()),
    }
}

fn error_line(code: ErrorCode, message: &str) -> String {
    format!("error {} {message}", code.as_str())
}
