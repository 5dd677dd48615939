//! What the operating system allows a node: open files, memory, tracked connections.
//!
//! Asked once, at the start, so that the operator hears which limit ends first before the clients do. It must never know
//! what a session is made of, only what one costs. Where `/proc` is absent, what it would tell stays unknown.

use std::fmt;
use std::path::Path;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Of the open files, one in so many is kept for HTTP: emits have to come in while sessions fill the node.
const HTTP_SHARE: u64 = 16;

/// The most open files that are kept for HTTP: keep-alive connections of backends, not of people.
const HTTP_SHARE_AT_MOST: u64 = 4_096;

/// Open files of the node's own: standard streams, listener, the catalogue's database with its journal, and for each worker
/// thread its polls, wake-ups and signal pipes (about seven).
const OWN_FILES: u64 = 128;

/// What an idle session with one subscription and its own condition costs in this process, in bytes: the budget that the
/// memory test holds.
const PROCESS_BYTES_PER_CLIENT: u64 = 700;

/// What the kernel keeps for one idle TCP socket, in bytes: socket, file, directory entry, epoll entry (4.4 KB measured on
/// Linux 5 and 6, with empty buffers).
const KERNEL_BYTES_PER_CLIENT: u64 = 4_400;

/// The limit of open files of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenFiles {
    /// The soft limit that the process was started with.
    pub soft_before: u64,
    /// The limit in force.
    pub limit: u64,
}

/// How the open files are shared out between sessions and the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionBudget {
    /// The most sessions that the node takes.
    pub sessions: u64,
    /// Open files that are kept for HTTP connections.
    pub kept_for_http: u64,
    /// What decided the number of sessions: [`Limit::Setting`] or [`Limit::OpenFiles`].
    pub decided_by: Limit,
}

/// What can end the growth of a node.
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

/// What the machine can give; `None` where it doesn't say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// Memory that can be taken without swapping, in bytes.
    pub available_memory: Option<u64>,
    /// Connections that the firewall tracks at the most.
    pub tracked_connections: Option<u64>,
}

/// The limit that ends first, and at how many clients. Its text is one line for the operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstLimit {
    pub limit: Limit,
    pub clients: u64,
}

/// Raises the soft limit of open files to the hard one. Where that is refused, the limit stays as it was.
pub fn raise_open_files() -> OpenFiles {
    let before = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: before.maximum,
        maximum: before.maximum,
    };
    let now = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => getrlimit(Resource::Nofile),
        Err(_) => before,
    };
    // No limit at all is possible where the system has another one behind (macOS).
    let count = |limit: Option<u64>| limit.unwrap_or(u64::MAX);
    OpenFiles {
        soft_before: count(before.current),
        limit: count(now.current),
    }
}

impl SessionBudget {
    /// Shares out the open files. `setting` is `limits.sessions`: 0 takes what the files allow, more than they allow is cut.
    pub fn from(open_files: u64, setting: usize) -> Self {
        let kept_for_http = (open_files / HTTP_SHARE).min(HTTP_SHARE_AT_MOST);
        let possible = open_files.saturating_sub(kept_for_http + OWN_FILES);
        let wanted = setting as u64;
        let (sessions, decided_by) = match wanted {
            1.. if wanted <= possible => (wanted, Limit::Setting),
            _ => (possible, Limit::OpenFiles),
        };
        Self {
            sessions,
            kept_for_http,
            decided_by,
        }
    }

    /// Which limit ends first on this machine, and at how many clients.
    pub fn first_limit(&self, machine: &Machine) -> FirstLimit {
        let budget = FirstLimit {
            limit: self.decided_by,
            clients: self.sessions,
        };
        let memory = machine.available_memory.map(|bytes| FirstLimit {
            limit: Limit::Memory,
            clients: bytes / (PROCESS_BYTES_PER_CLIENT + KERNEL_BYTES_PER_CLIENT),
        });
        let tracked = machine.tracked_connections.map(|connections| FirstLimit {
            limit: Limit::TrackedConnections,
            clients: connections,
        });
        [memory, tracked]
            .into_iter()
            .flatten()
            .fold(budget, |first, other| match other.clients < first.clients {
                true => other,
                false => first,
            })
    }
}

impl Machine {
    /// Asks this machine.
    pub fn read() -> Self {
        let read = |path: &str| std::fs::read_to_string(Path::new(path)).ok();
        let of_machine = read("/proc/meminfo").as_deref().and_then(available_memory);
        let of_container = read("/sys/fs/cgroup/memory.max")
            .zip(read("/sys/fs/cgroup/memory.current"))
            .and_then(|(most, used)| container_memory(&most, &used));
        Self {
            available_memory: of_machine.into_iter().chain(of_container).min(),
            tracked_connections: read("/proc/sys/net/netfilter/nf_conntrack_max")
                .and_then(|text| number(&text)),
        }
    }
}

/// `MemAvailable` out of `/proc/meminfo`, in bytes.
fn available_memory(meminfo: &str) -> Option<u64> {
    let kibibytes = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    number(kibibytes.trim_end_matches("kB"))?.checked_mul(1_024)
}

/// What is left to a container (cgroup v2), in bytes; none where it has no limit, which reads `max`.
fn container_memory(most: &str, used: &str) -> Option<u64> {
    Some(number(most)?.saturating_sub(number(used)?))
}

