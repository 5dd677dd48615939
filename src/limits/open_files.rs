//! Open files, and how they are shared out: each session is one, and emits have to come in while sessions fill the node.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::Limit;

/// Of the open files, one in so many is kept for HTTP.
const HTTP_SHARE: u64 = 16;

/// The most open files that are kept for HTTP: keep-alive connections of backends, not of people.
const MAX_HTTP_SHARE: u64 = 4_096;

/// Open files of the node's own: standard streams, listener, the catalogue's database with its journal, and for each worker
/// thread its polls, wake-ups and signal pipes (about seven).
const OWN_FILES: u64 = 128;

/// The most open files of a process that Linux allows anybody without `fs.nr_open` being raised.
pub const DEFAULT_NR_OPEN: u64 = 1_048_576;

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
    pub reserved_for_http: u64,
    /// What decided the number of sessions: [`Limit::Setting`] or [`Limit::OpenFiles`].
    pub decided_by: Limit,
}

/// Raises the soft limit of open files to the hard one. Where that is refused, the limit stays as it was.
pub fn raise_open_files() -> OpenFiles {
    let before = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: before.maximum, maximum: before.maximum };
    let now = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => getrlimit(Resource::Nofile),
        Err(_) => before,
    };
    // No limit at all is possible where the system has another one behind (macOS).
    let count = |limit: Option<u64>| limit.unwrap_or(u64::MAX);
    OpenFiles { soft_before: count(before.current), limit: count(now.current) }
}

impl SessionBudget {
    /// Shares out the open files. `setting` is `limits.sessions`: 0 takes what the files allow, more than they allow is cut.
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

/// The fewest open files with which a node takes so many sessions: the other direction of [`SessionBudget::from`].
pub fn open_files_for(sessions: u64) -> u64 {
    let with_own = sessions.saturating_add(OWN_FILES);
    // A sixteenth of all is a fifteenth of the rest; as the budget rounds down, so is the last file of a share not needed.
    let reserved_for_http = ((with_own - 1) / (HTTP_SHARE - 1)).min(MAX_HTTP_SHARE);
    with_own.saturating_add(reserved_for_http)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sixteenth_of_the_open_files_is_kept_for_http() {
        let budget = SessionBudget::from(20_000, 0);
        assert_eq!(budget.reserved_for_http, 1_250);
        assert_eq!(budget.sessions, 20_000 - 1_250 - OWN_FILES);
        assert_eq!(budget.decided_by, Limit::OpenFiles);
    }

    #[test]
    fn no_more_than_4096_files_are_kept_for_http() {
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
    fn a_budget_of_any_number_of_files_neither_overflows_nor_exceeds_them() {
        for open_files in [0, 1, 64, OWN_FILES, OWN_FILES + 1, u64::MAX - 1, u64::MAX] {
            for setting in [0, 1, usize::MAX] {
                let budget = SessionBudget::from(open_files, setting);
                assert!(budget.sessions <= open_files - budget.reserved_for_http);
            }
        }
    }

    #[test]
    fn the_files_for_so_many_sessions_are_the_fewest_that_hold_them() {
        for sessions in (1..2_000).chain([18_622, 61_311, 61_312, 61_313, 61_440, 100_000, 1_044_352, 5_000_000]) {
            let files = open_files_for(sessions);
            assert_eq!(SessionBudget::from(files, 0).sessions, sessions, "{files}");
            assert!(SessionBudget::from(files - 1, 0).sessions < sessions, "{files}");
        }
        assert_eq!(open_files_for(u64::MAX), u64::MAX);
    }

    #[test]
    fn raising_the_open_files_reaches_the_hard_limit_and_can_be_repeated() {
        let first = raise_open_files();
        assert!(first.limit >= first.soft_before);
        let second = raise_open_files();
        assert_eq!((second.soft_before, second.limit), (first.limit, first.limit));
    }
}
