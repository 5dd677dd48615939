//! The mark in each event's data: which run emitted it, when, and as which of its audience's.
//!
//! Of fixed width and without quotes, so that it is found in a notification of any server without reading its JSON,
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

/// What is told with each event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Tells the events of this run from others'.
    pub run: u32,
    /// When it was to be emitted, in nanoseconds of the system's monotonic clock.
    pub time: u64,
    /// How many this audience was emitted before it.
    pub number: u32,
}

impl fmt::Display for Mark {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "cl~{:08x}~{:019}~{:010}", self.run, self.time, self.number)
    }
}

/// The first mark in a message, and what is behind it.
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
    fn a_mark_is_found_again_wherever_it_stands() {
        for mark in [Mark { run: 0, time: 0, number: 0 }, Mark { run: u32::MAX, time: 1 << 62, number: u32::MAX }] {
            assert_eq!(
                find(format!(r#"{{"data":"{{\"m\":\"{mark}\"}}"}}"#).as_bytes()),
                Some((mark, br#"\"}"}"#.as_slice()))
            );
        }
    }

    #[test]
    fn what_is_cut_short_or_no_number_is_no_mark() {
        let text = Mark { run: 1, time: 2, number: 3 }.to_string();
        assert_eq!(find(&text.as_bytes()[..text.len() - 1]), None);
        assert_eq!(find(text.replace('2', "x").as_bytes()), None);
        assert_eq!(find(b"nothing here"), None);
    }
}