fn number(text: &str) -> Option<u64> {
    text.trim().parse().ok()
}

impl fmt::Display for FirstLimit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, remedy) = match self.limit {
            Limit::Setting => (
                "the setting limits.sessions ends",
                "raise it, or set 0 for what open files allow",
            ),
            Limit::OpenFiles => (
                "open files end",
                "raise the hard limit: ulimit -Hn, LimitNOFILE= or --ulimit nofile",
            ),
            Limit::Memory => ("memory ends", "give the machine or the container more"),
            Limit::TrackedConnections => (
                "tracked connections end",
                "raise net.netfilter.nf_conntrack_max",
            ),
        };
        write!(
            formatter,
            "{what} first, at {} clients ({remedy})",
            self.clients
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOMY: Machine = Machine {
        available_memory: Some(1 << 40),
        tracked_connections: Some(1 << 30),
    };

    #[test]
    fn a_sixteenth_of_the_open_files_is_kept_for_http() {
        let budget = SessionBudget::from(20_000, 0);
        assert_eq!(budget.kept_for_http, 1_250);
        assert_eq!(budget.sessions, 20_000 - 1_250 - OWN_FILES);
        assert_eq!(budget.decided_by, Limit::OpenFiles);
    }

    #[test]
    fn no_more_than_4096_files_are_kept_for_http() {
        let budget = SessionBudget::from(1_048_576, 0);
        assert_eq!(budget.kept_for_http, 4_096);
        assert_eq!(budget.sessions, 1_048_576 - 4_096 - OWN_FILES);
    }

    #[test]
    fn the_setting_lowers_the_budget_and_never_raises_it() {
        let lowered = SessionBudget::from(20_000, 500);
        assert_eq!(
            (lowered.sessions, lowered.decided_by),
            (500, Limit::Setting)
        );
        let asked_too_much = SessionBudget::from(20_000, 30_000);
        assert_eq!(
            (asked_too_much.sessions, asked_too_much.decided_by),
            (18_622, Limit::OpenFiles)
        );
    }

    #[test]
    fn a_budget_of_any_number_of_files_neither_overflows_nor_exceeds_them() {
        for open_files in [0, 1, 64, OWN_FILES, OWN_FILES + 1, u64::MAX - 1, u64::MAX] {
            for setting in [0, 1, usize::MAX] {
                let budget = SessionBudget::from(open_files, setting);
                assert!(budget.sessions <= open_files - budget.kept_for_http);
            }
        }
    }

    #[test]
    fn the_smallest_limit_ends_first() {
        let budget = SessionBudget::from(20_000, 0);
        let first = |machine| budget.first_limit(&machine);
        assert_eq!(
            first(ROOMY),
            FirstLimit {
                limit: Limit::OpenFiles,
                clients: 18_622
            }
        );
        let narrow_memory = Machine {
            available_memory: Some(51_000_000),
            ..ROOMY
        };
        assert_eq!(
            first(narrow_memory),
            FirstLimit {
                limit: Limit::Memory,
                clients: 10_000
            }
        );
        let narrow_table = Machine {
            tracked_connections: Some(4_096),
            ..ROOMY
        };
        assert_eq!(
            first(narrow_table),
            FirstLimit {
                limit: Limit::TrackedConnections,
                clients: 4_096
            }
        );
        let set = SessionBudget::from(20_000, 9).first_limit(&ROOMY);
        assert_eq!(
            set,
            FirstLimit {
                limit: Limit::Setting,
                clients: 9
            }
        );
    }

    #[test]
    fn a_machine_that_says_nothing_is_limited_by_open_files() {
        let first = SessionBudget::from(20_000, 0).first_limit(&Machine::default());
        assert_eq!(first.limit, Limit::OpenFiles);
    }

    #[test]
    fn the_first_limit_is_told_in_one_line_with_its_number_and_what_to_do() {
        for limit in [
            Limit::Setting,
            Limit::OpenFiles,
            Limit::Memory,
            Limit::TrackedConnections,
        ] {
            let text = FirstLimit {
                limit,
                clients: 18_622,
            }
            .to_string();
            assert!(
                text.contains("first, at 18622 clients (") && text.lines().count() == 1,
                "{text}"
            );
        }
    }

    #[test]
    fn available_memory_is_read_from_meminfo_in_bytes() {
        let meminfo = "MemTotal:       16000000 kB\nMemFree:  1 kB\nMemAvailable:    2048 kB\nBuffers: 3 kB\n";
        assert_eq!(available_memory(meminfo), Some(2_048 * 1_024));
        for odd in [
            "",
            "MemAvailable:",
            "MemAvailable: many kB",
            "MemAvailable: 18446744073709551615 kB",
        ] {
            assert_eq!(available_memory(odd), None, "{odd}");
        }
    }

    #[test]
    fn a_container_has_left_what_it_does_not_use() {
        assert_eq!(container_memory("1000\n", "400\n"), Some(600));
        assert_eq!(container_memory("1000\n", "1400\n"), Some(0));
        assert_eq!(container_memory("max\n", "400\n"), None);
    }

    #[test]
    fn raising_the_open_files_reaches_the_hard_limit_and_can_be_repeated() {
        let first = raise_open_files();
        assert!(first.limit >= first.soft_before);
        let second = raise_open_files();
        assert_eq!(
            (second.soft_before, second.limit),
            (first.limit, first.limit)
        );
    }
}
