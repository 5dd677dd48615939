//! `carillon plan`: estimates the nodes for a number of users, and the limits that each machine must allow.
//!
//! The estimate uses the measured costs in `limits/costs.rs`. It reads neither the settings nor the machine it runs on.
//! `estimate.rs` has the arithmetic, `table.rs` prints the result.

mod estimate;
mod table;

use clap::Args;

use super::Failure;
use super::numbers::whole_number;
use super::output::{Answer, Format};
use estimate::{Demand, Plan};

/// Maximum users: several times the population of the earth.
const MAX_USERS: u64 = 100_000_000_000;
/// Maximum of `limits.subscriptions`.
const MAX_SUBSCRIPTIONS: u64 = 10_000;
/// Memory of the largest machine on the market, in GB.
const MAX_MEMORY_GB: u64 = 65_536;
/// Maximum events: each has a channel on each node.
const MAX_EVENTS: u64 = 1_000_000_000;

pub(super) const EXAMPLES: &str = "\
Examples:
  carillon plan --users 1000000
  carillon plan --users 50000 --subscriptions 5 --memory-gb 8 --json";

#[derive(Debug, Args)]
pub(super) struct PlanCommand {
    /// Users who are connected at the same time, each with one session.
    #[arg(long, value_name = "N", value_parser = whole_number(1..=MAX_USERS))]
    users: u64,
    /// Subscriptions of each user, each with its own condition.
    #[arg(long, value_name = "S", default_value_t = 1, value_parser = whole_number(1..=MAX_SUBSCRIPTIONS))]
    subscriptions: u64,
    /// Memory of a node's machine, in GB.
    #[arg(long, value_name = "G", default_value_t = 4, value_parser = whole_number(1..=MAX_MEMORY_GB))]
    memory_gb: u64,
    /// Events of all projects that users subscribe to.
    #[arg(long, value_name = "E", default_value_t = 1_000, value_parser = whole_number(1..=MAX_EVENTS))]
    events: u64,
    #[command(flatten)]
    format: Format,
}

impl PlanCommand {
    pub(super) fn run(&self) -> Result<(), Failure> {
        let PlanCommand { users, subscriptions, memory_gb, events, format } = *self;
        let demand = Demand { users, subscriptions, memory_gb, events };
        let plan = Plan::of(&demand);
        Answer::new(table::Table(&demand, &plan).to_string(), plan.to_json(&demand)).print(format)
    }
}
