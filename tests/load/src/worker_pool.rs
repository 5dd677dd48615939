//! The worker processes of a run: starts them, sends them instructions, adds up their reports, and stops them.

use crate::counts::{Counter, Counts, Timings};
use crate::instructions::{Instruction, Message, Report};
use crate::plan::Plan;
use crate::sampling::process;
use std::io::{BufRead as _, BufReader, Write as _};
use std::ops::Range;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};
use thiserror::Error;

/// Timeout of a report.
const REPORT_TIMEOUT: Duration = Duration::from_secs(30);

/// Why a run can't continue.
#[derive(Debug, Error)]
pub enum WorkerPoolError {
    #[error("a worker process can't be started: {0}")]
    Start(std::io::Error),
    #[error("a worker process can't be sent an instruction: {0}")]
    Instruction(std::io::Error),
    #[error("an instruction can't be encoded: {0}")]
    Json(#[from] serde_json::Error),
    #[error("a worker process ended: {0}")]
    Failed(String),
    #[error("a worker process does not report")]
    Silent,
}

/// Counts and timings of all processes together.
#[derive(Debug)]
pub struct Total {
    pub counts: Counts,
    pub timings: Timings,
}

struct WorkerProcess {
    child: Child,
    stdin: ChildStdin,
    /// The clients of this process, by number.
    clients: Range<u32>,
    counts: Counts,
    report: Option<Report>,
}

/// The worker processes of a run. Dropping the pool ends them.
pub struct WorkerPool {
    workers: Vec<WorkerProcess>,
    messages: Receiver<(usize, Message)>,
}

impl WorkerPool {
    /// Starts the processes.
    ///
    /// # Errors
    /// [`WorkerPoolError`].
    pub fn start(plan: &Plan) -> Result<WorkerPool, WorkerPoolError> {
        let (sender, messages) = channel();
        let mut pool = WorkerPool { workers: Vec::new(), messages };
        for (index, clients) in plan.shares().into_iter().enumerate() {
            pool.workers.push(WorkerProcess::start(plan, index, clients, sender.clone())?);
        }
        Ok(pool)
    }

    /// The ids of the processes.
    pub fn pids(&self) -> Vec<u32> {
        self.workers.iter().map(|worker| worker.child.id()).collect()
    }

    /// The clients of each process, by number.
    pub fn shares(&self) -> Vec<Range<u32>> {
        self.workers.iter().map(|worker| worker.clients.clone()).collect()
    }

    /// Sends each process an instruction, made from its index and its share of the clients.
    ///
    /// # Errors
    /// [`WorkerPoolError`].
    pub fn instruct(&mut self, make: impl Fn(usize, &Range<u32>) -> Instruction) -> Result<(), WorkerPoolError> {
        for (index, worker) in self.workers.iter_mut().enumerate() {
            worker.send(&make(index, &worker.clients.clone()))?;
        }
        Ok(())
    }

    /// The latest counts of all processes. Waits up to `time` for new ones.
    ///
    /// # Errors
    /// [`WorkerPoolError`], where a process has ended.
    pub fn counts(&mut self, time: Duration) -> Result<Counts, WorkerPoolError> {
        let until = Instant::now() + time;
        loop {
            match self.messages.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok((index, message)) => self.on_message(index, message)?,
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => return Err(WorkerPoolError::Silent),
            }
        }
        let mut sum = Counts::default();
        self.workers.iter().for_each(|worker| sum.add(&worker.counts));
        Ok(sum)
    }

    /// Asks every process for all that it counted and timed.
    ///
    /// # Errors
    /// [`WorkerPoolError`].
    pub fn report(&mut self) -> Result<Total, WorkerPoolError> {
        self.request_report(&Instruction::Report)
    }

    /// Clears the timings of all processes. Returns the counts so far.
    ///
    /// # Errors
    /// [`WorkerPoolError`].
    pub fn measure(&mut self) -> Result<Counts, WorkerPoolError> {
        Ok(self.request_report(&Instruction::Measure)?.counts)
    }

    /// Sends an instruction that is answered with a report, and waits for all reports.
    fn request_report(&mut self, order: &Instruction) -> Result<Total, WorkerPoolError> {
        self.workers.iter_mut().for_each(|worker| worker.report = None);
        self.instruct(|_, _| order.clone())?;
        let until = Instant::now() + REPORT_TIMEOUT;
        while self.workers.iter().any(|worker| worker.report.is_none()) {
            let left = until.saturating_duration_since(Instant::now());
            let (index, message) = self.messages.recv_timeout(left).map_err(|_| WorkerPoolError::Silent)?;
            self.on_message(index, message)?;
        }
        let mut total = Total { counts: Counts::default(), timings: Timings::new() };
        for report in self.workers.iter().filter_map(|worker| worker.report.as_ref()) {
            total.counts.add(&report.counts);
            total.timings.import(&report.timings);
        }
        Ok(total)
    }

    /// CPU seconds that all processes have used so far.
    pub fn cpu_seconds(&self) -> f64 {
        process::cpu_seconds(&self.pids())
    }

    fn on_message(&mut self, index: usize, message: Message) -> Result<(), WorkerPoolError> {
        match message {
            Message::Progress(counts) => self.workers[index].counts = counts,
            Message::Report(report) => {
                self.workers[index].counts = report.counts.clone();
                self.workers[index].report = Some(report);
            }
            Message::Failed(cause) => return Err(WorkerPoolError::Failed(cause)),
        }
        Ok(())
    }
}

/// Ends the processes: a worker exits when its standard input ends.
impl Drop for WorkerPool {
    fn drop(&mut self) {
        for mut worker in self.workers.drain(..) {
            drop(worker.stdin);
            let _ = worker.child.wait();
        }
    }
}

impl WorkerProcess {
    fn start(
        plan: &Plan,
        index: usize,
        clients: Range<u32>,
        sender: Sender<(usize, Message)>,
    ) -> Result<WorkerProcess, WorkerPoolError> {
        let program = std::env::current_exe().map_err(WorkerPoolError::Start)?;
        // In its own process group, Ctrl+C reaches only the coordinator, which then requests the reports.
        let mut child = Command::new(program)
            .arg("worker")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(WorkerPoolError::Start)?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(WorkerPoolError::Silent);
        };
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let message = serde_json::from_str(&line).unwrap_or(Message::Failed(line));
                if sender.send((index, message)).is_err() {
                    return;
                }
            }
            let _ = sender.send((index, Message::Failed("it closed its standard output".into())));
        });
        let mut worker = WorkerProcess { child, stdin, clients, counts: Counts::default(), report: None };
        let spec = plan.spec(index, &worker.clients);
        worker.write(&serde_json::to_vec(&spec)?)?;
        Ok(worker)
    }

    fn send(&mut self, order: &Instruction) -> Result<(), WorkerPoolError> {
        self.write(&serde_json::to_vec(order)?)
    }

    fn write(&mut self, line: &[u8]) -> Result<(), WorkerPoolError> {
        self.stdin.write_all(line).and_then(|()| self.stdin.write_all(b"\n")).map_err(WorkerPoolError::Instruction)
    }
}

/// The number of clients that failed to connect, were refused, or lost their connection.
pub fn failures(counts: &Counts) -> u64 {
    [Counter::Failed, Counter::Refused, Counter::Lost].into_iter().map(|counter| counts.of(counter)).sum()
}
