//! The arithmetic of a plan. It does no input or output.

use serde_json::{Value, json};

use crate::limits::costs::{
    KERNEL_BYTES_PER_BUFFERED_BYTE, KERNEL_BYTES_PER_CLIENT, MEASURED_VERSION, PROCESS_BYTES, PROCESS_BYTES_PER_CLIENT,
    PROCESS_BYTES_PER_FURTHER_SUBSCRIPTION, REDIS_BYTES, REDIS_BYTES_OF_QUEUE_PER_NODE, REDIS_BYTES_PER_CHANNEL,
    REDIS_BYTES_PER_FURTHER_NODE,
};
use crate::limits::{TcpMemory, open_files_for};
use crate::settings::Settings;

/// Bytes of a GB, as in the offers of machines.
pub(super) const GB: u64 = 1_000_000_000;

/// Idle clients may use half of a node's memory. The rest is for data on the way to them (TCP alone may use a quarter),
/// for queues, and for the system.
const MEMORY_DIVISOR: u64 = 2;

/// Ports of a source address for connections to one node, with `net.ipv4.ip_local_port_range = 1024 65535`.
pub(super) const PORTS_PER_ADDRESS: u64 = 65_535 - 1_024 + 1;

/// Entries in the table of tracked connections for each connection. A closed connection keeps its entry for two
/// minutes, in which every client may have reconnected once.
const ENTRIES_PER_CONNECTION: u64 = 2;

/// The size of the table on most machines, and the minimum of a plan.
const MIN_TRACKED_CONNECTIONS: u64 = 262_144;

/// The input of a plan.
#[derive(Clone, Copy, Debug)]
pub(super) struct Demand {
    pub users: u64,
    /// Subscriptions of each user.
    pub subscriptions: u64,
    /// Memory of a node's machine.
    pub memory_gb: u64,
    /// Events of all projects.
    pub events: u64,
}

/// The estimate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    /// The nodes that hold all users, and one more, so that one can fail.
    pub nodes: u64,
    /// Clients that fit into a node's memory.
    pub max_clients_per_node: u64,
    /// Clients of a node while one node is down.
    pub clients_per_node: u64,
    /// Memory of the process with those clients, in bytes.
    pub process_bytes: u64,
    /// Kernel memory for those clients, in bytes.
    pub kernel_bytes: u64,
    /// Kernel memory of their send buffers if all are full, in bytes.
    pub send_buffer_bytes: u64,
    /// Memory of Redis without idempotency keys, in bytes.
    pub redis_bytes: u64,
    pub open_files: u64,
    pub tracked_connections: u64,
    pub backlog: u64,
    pub tcp_memory: TcpMemory,
    /// Addresses that all load balancers together need for connections to each node.
    pub source_addresses: u64,
}

impl Plan {
    pub fn of(demand: &Demand) -> Plan {
        let Settings { limits, session, .. } = Settings::default();
        let memory = demand.memory_gb * GB;
        let further = demand.subscriptions.saturating_sub(1);
        let process_bytes_per_client = PROCESS_BYTES_PER_CLIENT + further * PROCESS_BYTES_PER_FURTHER_SUBSCRIPTION;
        let for_clients = memory / MEMORY_DIVISOR - PROCESS_BYTES;
        let max_clients_per_node = for_clients / (process_bytes_per_client + KERNEL_BYTES_PER_CLIENT);
        let needed = demand.users.div_ceil(max_clients_per_node);
        let nodes = needed + 1;
        let clients_per_node = demand.users.div_ceil(needed);
        let of_channels = demand.events.saturating_mul(REDIS_BYTES_PER_CHANNEL + needed * REDIS_BYTES_PER_FURTHER_NODE);
        let max_pages = TcpMemory::max_pages(memory, limits.tcp_memory_percent);
        Plan {
            nodes,
            max_clients_per_node,
            clients_per_node,
            process_bytes: PROCESS_BYTES + clients_per_node * process_bytes_per_client,
            kernel_bytes: clients_per_node * KERNEL_BYTES_PER_CLIENT,
            send_buffer_bytes: clients_per_node
                * session.kernel_send_buffer_bytes as u64
                * KERNEL_BYTES_PER_BUFFERED_BYTE,
            redis_bytes: (REDIS_BYTES + nodes * REDIS_BYTES_OF_QUEUE_PER_NODE).saturating_add(of_channels),
            open_files: open_files_for(clients_per_node),
            tracked_connections: tracked_connections(clients_per_node),
            backlog: Settings::default().http.backlog.into(),
            tcp_memory: TcpMemory::default_for(memory).raised_for(clients_per_node, max_pages),
            source_addresses: clients_per_node.div_ceil(PORTS_PER_ADDRESS),
        }
    }

