//! A plan as text for an operator: a table, then the settings of the machines.

use std::fmt;

use super::estimate::{Demand, GB, PORTS_PER_ADDRESS, Plan, tracked_connections};
use crate::limits::DEFAULT_NR_OPEN;
use crate::limits::costs::{MEASURED_VERSION, REDIS_BYTES_PER_IDEMPOTENCY_KEY};
use crate::settings::Settings;

/// Shows a plan.
pub(super) struct Table<'a>(pub &'a Demand, pub &'a Plan);

impl fmt::Display for Table<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Table(demand, _) = self;
        let (users, memory) = (count(demand.users), demand.memory_gb);
        let each = if demand.subscriptions == 1 {
            "one subscription".to_owned()
        } else {
            format!("{} subscriptions", count(demand.subscriptions))
        };
        writeln!(out, "{users} users with {each} each, on nodes with {memory} GB of memory\n")?;
        self.rows().into_iter().try_for_each(|(name, value, why)| writeln!(out, "{name:<20}{value:>12}  {why}"))?;
        self.settings(out)?;
        writeln!(
            out,
            "\nMeasured on version {MEASURED_VERSION} with idle clients (docs/benchmarks.md).\n\
             Delivered events need processor time and bandwidth in addition."
        )
    }
}

impl Table<'_> {
    fn rows(&self) -> Vec<(&'static str, String, String)> {
        let Table(demand, plan) = self;
        let row = |name, value: String, why: String| (name, value, why);
        let parts = format!("process {}, kernel {}", bytes(plan.process_bytes), bytes(plan.kernel_bytes));
        let channels = format!(
            "{} events; idempotency keys need {REDIS_BYTES_PER_IDEMPOTENCY_KEY} B each in addition",
            count(demand.events)
        );
        vec![
            row(
                "nodes",
                count(plan.nodes),
                format!("{} for all users, and one spare", counted(plan.nodes - 1, "node", "nodes")),
            ),
            row(
                "clients per node",
                count(plan.clients_per_node),
                format!("while one node is down; half of its memory holds {}", count(plan.max_clients_per_node)),
            ),
            row("memory per node", bytes(plan.process_bytes + plan.kernel_bytes), parts),
            row(
                "send buffers",
                bytes(plan.send_buffer_bytes),
                "in the kernel if no client reads; net.ipv4.tcp_mem limits it".to_owned(),
            ),
            row("open files per node", count(plan.open_files), "LimitNOFILE=, --ulimit nofile=".to_owned()),
            row("memory of Redis", bytes(plan.redis_bytes), channels),
        ]
    }

    fn settings(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Table(demand, plan) = self;
        writeln!(out, "\non each node (/etc/sysctl.d/carillon.conf):\n")?;
        if plan.open_files > DEFAULT_NR_OPEN {
            writeln!(out, "    fs.nr_open = {}", plan.open_files)?;
        }
        writeln!(out, "    net.core.somaxconn = {}", plan.backlog)?;
        writeln!(out, "    net.ipv4.tcp_mem = {}", plan.tcp_memory)?;
        writeln!(out, "    net.netfilter.nf_conntrack_max = {}", plan.tracked_connections)?;
        let most_subscriptions = Settings::default().limits.subscriptions as u64;
        if demand.subscriptions > most_subscriptions {
            writeln!(out, "\nin its settings: limits.subscriptions = {}", demand.subscriptions)?;
        }
        writeln!(out, "\non each load balancer, which may have to serve all users alone:\n")?;
        writeln!(out, "    net.ipv4.ip_local_port_range = 1024 65535")?;
        writeln!(out, "    net.netfilter.nf_conntrack_max = {}", tracked_connections(demand.users * 2))?;
        let addresses = counted(plan.source_addresses, "source address", "source addresses");
        let (ports, files) = (count(PORTS_PER_ADDRESS), count(demand.users * 2));
        writeln!(out, "\n    {addresses} for each node, with {ports} ports each; {files} open files, two per session")
    }
}

/// A number with its noun.
fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

/// A number with commas as thousands separators.
fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A size in MB, or from 1 GB on in GB with two digits.
fn bytes(number: u64) -> String {
    if number < GB {
        return format!("{} MB", count(number.div_ceil(1_000_000)));
    }
    let hundredths = number.div_ceil(GB / 100);
    format!("{}.{:02} GB", count(hundredths / 100), hundredths % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_commas_and_sizes_are_rounded_up() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        let sizes = [1, 79_500_000, 999_999_999, GB, 2_345_000_000, 1_234_560_000_000].map(bytes);
        assert_eq!(sizes, ["1 MB", "80 MB", "1,000 MB", "1.00 GB", "2.35 GB", "1,234.56 GB"]);
    }
}
