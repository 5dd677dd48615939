//! Log lines for machines: one JSON object with time, level, target, message, and a member for each field.

use env_logger::fmt::Formatter;
use log::Record;
use log::kv::{Error, Key, Value, VisitSource, VisitValue};
use std::fmt::Display;
use std::io::{self, Write};

/// The members of every line. A field with such a name is written as `field.NAME`, so that no member occurs twice.
const MEMBERS: [&str; 4] = ["time", "level", "target", "message"];

/// Writes one line.
pub fn write(formatter: &mut Formatter, record: &Record<'_>) -> io::Result<()> {
    let time = formatter.timestamp_millis();
    write_line(formatter, &time, record)
}

fn write_line(out: &mut impl Write, time: &dyn Display, record: &Record<'_>) -> io::Result<()> {
    let level = record.level().as_str().to_ascii_lowercase();
    write!(out, r#"{{"time":"{time}","level":"{level}","target":{}"#, quoted(record.target())?)?;
    write!(out, r#","message":{}"#, quoted(&record.args().to_string())?)?;
    record.key_values().visit(&mut Fields(out)).map_err(io::Error::other)?;
    writeln!(out, "}}")
}

fn quoted(text: &str) -> io::Result<String> {
    Ok(serde_json::to_string(text)?)
}

struct Fields<'a, W>(&'a mut W);

impl<'kvs, W: Write> VisitSource<'kvs> for Fields<'_, W> {
    fn visit_pair(&mut self, key: Key<'kvs>, value: Value<'kvs>) -> Result<(), Error> {
        let key = key.as_str();
        let prefix = if MEMBERS.contains(&key) { "field." } else { "" };
        write!(self.0, ",{}:", quoted(&format!("{prefix}{key}"))?)?;
        value.visit(Member(self.0))
    }
}

/// Writes a value. Numbers, booleans and null stay what they are. Everything else becomes a string.
struct Member<'a, W>(&'a mut W);

impl<'v, W: Write> VisitValue<'v> for Member<'_, W> {
    fn visit_any(&mut self, value: Value<'_>) -> Result<(), Error> {
        self.visit_str(&value.to_string())
    }

    fn visit_null(&mut self) -> Result<(), Error> {
        Ok(write!(self.0, "null")?)
    }

    fn visit_u64(&mut self, value: u64) -> Result<(), Error> {
        Ok(write!(self.0, "{value}")?)
    }

    fn visit_i64(&mut self, value: i64) -> Result<(), Error> {
        Ok(write!(self.0, "{value}")?)
    }

    fn visit_f64(&mut self, value: f64) -> Result<(), Error> {
        // JSON has no infinity.
        if value.is_finite() { Ok(write!(self.0, "{value}")?) } else { self.visit_null() }
    }

    fn visit_bool(&mut self, value: bool) -> Result<(), Error> {
        Ok(write!(self.0, "{value}")?)
    }

    fn visit_str(&mut self, value: &str) -> Result<(), Error> {
        Ok(write!(self.0, "{}", quoted(value)?)?)
    }

    fn visit_char(&mut self, value: char) -> Result<(), Error> {
        self.visit_str(value.encode_utf8(&mut [0; 4]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use log::Level;

    #[test]
    fn a_line_is_one_object_whatever_the_message_and_the_fields_hold() {
        let fields: &[(&str, Value<'_>)] = &[
            ("user", Value::from("a\"\n\u{1}")),
            ("sessions", Value::from(3_u64)),
            ("ready", Value::from(false)),
            ("share", Value::from(f64::NAN)),
            ("ratio", Value::from(0.5)),
            ("time", Value::from("noon")),
        ];
        let mut line = Vec::new();
        let message = format_args!("two\nlines \"quoted\"");
        let record = Record::builder().level(Level::Warn).target("carillon").args(message).key_values(&fields).build();
        write_line(&mut line, &"2026-01-02T03:04:05.678Z", &record).unwrap();
        let text = String::from_utf8(line).unwrap();
        assert_eq!(text.lines().count(), 1, "{text}");
        let object: serde_json::Value = serde_json::from_str(&text).unwrap();
        let expected = serde_json::json!({
            "time": "2026-01-02T03:04:05.678Z", "level": "warn", "target": "carillon",
            "message": "two\nlines \"quoted\"", "user": "a\"\n\u{1}", "sessions": 3, "ready": false,
            "share": null, "ratio": 0.5, "field.time": "noon",
        });
        assert_eq!(object, expected);
    }
}