    /// The input and the estimate for scripts, in bytes and counts.
    pub fn to_json(&self, demand: &Demand) -> Value {
        json!({
            "measured_version": MEASURED_VERSION,
            "users": demand.users,
            "subscriptions": demand.subscriptions,
            "memory_bytes": demand.memory_gb * GB,
            "events": demand.events,
            "nodes": self.nodes,
            "max_clients_per_node": self.max_clients_per_node,
            "clients_per_node": self.clients_per_node,
            "process_bytes": self.process_bytes,
            "kernel_bytes": self.kernel_bytes,
            "send_buffer_bytes": self.send_buffer_bytes,
            "redis_bytes": self.redis_bytes,
            "open_files": self.open_files,
            "nf_conntrack_max": self.tracked_connections,
            "somaxconn": self.backlog,
            "tcp_mem": [self.tcp_memory.low, self.tcp_memory.pressure, self.tcp_memory.high],
            "source_addresses": self.source_addresses,
        })
    }
}

/// The size of the table of tracked connections for this many connections.
pub(super) fn tracked_connections(connections: u64) -> u64 {
    (connections * ENTRIES_PER_CONNECTION).max(MIN_TRACKED_CONNECTIONS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::SessionBudget;

    const DEMAND: Demand = Demand { users: 1_000_000, subscriptions: 1, memory_gb: 4, events: 1_000 };

    #[test]
    fn the_clients_of_a_node_fit_into_half_of_its_memory() {
        let plan = Plan::of(&DEMAND);
        let cost = PROCESS_BYTES_PER_CLIENT + KERNEL_BYTES_PER_CLIENT;
        assert_eq!(plan.max_clients_per_node, (2 * GB - PROCESS_BYTES) / cost);
        let three = Plan::of(&Demand { subscriptions: 3, ..DEMAND });
        let cost = cost + 2 * PROCESS_BYTES_PER_FURTHER_SUBSCRIPTION;
        assert_eq!(three.max_clients_per_node, (2 * GB - PROCESS_BYTES) / cost);
    }

    #[test]
    fn full_send_buffers_take_twice_the_setting_for_each_client() {
        let plan = Plan::of(&DEMAND);
        assert_eq!(plan.send_buffer_bytes, plan.clients_per_node * 2 * 131_072);
    }

    #[test]
    fn there_is_one_node_more_than_hold_all_users() {
        let holds = Plan::of(&DEMAND).max_clients_per_node;
        let nodes = |users| Plan::of(&Demand { users, ..DEMAND }).nodes;
        assert_eq!([nodes(1), nodes(holds), nodes(holds + 1), nodes(10 * holds)], [2, 2, 3, 11]);
    }

    #[test]
    fn with_one_node_down_the_others_hold_all_users_within_the_planned_limits() {
        for users in [1, 9_999, 1_000_000, 123_456_789] {
            let plan = Plan::of(&Demand { users, ..DEMAND });
            assert!(
                (plan.nodes - 1) * plan.clients_per_node >= users && plan.clients_per_node <= plan.max_clients_per_node
            );
            assert!(plan.process_bytes + plan.kernel_bytes <= 2 * GB);
            assert_eq!(SessionBudget::from(plan.open_files, 0).sessions, plan.clients_per_node);
            assert!(plan.tracked_connections >= 2 * plan.clients_per_node);
            assert!(plan.source_addresses * PORTS_PER_ADDRESS >= plan.clients_per_node);
        }
    }

    #[test]
    fn the_memory_of_redis_depends_on_events_and_nodes_and_not_on_users() {
        let redis = |users, events| Plan::of(&Demand { users, events, ..DEMAND }).redis_bytes;
        assert_eq!(redis(1, 1_000), redis(100_000, 1_000));
        let of_two = REDIS_BYTES_PER_CHANNEL + REDIS_BYTES_PER_FURTHER_NODE;
        assert_eq!(redis(1, 1_000), REDIS_BYTES + 2 * REDIS_BYTES_OF_QUEUE_PER_NODE + 1_000 * of_two);
        assert_eq!(redis(1, 3_000) - redis(1, 1_000), 2_000 * of_two);
    }

    #[test]
    fn tcp_memory_is_the_value_that_a_node_would_set() {
        let few = Plan::of(&Demand { users: 10_000, ..DEMAND });
        let default = TcpMemory::default_for(4 * GB);
        assert_eq!(few.tcp_memory.high, default.high + 20_000);
        let many = Plan::of(&DEMAND);
        assert_eq!(many.tcp_memory.high, TcpMemory::max_pages(4 * GB, 25));
    }

    #[test]
    fn the_largest_demand_overflows_nothing() {
        let most = Demand { users: 100_000_000_000, subscriptions: 10_000, memory_gb: 1, events: 1_000_000_000 };
        assert!(Plan::of(&most).nodes > 100_000);
        assert!(Plan::of(&Demand { memory_gb: 65_536, ..most }).nodes > 2);
    }
}
