//! The commands, one a file: each plans a run, gives its orders, and reports.

pub mod churn;
pub mod emit;
pub mod fill;
pub mod listen;
pub mod restart;
