//! Log lines for people: `[time LEVEL target] message key=value`.

use env_logger::fmt::Formatter;
use log::Record;
use log::kv::{Error, Key, Value, VisitSource};
use std::fmt;
use std::io::{self, Write};

/// Writes one line. A value with a space or a control character is quoted, so that one event is always one line.
pub fn write(formatter: &mut Formatter, record: &Record<'_>) -> io::Result<()> {
    let style = formatter.default_level_style(record.level());
    let time = formatter.timestamp_millis();
    write!(formatter, "[{time} {style}{:<5}{style:#} {}] ", record.level(), record.target())?;
    write_one_line(formatter, record.args())?;
    record.key_values().visit(&mut Fields(formatter)).map_err(io::Error::other)?;
    writeln!(formatter)
}

struct Fields<'a, W>(&'a mut W);

impl<'kvs, W: Write> VisitSource<'kvs> for Fields<'_, W> {
    fn visit_pair(&mut self, key: Key<'kvs>, value: Value<'kvs>) -> Result<(), Error> {
        let text = value.to_string();
        let is_plain =
            !text.is_empty() && text.chars().all(|each| !each.is_whitespace() && !each.is_control() && each != '"');
        if is_plain {
            write!(self.0, " {key}={text}")?
        } else {
            write!(self.0, " {key}={text:?}")?
        }
        Ok(())
    }
}

/// The message, with its line breaks and other control characters escaped.
fn write_one_line(out: &mut impl Write, message: &fmt::Arguments<'_>) -> io::Result<()> {
    for each in message.to_string().chars() {
        if each.is_control() { write!(out, "{}", each.escape_default())? } else { write!(out, "{each}")? }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_would_run_into_the_next_one_is_quoted() {
        let mut line = Vec::new();
        let pairs = [
            ("user", Value::from("u 1")),
            ("empty", Value::from("")),
            ("sessions", Value::from(3)),
            ("quote", Value::from("a\"\n")),
        ];
        let source: &[(&str, Value<'_>)] = &pairs;
        log::kv::Source::visit(&source, &mut Fields(&mut line)).unwrap();
        assert_eq!(String::from_utf8(line).unwrap(), r#" user="u 1" empty="" sessions=3 quote="a\"\n""#);
    }

    #[test]
    fn a_message_stays_one_line() {
        let mut line = Vec::new();
        write_one_line(&mut line, &format_args!("a\nb\tä")).unwrap();
        assert_eq!(String::from_utf8(line).unwrap(), "a\\nb\\tä");
    }
}
