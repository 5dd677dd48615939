//! The worker processes of a run: starts them, gives them orders, sums what they report, and ends them.

use crate::counts::{Counter, Counts, Timings};
use crate::orders::{Message, Order, Report};
use crate::plan::Plan;
use crate::sampling::process;
use std::io::{BufRead as _, BufReader, Write as _};
use std::ops::Range;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};
use thiserror::Error;

/// How long a report may take.
const REPORT_WITHIN: Duration = Duration::from_secs(30);

/// Why a run can't go on.
#[derive(Debug, Error)]
pub enum CrewError {
    #[error("a worker process can't be started: {0}")]
    Start(std::io::Error),
    #[error("a worker process can't be told what to do: {0}")]
    Order(std::io::Error),
    #[error("an order can't be written: {0}")]
    Json(#[from] serde_json::Error),
    #[error("a worker process ended: {0}")]
    Failed(String),
    #[error("a worker process does not report")]
    Silent,
}

/// What was counted and timed in all.
#[derive(Debug)]
pub struct Total {
    pub counts: Counts,
    pub timings: Timings,
}

struct Hand {
    child: Child,
    orders: ChildStdin,
    /// The clients of this process, by number.
    clients: Range<u32>,
    counts: Counts,
    report: Option<Report>,
}

/// The processes of a run. They end with it.
pub struct Crew {
    hands: Vec<Hand>,
    messages: Receiver<(usize, Message)>,
}

impl Crew {
    /// Starts the processes.
    ///
    /// # Errors
    /// [`CrewError`].
    pub fn start(plan: &Plan) -> Result<Crew, CrewError> {
        let (sender, messages) = channel();
        let mut crew = Crew { hands: Vec::new(), messages };
        for (place, clients) in plan.shares().into_iter().enumerate() {
            crew.hands.push(Hand::start(plan, place, clients, sender.clone())?);
        }
        Ok(crew)
    }

    /// The processes' ids.
    pub fn pids(&self) -> Vec<u32> {
        self.hands.iter().map(|hand| hand.child.id()).collect()
    }

    /// The clients of each process, by number.
    pub fn shares(&self) -> Vec<Range<u32>> {
        self.hands.iter().map(|hand| hand.clients.clone()).collect()
    }

    /// Gives every process its order, made of its place and its share of clients.
    ///
    /// # Errors
    /// [`CrewError`].
    pub fn order(&mut self, make: impl Fn(usize, &Range<u32>) -> Order) -> Result<(), CrewError> {
        for (place, hand) in self.hands.iter_mut().enumerate() {
            hand.order(&make(place, &hand.clients.clone()))?;
        }
        Ok(())
    }

    /// What was last heard of all processes' counts, after waiting for news for at most `time`.
    ///
    /// # Errors
    /// [`CrewError`], where a process has ended.
    pub fn counts(&mut self, time: Duration) -> Result<Counts, CrewError> {
        let until = Instant::now() + time;
        loop {
            match self.messages.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok((place, message)) => self.hear(place, message)?,
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => return Err(CrewError::Silent),
            }
        }
        let mut sum = Counts::default();
        self.hands.iter().for_each(|hand| sum.add(&hand.counts));
        Ok(sum)
    }

    /// Asks every process for all that it counted and timed.
    ///
    /// # Errors
    /// [`CrewError`].
    pub fn report(&mut self) -> Result<Total, CrewError> {
        self.ask(&Order::Report)
    }

    /// Lets every process time afresh; what was counted until then.
    ///
    /// # Errors
    /// [`CrewError`].
    pub fn measure(&mut self) -> Result<Counts, CrewError> {
        Ok(self.ask(&Order::Measure)?.counts)
    }

    /// Gives an order that is answered with a report, and waits for all answers.
    fn ask(&mut self, order: &Order) -> Result<Total, CrewError> {
        self.hands.iter_mut().for_each(|hand| hand.report = None);
        self.order(|_, _| order.clone())?;
        let until = Instant::now() + REPORT_WITHIN;
        while self.hands.iter().any(|hand| hand.report.is_none()) {
            let left = until.saturating_duration_since(Instant::now());
            let (place, message) = self.messages.recv_timeout(left).map_err(|_| CrewError::Silent)?;
            self.hear(place, message)?;
        }
        let mut total = Total { counts: Counts::default(), timings: Timings::new() };
        for report in self.hands.iter().filter_map(|hand| hand.report.as_ref()) {
            total.counts.add(&report.counts);
            total.timings.import(&report.timings);
        }
        Ok(total)
    }

    /// CPU seconds of all processes so far.
    pub fn cpu_seconds(&self) -> f64 {
        process::cpu_seconds(&self.pids())
    }

    fn hear(&mut self, place: usize, message: Message) -> Result<(), CrewError> {
        match message {
            Message::Progress(counts) => self.hands[place].counts = counts,
            Message::Report(report) => {
                self.hands[place].counts = report.counts.clone();
                self.hands[place].report = Some(report);
            }
            Message::Failed(cause) => return Err(CrewError::Failed(cause)),
        }
        Ok(())
    }
}

/// Ends the processes: their orders end, and so do they.
impl Drop for Crew {
    fn drop(&mut self) {
        for mut hand in self.hands.drain(..) {
            drop(hand.orders);
            let _ = hand.child.wait();
        }
    }
}

impl Hand {
    fn start(
        plan: &Plan,
        place: usize,
        clients: Range<u32>,
        told: Sender<(usize, Message)>,
    ) -> Result<Hand, CrewError> {
        let program = std::env::current_exe().map_err(CrewError::Start)?;
        // A group of its own: Ctrl+C is for the coordinator, which then asks for what was measured.
        let mut child = Command::new(program)
            .arg("worker")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(CrewError::Start)?;
        let (Some(orders), Some(out)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(CrewError::Silent);
        };
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                let message = serde_json::from_str(&line).unwrap_or(Message::Failed(line));
                if told.send((place, message)).is_err() {
                    return;
                }
            }
            let _ = told.send((place, Message::Failed("no further word".into())));
        });
        let mut hand = Hand { child, orders, clients, counts: Counts::default(), report: None };
        let spec = plan.spec(place, &hand.clients);
        hand.write(&serde_json::to_vec(&spec)?)?;
        Ok(hand)
    }

    fn order(&mut self, order: &Order) -> Result<(), CrewError> {
        self.write(&serde_json::to_vec(order)?)
    }

    fn write(&mut self, line: &[u8]) -> Result<(), CrewError> {
        self.orders.write_all(line).and_then(|()| self.orders.write_all(b"\n")).map_err(CrewError::Order)
    }
}

/// Clients that have come to an end of some kind before they were registered, or after.
pub fn gone(counts: &Counts) -> u64 {
    [Counter::Failed, Counter::Refused, Counter::Lost].into_iter().map(|counter| counts.of(counter)).sum()
}
