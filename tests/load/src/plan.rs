//! The size of a run, and how it is spread over processes and source addresses.

use crate::instructions::WorkerSpec;
use crate::protocols::ProtocolSpec;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::ops::Range;
use std::time::Duration;

/// Clients per process: 20,000 open files are a common limit, and a process needs some for other purposes.
const CLIENTS_OF_A_PROCESS: u32 = 19_000;
/// Clients per source address: half of the ports that a system assigns.
const CLIENTS_OF_A_SOURCE: u32 = 10_000;

/// The settings of a run.
#[derive(Clone, Debug)]
pub struct Plan {
    pub protocol: ProtocolSpec,
    pub targets: Vec<SocketAddrV4>,
    pub emit_targets: Vec<SocketAddrV4>,
    pub clients: u32,
    /// 0: as many as the clients require.
    pub processes: u32,
    /// 0: as many as the clients require.
    pub sources: u8,
    pub audience_size: u32,
    pub run: u32,
    pub late: Duration,
    /// The distance between the first client numbers of two processes. `None`: the numbers are consecutive.
    pub number_gap: Option<u32>,
}

impl Plan {
    /// The clients of each process, by number. An audience is split over two processes only if it does not fit into
    /// one.
    pub fn shares(&self) -> Vec<Range<u32>> {
        let processes = match self.processes {
            0 => self.clients.div_ceil(CLIENTS_OF_A_PROCESS).max(1),
            given => given,
        };
        let is_whole = self.audience_size <= self.clients / processes;
        let bound = |process: u32| {
            let number = (u64::from(self.clients) * u64::from(process) / u64::from(processes)) as u32;
            if is_whole && process < processes { number - number % self.audience_size } else { number }
        };
        (0..processes).map(|process| bound(process)..bound(process + 1)).collect()
    }

    /// The settings of one worker.
    pub fn spec(&self, index: usize, clients: &Range<u32>) -> WorkerSpec {
        let sources = match self.sources {
            0 => self.clients.div_ceil(CLIENTS_OF_A_SOURCE).min(250) as u8,
            given => given.min(250),
        };
        WorkerSpec {
            protocol: self.protocol.clone(),
            targets: self.targets.clone(),
            emit_targets: self.emit_targets.clone(),
            sources: (1..=sources).map(|last| Ipv4Addr::new(127, 0, 1, last)).collect(),
            first: self.number_gap.map_or(clients.start, |number_gap| number_gap * index as u32),
            audience_size: self.audience_size,
            run: self.run,
            late: self.late.as_nanos() as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocols::{Credentials, Protocol};

    fn plan(clients: u32, processes: u32, audience_size: u32) -> Plan {
        let (project, event, credentials) = (String::new(), String::new(), Credentials::default());
        let protocol =
            ProtocolSpec { protocol: Protocol::Stock, project, event, credentials, is_plain: false, payload: 0 };
        Plan {
            protocol,
            targets: Vec::new(),
            emit_targets: Vec::new(),
            clients,
            processes,
            sources: 0,
            audience_size,
            run: 0,
            late: Duration::ZERO,
            number_gap: None,
        }
    }

    #[test]
    fn every_client_is_in_one_process_and_no_audience_is_split() {
        assert_eq!(plan(60, 2, 20).shares(), [0..20, 20..60]);
        assert_eq!(plan(10, 3, 1).shares(), [0..3, 3..6, 6..10]);
        assert_eq!(plan(10, 3, 10).shares(), [0..3, 3..6, 6..10]);
        assert_eq!(plan(40_000, 0, 1).shares().len(), 3);
    }

    #[test]
    fn clients_have_as_many_source_addresses_as_their_ports_require() {
        let sources = |clients| plan(clients, 1, 1).spec(0, &(0..clients)).sources.len();
        assert_eq!([sources(1), sources(10_000), sources(10_001)], [1, 1, 2]);
    }
}
