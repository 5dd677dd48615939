//! Reads instructions line by line from standard input, without blocking.

use crate::instructions::{Instruction, WorkerSpec};
use crate::worker::WorkerError;
use rustix::fd::{AsFd, BorrowedFd};
use rustix::io::Errno;
use std::io::{Stdin, stdin};

/// Maximum bytes per read.
const READ_BYTES: usize = 16 << 10;

/// The reading end of the pipe with instructions.
pub struct InstructionReader {
    stdin: Stdin,
    buffer: Vec<u8>,
}

impl AsFd for InstructionReader {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stdin.as_fd()
    }
}

impl InstructionReader {
    /// Waits for the first line, which has the settings of the worker.
    ///
    /// # Errors
    /// [`WorkerError`], if there is no first line.
    pub fn open() -> Result<(WorkerSpec, InstructionReader), WorkerError> {
        let mut reader = InstructionReader { stdin: stdin(), buffer: Vec::new() };
        while !reader.buffer.contains(&b'\n') {
            if reader.fill()? == 0 {
                return Err(Errno::PIPE.into());
            }
        }
        let line = reader.line().unwrap_or_default();
        let spec = serde_json::from_slice(&line)?;
        rustix::io::ioctl_fionbio(&reader, true)?;
        Ok((spec, reader))
    }

    /// Reads the instructions that have arrived. `None` at the end of the input.
    ///
    /// # Errors
    /// [`WorkerError`].
    pub fn read(&mut self) -> Result<Option<Vec<Instruction>>, WorkerError> {
        match self.fill() {
            Ok(0) => return Ok(None),
            Ok(_) | Err(Errno::AGAIN) => {}
            Err(error) => return Err(error.into()),
        }
        self.complete().map(Some)
    }

    /// The complete instructions in the buffer, without another read.
    ///
    /// # Errors
    /// [`WorkerError`].
    pub fn complete(&mut self) -> Result<Vec<Instruction>, WorkerError> {
        let mut instructions = Vec::new();
        while let Some(line) = self.line() {
            instructions.push(serde_json::from_slice(&line)?);
        }
        Ok(instructions)
    }

    fn fill(&mut self) -> Result<usize, Errno> {
        let mut chunk = [0; READ_BYTES];
        let read = rustix::io::read(&self.stdin, &mut chunk)?;
        self.buffer.extend_from_slice(&chunk[..read]);
        Ok(read)
    }

    fn line(&mut self) -> Option<Vec<u8>> {
        let end = self.buffer.iter().position(|byte| *byte == b'\n')?;
        Some(self.buffer.drain(..=end).collect())
    }
}
