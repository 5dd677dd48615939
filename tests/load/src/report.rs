//! The result of a run, as a table or as JSON.

use crate::counts::{Counts, Timing, Timings};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::Path;

/// The reported quantiles with their names.
const QUANTILES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999)];

/// The rows of the table, and the same values as JSON.
#[derive(Debug, Default)]
pub struct Report {
    table: String,
    json: Map<String, Value>,
}

impl Report {
    pub fn new(command: &str) -> Report {
        let mut report = Report::default();
        report.json.insert("command".into(), command.into());
        report
    }

    /// Adds a figure: `name` is its key in JSON, `label` its label in the table.
    pub fn figure(&mut self, name: &str, label: &str, value: f64) {
        self.json.insert(name.into(), json!(value));
        let _ = writeln!(self.table, "{label:<44} {:>16}", format_number(value));
    }

    /// Adds a figure that is unknown: null in JSON.
    pub fn unknown(&mut self, name: &str, label: &str, cause: &str) {
        self.json.insert(name.into(), Value::Null);
        let _ = writeln!(self.table, "{label:<44} {cause:>16}");
    }

    /// Adds a figure that may be unknown.
    pub fn optional_figure(&mut self, name: &str, label: &str, value: Option<f64>) {
        match value {
            Some(value) if value.is_finite() => self.figure(name, label, value),
            _ => self.unknown(name, label, "unknown"),
        }
    }

    /// Adds all counts: of the measured time, and since the start.
    pub fn counts(&mut self, measured: &Counts, total: &Counts) {
        self.json.insert("measured".into(), json!(measured));
        self.json.insert("total".into(), json!(total));
        for (counter, count) in &total.counters {
            let name = json!(counter);
            let name = name.as_str().unwrap_or_default();
            let _ = writeln!(self.table, "  {name:<20} {:>14} of {:>14}", measured.of(*counter), count);
        }
        for (label, map) in [("close code", &total.closes), ("status", &total.statuses)] {
            map.iter().for_each(|(key, count)| {
                let _ = writeln!(self.table, "  {label} {key:<9} {count:>32}");
            });
        }
    }

    /// Adds percentiles in microseconds.
    pub fn timing(&mut self, timing: Timing, label: &str, timings: &Timings) {
        let Some(histogram) = timings.of(timing).filter(|histogram| !histogram.is_empty()) else { return };
        let micros = |nanoseconds: u64| nanoseconds as f64 / 1e3;
        let mut values = Map::new();
        let _ = write!(self.table, "{label:<30}");
        for (name, quantile) in QUANTILES {
            let value = micros(histogram.value_at_quantile(quantile));
            values.insert(name.into(), json!(value));
            let _ = write!(self.table, " {name} {:>9}", format_number(value));
        }
        values.insert("max".into(), json!(micros(histogram.max())));
        values.insert("count".into(), json!(histogram.len()));
        let _ = writeln!(self.table, " max {:>9} µs", format_number(micros(histogram.max())));
        let name = json!(timing);
        self.json.insert(format!("{}_us", name.as_str().unwrap_or_default()), Value::Object(values));
    }

    /// Adds a value to the JSON only.
    pub fn value(&mut self, name: &str, value: Value) {
        self.json.insert(name.into(), value);
    }

    /// Adds a line to the table only.
    pub fn line(&mut self, label: &str) {
        let _ = writeln!(self.table, "{label}");
    }

    /// Prints the table, and writes the JSON if there is a file for it.
    ///
    /// # Errors
    /// If writing fails.
    pub fn write(self, file: Option<&Path>) -> io::Result<()> {
        let json = Value::Object(self.json);
        match file {
            Some(file) if file.as_os_str() == "-" => writeln!(io::stdout().lock(), "{json:#}"),
            Some(file) => {
                std::fs::write(file, format!("{json:#}\n"))?;
                write!(io::stdout().lock(), "{}", self.table)
            }
            None => write!(io::stdout().lock(), "{}", self.table),
        }
    }
}

/// A number with thousands separators, and with decimals only if it is small.
pub fn format_number(value: f64) -> String {
    if value.abs() < 100.0 && value.fract() != 0.0 {
        return format!("{value:.2}");
    }
    let digits = format!("{:.0}", value.abs());
    let mut text = String::from(if value < 0.0 { "-" } else { "" });
    for (index, digit) in digits.char_indices() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_thousands_separators_and_decimals_only_when_small() {
        let all = [0.0, 3.456, -12.0, 999.6, 1234567.0, -1000.0].map(format_number);
        assert_eq!(all, ["0", "3.46", "-12", "1,000", "1,234,567", "-1,000"]);
    }
}
