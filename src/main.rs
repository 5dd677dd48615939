//! The executable. It only chooses the memory allocator. The program is [`carillon::command_line`].

#![forbid(unsafe_code)]

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    carillon::command_line::run()
}
