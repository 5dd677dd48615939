//! The broker itself, without HTTP, MongoDB or files.

pub mod condition;
pub mod protocol;
pub mod registry;
pub mod session;
