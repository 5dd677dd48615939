//! The arithmetic of a plan. Pure: numbers in, numbers out.

use serde_json::{Value, json};

use crate::limits::costs::{
    KERNEL_BYTES_PER_BUFFERED_BYTE, KERNEL_BYTES_PER_CLIENT, MEASURED_VERSION, PROCESS_BYTES, PROCESS_BYTES_PER_CLIENT,
    PROCESS_BYTES_PER_FURTHER_SUBSCRIPTION, REDIS_BYTES, REDIS_BYTES_OF_QUEUE_PER_NODE, REDIS_BYTES_PER_CHANNEL,
    REDIS_BYTES_PER_FURTHER_NODE,
};
use crate::limits::{TcpMemory, open_files_for};
use crate::settings::Settings;

/// Bytes of a GB, as machines are sold.
pub(super) const GB: u64 = 1_000_000_000;

/// The part of a node's memory that its idle clients may fill: the rest is for what they are told (TCP's memory alone may take
/// a quarter), for what waits, and for the system.
const SHARE_FOR_CLIENTS: u64 = 2;

/// Ports of one source address towards one node, with `net.ipv4.ip_local_port_range = 1024 65535`.
pub(super) const PORTS_OF_AN_ADDRESS: u64 = 65_535 - 1_024 + 1;

/// Places in the table of tracked connections for each connection: a closed connection keeps its place for two minutes, in which
/// everybody may have come back once.
const PLACES_PER_CONNECTION: u64 = 2;

/// The table's size on most machines, below which no plan goes.
const LEAST_TRACKED_CONNECTIONS: u64 = 262_144;

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Demand {
    pub users: u64,
    /// Of each user.
    pub subscriptions: u64,
    /// Of a node's machine.
    pub memory_gb: u64,
    /// Of all projects.
    pub events: u64,
}

/// What it takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    /// Nodes that hold all users, and one more: one may be away.
    pub nodes: u64,
    /// Clients that a node's memory holds.
    pub clients_a_node_holds: u64,
    /// Clients of a node while one is away.
    pub clients_a_node: u64,
    /// What those clients take in the process, in bytes, and the process without them.
    pub process_bytes: u64,
    /// What the kernel keeps for them, in bytes.
    pub kernel_bytes: u64,
    /// The most that the kernel's send buffers of those clients take, in bytes: all of them full.
    pub send_buffer_bytes: u64,
    /// Redis, in bytes, without idempotency keys.
    pub redis_bytes: u64,
    pub open_files: u64,
    pub tracked_connections: u64,
    pub backlog: u64,
    pub tcp_memory: TcpMemory,
    /// Addresses that the balancers together need towards each node.
    pub source_addresses: u64,
}

impl Plan {
    pub fn of(demand: &Demand) -> Plan {
        let Settings { limits, session, .. } = Settings::default();
        let memory = demand.memory_gb * GB;
        let further = demand.subscriptions.saturating_sub(1);
        let process_bytes_per_client = PROCESS_BYTES_PER_CLIENT + further * PROCESS_BYTES_PER_FURTHER_SUBSCRIPTION;
        let for_clients = memory / SHARE_FOR_CLIENTS - PROCESS_BYTES;
        let clients_a_node_holds = for_clients / (process_bytes_per_client + KERNEL_BYTES_PER_CLIENT);
        let needed = demand.users.div_ceil(clients_a_node_holds);
        let nodes = needed + 1;
        let clients_a_node = demand.users.div_ceil(needed);
        let of_channels = demand.events.saturating_mul(REDIS_BYTES_PER_CHANNEL + needed * REDIS_BYTES_PER_FURTHER_NODE);
        let max_pages = TcpMemory::max_pages(memory, limits.tcp_memory_percent);
        Plan {
            nodes,
            clients_a_node_holds,
            clients_a_node,
            process_bytes: PROCESS_BYTES + clients_a_node * process_bytes_per_client,
            kernel_bytes: clients_a_node * KERNEL_BYTES_PER_CLIENT,
            send_buffer_bytes: clients_a_node
                * session.kernel_send_buffer_bytes as u64
                * KERNEL_BYTES_PER_BUFFERED_BYTE,
            redis_bytes: (REDIS_BYTES + nodes * REDIS_BYTES_OF_QUEUE_PER_NODE).saturating_add(of_channels),
            open_files: open_files_for(clients_a_node),
            tracked_connections: tracked_connections(clients_a_node),
            backlog: Settings::default().http.backlog.into(),
            tcp_memory: TcpMemory::default_for(memory).raised_for(clients_a_node, max_pages),
            source_addresses: clients_a_node.div_ceil(PORTS_OF_AN_ADDRESS),
        }
    }

