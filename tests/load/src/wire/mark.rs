//! The mark in the data of each event: the run that emitted it, the time, and its number within its audience.
//!
//! It has a fixed width and no quotes, so that it is found in the notifications of any server without parsing the JSON,
//! escaped or not.

use memchr::memmem::Finder;
use std::fmt;
use std::sync::LazyLock;

const START: &[u8] = b"cl~";
/// `cl~RRRRRRRR~TTTTTTTTTTTTTTTTTTT~NNNNNNNNNN`: hexadecimal, decimal, decimal.
const RUN: std::ops::Range<usize> = 3..11;
const TIME: std::ops::Range<usize> = 12..31;
const NUMBER: std::ops::Range<usize> = 32..42;

static FINDER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(START));

/// The contents of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Identifies the run.
    pub run: u32,
    /// The scheduled time of the event, in nanoseconds of the monotonic clock.
    pub time: u64,
    /// The number of earlier events for the same audience.
    pub number: u32,
}

impl fmt::Display for Mark {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "cl~{:08x}~{:019}~{:010}", self.run, self.time, self.number)
    }
}

/// The first mark in a message, and the bytes after it.
pub fn find(message: &[u8]) -> Option<(Mark, &[u8])> {
    let mark = &message[FINDER.find(message)?..];
    let run = u32::from_str_radix(std::str::from_utf8(mark.get(RUN)?).ok()?, 16).ok()?;
    let number = u32::try_from(decimal(mark.get(NUMBER)?)?).ok()?;
    Some((Mark { run, time: decimal(mark.get(TIME)?)?, number }, &mark[NUMBER.end..]))
}

fn decimal(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0_u64, |sum, digit| {
        let digit = digit.checked_sub(b'0').filter(|digit| *digit < 10)?;
        sum.checked_mul(10)?.checked_add(digit.into())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_found_anywhere_in_a_message() {
        for mark in [Mark { run: 0, time: 0, number: 0 }, Mark { run: u32::MAX, time: 1 << 62, number: u32::MAX }] {
            assert_eq!(
                find(format!(r#"{{"data":"{{\"m\":\"{mark}\"}}"}}"#).as_bytes()),
                Some((mark, br#"\"}"}"#.as_slice()))
            );
        }
    }

    #[test]
    fn a_truncated_or_malformed_mark_is_not_found() {
        let text = Mark { run: 1, time: 2, number: 3 }.to_string();
        assert_eq!(find(&text.as_bytes()[..text.len() - 1]), None);
        assert_eq!(find(text.replace('2', "x").as_bytes()), None);
        assert_eq!(find(b"nothing here"), None);
    }
}
