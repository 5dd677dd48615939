//! `carillon plan`: how many nodes so many users need, and what each machine must allow.
//!
//! The estimate uses the measured costs in `limits/costs.rs`. It reads neither the settings nor the machine it runs on.
//! `estimate.rs` has the arithmetic, `table.rs` prints the result.

mod estimate;
mod table;

use clap::Args;
use clap::builder::RangedU64ValueParser;

use super::{Failure, answer};
use estimate::{Demand, Plan};

/// The most users: everybody on earth, several times.
const USERS: u64 = 100_000_000_000;
/// What `limits.subscriptions` may be at the most.
const SUBSCRIPTIONS: u64 = 10_000;
/// The largest machine that can be had, in GB.
const MEMORY_GB: u64 = 65_536;
/// The most events: each has a channel on each node.
const EVENTS: u64 = 1_000_000_000;

#[derive(Debug, Args)]
pub(super) struct PlanCommand {
    /// Users who are connected at the same time, each with one session.
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<u64>::new().range(1..=USERS))]
    users: u64,
    /// Subscriptions of each, with conditions of their own.
    #[arg(long, value_name = "S", default_value_t = 1, value_parser = RangedU64ValueParser::<u64>::new().range(1..=SUBSCRIPTIONS))]
    subscriptions: u64,
    /// Memory of a node's machine, in GB.
    #[arg(long, value_name = "G", default_value_t = 4, value_parser = RangedU64ValueParser::<u64>::new().range(1..=MEMORY_GB))]
    memory_gb: u64,
    /// Events that users subscribe to, of all projects together.
    #[arg(long, value_name = "E", default_value_t = 1_000, value_parser = RangedU64ValueParser::<u64>::new().range(1..=EVENTS))]
    events: u64,
    /// Prints JSON instead of a table.
    #[arg(long)]
    json: bool,
}

impl PlanCommand {
    pub(super) fn run(&self) -> Result<(), Failure> {
        let PlanCommand { users, subscriptions, memory_gb, events, json } = *self;
        let demand = Demand { users, subscriptions, memory_gb, events };
        let plan = Plan::of(&demand);
        if json { answer(format_args!("{:#}\n", plan.to_json(&demand))) } else { answer(table::Table(&demand, &plan)) }
    }
}
