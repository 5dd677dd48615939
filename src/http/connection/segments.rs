//! Splits input at blank lines, so that no piece contains more than one request head.
//!
//! The HTTP library parses the heads. Here, a line is anything that ends with a line feed.

/// Finds blank lines in input that may arrive in any pieces.
#[derive(Default)]
pub(super) struct LineScanner {
    /// The current line has bytes besides its carriage return.
    has_text: bool,
    ends_with_carriage_return: bool,
    has_bare_line_feed: bool,
}

impl LineScanner {
    /// The length up to and with the next blank line, or `None` if there is none.
    pub(super) fn scan(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut start = 0;
        for at in memchr::memchr_iter(b'\n', bytes) {
            let line = &bytes[start..at];
            self.add_to_line(line);
            self.has_bare_line_feed |= !self.ends_with_carriage_return;
            let is_blank = !self.has_text;
            (self.has_text, self.ends_with_carriage_return) = (false, false);
            start = at + 1;
            if is_blank {
                return Some(start);
            }
        }
        self.add_to_line(&bytes[start..]);
        None
    }

    /// Whether a line has ended with a line feed alone since the last call.
    pub(super) fn take_bare_line_feed(&mut self) -> bool {
        std::mem::take(&mut self.has_bare_line_feed)
    }

    fn add_to_line(&mut self, part: &[u8]) {
        let Some((last, before)) = part.split_last() else { return };
        // A carriage return in the middle of a line is text.
        self.has_text |= !before.is_empty() || self.ends_with_carriage_return || *last != b'\r';
        self.ends_with_carriage_return = *last == b'\r';
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The segments of `input` in pieces of `size` bytes: their lengths, and whether they have bare line feeds.
    fn segments(input: &[u8], size: usize) -> Vec<(usize, bool)> {
        let (mut scanner, mut found, mut length) = (LineScanner::default(), Vec::new(), 0);
        for mut piece in input.chunks(size) {
            while !piece.is_empty() {
                let end = scanner.scan(piece);
                length += end.unwrap_or(piece.len());
                piece = &piece[end.unwrap_or(piece.len())..];
                if end.is_some() {
                    found.push((std::mem::take(&mut length), scanner.take_bare_line_feed()));
                }
            }
        }
        found
    }

    #[test]
    fn a_segment_ends_with_its_blank_line_in_pieces_of_any_size() {
        let input = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n\r\nGET /\nHost: b\r\n\r\nrest";
        for size in 1..=input.len() {
            assert_eq!(segments(input, size), [(27, false), (2, false), (17, true)], "in pieces of {size}");
        }
    }

    #[test]
    fn a_line_feed_alone_ends_a_blank_line_and_is_reported() {
        assert_eq!(segments(b"a\r\n\n", 1), [(4, true)]);
        assert_eq!(segments(b"a\r\n\r\r\nb\r\n\r\n", 2), [(11, false)]);
    }
}
