//! Open files, and how they are divided. Each session takes one, and some are reserved for HTTP, so that emits arrive
//! while sessions fill the node.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::Limit;

/// One in this many open files is reserved for HTTP.
const HTTP_SHARE: u64 = 16;

/// The maximum number of open files reserved for HTTP. They are for keep-alive connections of backends, not of users.
const MAX_HTTP_SHARE: u64 = 4_096;

/// Open files of the node itself: standard streams, the listener, the catalogue's database with its journal, and about
/// seven for each worker thread (polls, wakers, signal pipes).
const OWN_FILES: u64 = 128;

/// The maximum number of open files per process that Linux allows unless `fs.nr_open` is raised.
pub const DEFAULT_NR_OPEN: u64 = 1_048_576;

/// The limit on open files of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenFiles {
    /// The soft limit that the process was started with.
    pub soft_before: u64,
    /// The limit in force.
    pub limit: u64,
}

/// The division of open files between sessions and HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionBudget {
    /// The maximum number of sessions.
    pub sessions: u64,
    /// Open files that are reserved for HTTP connections.
    pub reserved_for_http: u64,
    /// The limit that decided the number of sessions: [`Limit::Setting`] or [`Limit::OpenFiles`].
    pub decided_by: Limit,
}

/// Raises the soft limit on open files to the hard limit. If the system refuses, the limit stays unchanged.
pub fn raise_open_files() -> OpenFiles {
    let before = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: before.maximum, maximum: before.maximum };
    let now = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => getrlimit(Resource::Nofile),
        Err(_) => before,
    };
    // On macOS there can be no limit here, because the system has another one.
    let count = |limit: Option<u64>| limit.unwrap_or(u64::MAX);
    OpenFiles { soft_before: count(before.current), limit: count(now.current) }
}

impl SessionBudget {
    /// Divides the open files. `setting` is `limits.sessions`: 0, or more than the files allow, means as many as they
    /// allow.
    pub fn from(open_files: u64, setting: usize) -> Self {
        let reserved_for_http = (open_files / HTTP_SHARE).min(MAX_HTTP_SHARE);
        let possible = open_files.saturating_sub(reserved_for_http + OWN_FILES);
        let wanted = setting as u64;
        let (sessions, decided_by) = match wanted {
            1.. if wanted <= possible => (wanted, Limit::Setting),
            _ => (possible, Limit::OpenFiles),
        };
        Self { sessions, reserved_for_http, decided_by }
    }
}

/// The smallest number of open files for this many sessions: the inverse of [`SessionBudget::from`].
pub fn open_files_for(sessions: u64) -> u64 {
    let with_own = sessions.saturating_add(OWN_FILES);
    // A sixteenth of all files is a fifteenth of the rest. The budget rounds down, so this rounds down too.
    let reserved_for_http = ((with_own - 1) / (HTTP_SHARE - 1)).min(MAX_HTTP_SHARE);
    with_own.saturating_add(reserved_for_http)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sixteenth_of_the_open_files_is_reserved_for_http() {
        let budget = SessionBudget::from(20_000, 0);
        assert_eq!(budget.reserved_for_http, 1_250);
        assert_eq!(budget.sessions, 20_000 - 1_250 - OWN_FILES);
        assert_eq!(budget.decided_by, Limit::OpenFiles);
    }

    #[test]
    fn no_more_than_4096_files_are_reserved_for_http() {
        let budget = SessionBudget::from(1_048_576, 0);
        assert_eq!(budget.reserved_for_http, 4_096);
        assert_eq!(budget.sessions, 1_048_576 - 4_096 - OWN_FILES);
    }

    #[test]
    fn the_setting_lowers_the_budget_and_never_raises_it() {
        let lowered = SessionBudget::from(20_000, 500);
        assert_eq!((lowered.sessions, lowered.decided_by), (500, Limit::Setting));
        let asked_too_much = SessionBudget::from(20_000, 30_000);
        assert_eq!((asked_too_much.sessions, asked_too_much.decided_by), (18_622, Limit::OpenFiles));
    }

    #[test]
    fn a_budget_never_overflows_and_never_exceeds_the_open_files() {
        for open_files in [0, 1, 64, OWN_FILES, OWN_FILES + 1, u64::MAX - 1, u64::MAX] {
            for setting in [0, 1, usize::MAX] {
                let budget = SessionBudget::from(open_files, setting);
                assert!(budget.sessions <= open_files - budget.reserved_for_http);
            }
        }
    }

    #[test]
    fn open_files_for_sessions_is_the_smallest_sufficient_number() {
        for sessions in (1..2_000).chain([18_622, 61_311, 61_312, 61_313, 61_440, 100_000, 1_044_352, 5_000_000]) {
            let files = open_files_for(sessions);
            assert_eq!(SessionBudget::from(files, 0).sessions, sessions, "{files}");
            assert!(SessionBudget::from(files - 1, 0).sessions < sessions, "{files}");
        }
        assert_eq!(open_files_for(u64::MAX), u64::MAX);
    }

    #[test]
    fn raising_the_soft_limit_reaches_the_hard_limit_and_can_be_repeated() {
        let first = raise_open_files();
        assert!(first.limit >= first.soft_before);
        let second = raise_open_files();
        assert_eq!((second.soft_before, second.limit), (first.limit, first.limit));
    }
}