    /// For scripts: every number, in bytes and counts.
    pub fn to_json(&self, demand: &Demand) -> Value {
        json!({
            "measured_version": MEASURED_VERSION,
            "users": demand.users,
            "subscriptions": demand.subscriptions,
            "memory_bytes": demand.memory_gb * GB,
            "events": demand.events,
            "nodes": self.nodes,
            "clients_a_node_holds": self.clients_a_node_holds,
            "clients_a_node": self.clients_a_node,
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

/// What the table of a machine with so many connections must hold.
pub(super) fn tracked_connections(connections: u64) -> u64 {
    (connections * PLACES_PER_CONNECTION).max(LEAST_TRACKED_CONNECTIONS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::SessionBudget;

    const DEMAND: Demand = Demand { users: 1_000_000, subscriptions: 1, memory_gb: 4, events: 1_000 };

    #[test]
    fn clients_of_a_node_follow_from_half_of_its_memory_and_what_one_costs() {
        let plan = Plan::of(&DEMAND);
        let cost = PROCESS_BYTES_PER_CLIENT + KERNEL_BYTES_PER_CLIENT;
        assert_eq!(plan.clients_a_node_holds, (2 * GB - PROCESS_BYTES) / cost);
        let three = Plan::of(&Demand { subscriptions: 3, ..DEMAND });
        let cost = cost + 2 * PROCESS_BYTES_PER_FURTHER_SUBSCRIPTION;
        assert_eq!(three.clients_a_node_holds, (2 * GB - PROCESS_BYTES) / cost);
    }

    #[test]
    fn full_send_buffers_take_twice_the_setting_for_each_client() {
        let plan = Plan::of(&DEMAND);
        assert_eq!(plan.send_buffer_bytes, plan.clients_a_node * 2 * 131_072);
    }

    #[test]
    fn nodes_are_those_that_hold_all_users_and_one_more() {
        let holds = Plan::of(&DEMAND).clients_a_node_holds;
        let nodes = |users| Plan::of(&Demand { users, ..DEMAND }).nodes;
        assert_eq!([nodes(1), nodes(holds), nodes(holds + 1), nodes(10 * holds)], [2, 2, 3, 11]);
    }

    #[test]
    fn with_one_node_away_the_others_hold_everybody_in_the_memory_files_and_tables_that_the_plan_names() {
        for users in [1, 9_999, 1_000_000, 123_456_789] {
            let plan = Plan::of(&Demand { users, ..DEMAND });
            assert!(
                (plan.nodes - 1) * plan.clients_a_node >= users && plan.clients_a_node <= plan.clients_a_node_holds
            );
            assert!(plan.process_bytes + plan.kernel_bytes <= 2 * GB);
            assert_eq!(SessionBudget::from(plan.open_files, 0).sessions, plan.clients_a_node);
            assert!(plan.tracked_connections >= 2 * plan.clients_a_node);
            assert!(plan.source_addresses * PORTS_OF_AN_ADDRESS >= plan.clients_a_node);
        }
    }

    #[test]
    fn redis_keeps_nothing_for_a_user_but_a_channel_for_an_event_and_node() {
        let redis = |users, events| Plan::of(&Demand { users, events, ..DEMAND }).redis_bytes;
        assert_eq!(redis(1, 1_000), redis(100_000, 1_000));
        let of_two = REDIS_BYTES_PER_CHANNEL + REDIS_BYTES_PER_FURTHER_NODE;
        assert_eq!(redis(1, 1_000), REDIS_BYTES + 2 * REDIS_BYTES_OF_QUEUE_PER_NODE + 1_000 * of_two);
        assert_eq!(redis(1, 3_000) - redis(1, 1_000), 2_000 * of_two);
    }

    #[test]
    fn tcp_memory_is_what_a_node_would_raise_it_to() {
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
