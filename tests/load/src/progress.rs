//! The progress of a run: a bar with rate and remaining time on a terminal, otherwise a line every few seconds. It goes
//! to standard error, so that standard output has only the result.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

/// The interval of plain lines.
const LINE_INTERVAL: Duration = Duration::from_secs(5);

/// The progress of one phase.
pub struct Progress {
    title: &'static str,
    total: u64,
    bar: Option<ProgressBar>,
    start: Instant,
    line_at: Instant,
}

impl Progress {
    /// Creates the progress of a phase that ends when its position is `total`.
    pub fn new(title: &'static str, total: u64) -> Progress {
        let start = Instant::now();
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(total).with_prefix(title);
            let template = "{prefix:12} [{bar:30}] {percent:>3} % {msg} {eta} left";
            bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        });
        Progress { title, total, bar, start, line_at: start + LINE_INTERVAL }
    }

    /// Shows the position with a short text.
    pub fn show(&mut self, position: u64, text: impl FnOnce() -> String) {
        if let Some(bar) = &self.bar {
            bar.set_message(text());
            bar.set_position(position);
        } else if Instant::now() >= self.line_at {
            self.line_at += LINE_INTERVAL;
            eprintln!(
                "{}: {} %, {}, {} s left",
                self.title,
                self.percent(position),
                text(),
                self.seconds_left(position)
            );
        }
    }

    fn percent(&self, position: u64) -> u64 {
        position * 100 / self.total.max(1)
    }

    fn seconds_left(&self, position: u64) -> String {
        let left = self.start.elapsed().as_secs_f64() * (self.total as f64 / position as f64 - 1.0).max(0.0);
        if left.is_finite() { format!("{left:.0}") } else { "?".into() }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
