//! The commands, one per file. Each plans a run, sends the instructions, and reports.

pub mod churn;
pub mod emit;
pub mod fill;
pub mod listen;
pub mod restart;
