//! The id of an emit.

use std::fmt;
use std::str::FromStr;

/// The id of an emit. It is unique among all nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EmitId {
    node: u64,
    number: u64,
}

/// The text is not the id of an emit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an emit's id is two hexadecimal numbers with a hyphen between them")]
pub struct EmitIdError;

impl EmitId {
    /// The id of emit `number` of node `node`. Node numbers are random.
    pub const fn new(node: u64, number: u64) -> EmitId {
        EmitId { node, number }
    }

    /// The number of the emit on its node.
    pub const fn number(self) -> u64 {
        self.number
    }
}

impl fmt::Display for EmitId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:016x}-{:x}", self.node, self.number)
    }
}

impl FromStr for EmitId {
    type Err = EmitIdError;

    fn from_str(text: &str) -> Result<EmitId, EmitIdError> {
        let (node, number) = text.split_once('-').ok_or(EmitIdError)?;
        let read = |digits: &str| u64::from_str_radix(digits, 16).map_err(|_| EmitIdError);
        Ok(EmitId { node: read(node)?, number: read(number)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_as_it_is_written() {
        for id in [EmitId::new(0, 0), EmitId::new(0xa1, 17), EmitId::new(u64::MAX, u64::MAX)] {
            assert_eq!(id.to_string().parse(), Ok(id));
        }
        for text in ["", "-", "1", "1-", "g-1", "1-2-3", "11111111111111111-1"] {
            assert_eq!(text.parse::<EmitId>(), Err(EmitIdError), "{text}");
        }
    }
}
