//! Parses and validates JSON text (RFC 8259) into a tape of [`Node`]s. It does not recurse, so nesting uses no stack.

use super::DocumentError;
use super::duplicates::hide_duplicates;
use super::node::{NONE, Node, Tag};

/// Parses one JSON value with at most `depth` levels. Anything after it is an error.
pub(super) fn read(text: &str, depth: usize) -> Result<Vec<Node>, DocumentError> {
    // Positions have 32 bits. Longer texts are refused earlier.
    if text.len() >= NONE as usize {
        return Err(DocumentError::Syntax(text.len()));
    }
    let reader = Reader {
        text,
        bytes: text.as_bytes(),
        position: 0,
        nodes: Vec::with_capacity(text.len() / 8 + 2),
        open: NONE,
        levels_left: depth,
    };
    reader.read_document()
}

struct Reader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    position: usize,
    nodes: Vec<Node>,
    /// The innermost open container.
    open: u32,
    levels_left: usize,
}

impl Reader<'_> {
    fn read_document(mut self) -> Result<Vec<Node>, DocumentError> {
        loop {
            self.skip_whitespace();
            let opened = self.read_value()?;
            self.skip_whitespace();
            if opened && self.peek() != Some(self.closing()) {
                self.read_key_of_object()?;
                continue;
            }
            if self.finish_value()? {
                return Ok(self.nodes);
            }
        }
    }

    /// Reads commas and closing brackets after a value. True at the end of the document, false before another value.
    fn finish_value(&mut self) -> Result<bool, DocumentError> {
        loop {
            self.skip_whitespace();
            match self.peek() {
                None if self.open == NONE => return Ok(true),
                _ if self.open == NONE => return Err(self.syntax()),
                Some(b',') => {
                    self.position += 1;
                    self.skip_whitespace();
                    self.read_key_of_object()?;
                    return Ok(false);
                }
                Some(byte) if byte == self.closing() => self.close(),
                _ => return Err(self.syntax()),
            }
        }
    }

    /// Returns whether it opened a container.
    fn read_value(&mut self) -> Result<bool, DocumentError> {
        match self.peek() {
            Some(b'"') => self.read_string()?,
            Some(b'{') => return self.open(Tag::Object),
            Some(b'[') => return self.open(Tag::Array),
            Some(b'-' | b'0'..=b'9') => self.read_number()?,
            Some(b't') => self.read_keyword("true", Tag::True)?,
            Some(b'f') => self.read_keyword("false", Tag::False)?,
            Some(b'n') => self.read_keyword("null", Tag::Null)?,
            _ => return Err(self.syntax()),
        }
        Ok(false)
    }

    fn open(&mut self, tag: Tag) -> Result<bool, DocumentError> {
        let Some(levels_left) = self.levels_left.checked_sub(1) else {
            return Err(DocumentError::TooDeep);
        };
        self.levels_left = levels_left;
        let parent = self.open;
        self.open = self.nodes.len() as u32;
        self.push(self.position, tag, false);
        self.nodes[self.open as usize].next = parent;
        self.position += 1;
        Ok(true)
    }

    fn close(&mut self) {
        self.position += 1;
        self.levels_left += 1;
        let index = self.open as usize;
        let after = self.nodes.len() as u32;
        let node = &mut self.nodes[index];
        self.open = node.next;
        node.next = after;
        node.end = self.position as u32;
        if node.tag == Tag::Object {
            hide_duplicates(self.text, &mut self.nodes, index);
        }
    }

    /// The closing bracket of the innermost container.
    fn closing(&self) -> u8 {
        match self.nodes.get(self.open as usize) {
            Some(node) if node.tag == Tag::Object => b'}',
            _ => b']',
        }
    }

    /// Reads a key and its colon, if the innermost container is an object.
    fn read_key_of_object(&mut self) -> Result<(), DocumentError> {
        if self.closing() != b'}' {
            return Ok(());
        }
        if self.peek() != Some(b'"') {
            return Err(self.syntax());
        }
        self.read_string()?;
        self.skip_whitespace();
        if self.peek() != Some(b':') {
            return Err(self.syntax());
        }
        self.position += 1;
        Ok(())
    }

    fn read_keyword(&mut self, word: &str, tag: Tag) -> Result<(), DocumentError> {
        if !self.bytes[self.position..].starts_with(word.as_bytes()) {
            return Err(self.syntax());
        }
        let start = self.position;
        self.position += word.len();
        self.push(start, tag, false);
        Ok(())
    }

    fn read_string(&mut self) -> Result<(), DocumentError> {
        let start = self.position;
        let mut escaped = false;
        self.position += 1;
        loop {
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => {
                    escaped = true;
                    self.read_escape()?;
                }
                Some(0x20..) => self.position += 1,
                _ => return Err(self.syntax()),
            }
        }
        self.position += 1;
        self.push(start, Tag::String, escaped);
        Ok(())
    }

    fn read_escape(&mut self) -> Result<(), DocumentError> {
        self.position += 1;
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.position += 1,
            Some(b'u') => {
                self.position += 1;
                for _ in 0..4 {
                    if !self.peek().is_some_and(|byte| byte.is_ascii_hexdigit()) {
                        return Err(self.syntax());
                    }
                    self.position += 1;
                }
            }
            _ => return Err(self.syntax()),
        }
        Ok(())
    }

    fn read_number(&mut self) -> Result<(), DocumentError> {
        let start = self.position;
        if self.peek() == Some(b'-') {
            self.position += 1;
        }
        match self.peek() {
            Some(b'0') => self.position += 1,
            _ => self.read_digits()?,
        }
        if self.peek() == Some(b'.') {
            self.position += 1;
            self.read_digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.position += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.position += 1;
            }
            self.read_digits()?;
        }
        self.push(start, Tag::Number, false);
        Ok(())
    }

    fn read_digits(&mut self) -> Result<(), DocumentError> {
        let start = self.position;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.position += 1;
        }
        if self.position == start {
            return Err(self.syntax());
        }
        Ok(())
    }

    fn push(&mut self, start: usize, tag: Tag, escaped: bool) {
        self.nodes.push(Node {
            start: start as u32,
            end: self.position as u32,
            next: self.nodes.len() as u32 + 1,
            tag,
            escaped,
            hidden: false,
        });
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.position).copied()
    }

    fn skip_whitespace(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.position += 1;
        }
    }

    fn syntax(&self) -> DocumentError {
        DocumentError::Syntax(self.position)
    }
}
