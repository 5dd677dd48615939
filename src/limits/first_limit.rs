//! The limit that this machine reaches first, and at how many clients, as one line for the operator.

use std::fmt;

use super::costs::{KERNEL_BYTES_PER_CLIENT, PROCESS_BYTES_PER_CLIENT};
use super::{Machine, SessionBudget};

/// A limit on the number of clients of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// `limits.sessions`.
    Setting,
    /// Open files of the process (`ulimit -n`).
    OpenFiles,
    /// Memory of the machine or the container.
    Memory,
    /// Connections that the firewall tracks (`nf_conntrack_max`).
    TrackedConnections,
}

/// The limit that is reached first, and at how many clients. Its text is one line for the operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstLimit {
    pub limit: Limit,
    pub clients: u64,
}

impl SessionBudget {
    /// The limit that this machine reaches first.
    pub fn first_limit(&self, machine: &Machine) -> FirstLimit {
        let budget = FirstLimit { limit: self.decided_by, clients: self.sessions };
        let memory = machine.available_memory.map(|bytes| FirstLimit {
            limit: Limit::Memory,
            clients: bytes / (PROCESS_BYTES_PER_CLIENT + KERNEL_BYTES_PER_CLIENT),
        });
        let tracked = machine
            .tracked_connections
            .map(|connections| FirstLimit { limit: Limit::TrackedConnections, clients: connections });
        [memory, tracked].into_iter().flatten().fold(budget, |first, other| match other.clients < first.clients {
            true => other,
            false => first,
        })
    }
}

impl FirstLimit {
    /// The level of the log line. A full table of tracked connections drops packets without an error. At every other
    /// limit the client gets an answer.
    pub fn level(&self) -> log::Level {
        match self.limit {
            Limit::TrackedConnections => log::Level::Warn,
            Limit::Setting | Limit::OpenFiles | Limit::Memory => log::Level::Info,
        }
    }
}

impl fmt::Display for FirstLimit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (limit, remedy) = match self.limit {
            Limit::Setting => ("the setting limits.sessions", "raise it, or set 0 for as many as open files allow"),
            Limit::OpenFiles => ("open files", "raise the hard limit: ulimit -Hn, LimitNOFILE= or --ulimit nofile"),
            Limit::Memory => ("memory", "give the machine or the container more"),
            Limit::TrackedConnections => ("tracked connections", "raise net.netfilter.nf_conntrack_max"),
        };
        write!(formatter, "the first limit is {limit}, at {} clients ({remedy})", self.clients)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOMY: Machine = Machine {
        memory: Some(1 << 40),
        available_memory: Some(1 << 40),
        tracked_connections: Some(1 << 30),
        max_backlog: None,
        tcp_memory: None,
    };

    #[test]
    fn the_smallest_limit_is_reached_first() {
        let budget = SessionBudget::from(20_000, 0);
        let first = |machine| budget.first_limit(&machine);
        assert_eq!(first(ROOMY), FirstLimit { limit: Limit::OpenFiles, clients: 18_622 });
        let ten_thousand = 10_000 * (KERNEL_BYTES_PER_CLIENT + PROCESS_BYTES_PER_CLIENT);
        let narrow_memory = Machine { available_memory: Some(ten_thousand), ..ROOMY };
        assert_eq!(first(narrow_memory), FirstLimit { limit: Limit::Memory, clients: 10_000 });
        let narrow_table = Machine { tracked_connections: Some(4_096), ..ROOMY };
        assert_eq!(first(narrow_table), FirstLimit { limit: Limit::TrackedConnections, clients: 4_096 });
        let set = SessionBudget::from(20_000, 9).first_limit(&ROOMY);
        assert_eq!(set, FirstLimit { limit: Limit::Setting, clients: 9 });
    }

    #[test]
    fn an_unknown_machine_is_limited_by_open_files() {
        let first = SessionBudget::from(20_000, 0).first_limit(&Machine::default());
        assert_eq!(first.limit, Limit::OpenFiles);
    }

    #[test]
    fn the_first_limit_is_one_line_with_its_number_and_a_remedy() {
        for limit in [Limit::Setting, Limit::OpenFiles, Limit::Memory, Limit::TrackedConnections] {
            let text = FirstLimit { limit, clients: 18_622 }.to_string();
            assert!(text.contains(", at 18622 clients (") && text.lines().count() == 1, "{text}");
        }
    }
}
