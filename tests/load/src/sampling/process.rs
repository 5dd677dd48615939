//! CPU seconds and memory of processes and their child processes, from `/proc` (proc(5)).

use std::collections::BTreeSet;
use std::fs;

/// Clock ticks per second in `/proc`: 100 on every Linux (`USER_HZ`).
const TICKS: f64 = 100.0;

/// The processes and all their descendants.
pub fn with_children(pids: &[u32]) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    let mut waiting = pids.to_vec();
    while let Some(pid) = waiting.pop() {
        if found.insert(pid) {
            waiting.extend(children(pid));
        }
    }
    found
}

/// CPU seconds, user and system, that the processes and their children have used so far.
pub fn cpu_seconds(pids: &[u32]) -> f64 {
    with_children(pids).into_iter().map(own_cpu_seconds).sum()
}

/// Resident bytes. Shared pages count once: each process has a part of them.
pub fn resident_bytes(pids: &[u32]) -> u64 {
    with_children(pids).into_iter().map(proportional_bytes).sum()
}

fn children(pid: u32) -> Vec<u32> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let lists = tasks.flatten().filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>()).collect()
}

fn own_cpu_seconds(pid: u32) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    ticks(&stat).map_or(0.0, |ticks| ticks as f64 / TICKS)
}

/// Fields 14 and 15. Field 2 is a name in brackets, which may contain spaces and brackets.
fn ticks(stat: &str) -> Option<u64> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    Some(fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?)
}

fn proportional_bytes(pid: u32) -> u64 {
    let memory = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    kibibytes(&memory, "Pss:").unwrap_or(0) * 1024
}

/// A value in kB from a file with one value per line, such as `/proc/meminfo`.
pub fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_after_any_process_name() {
        let stat = "7 (a) b) c) S 1 2 3 4 5 6 7 8 9 10 120 30 0 0";
        assert_eq!(ticks(stat), Some(150));
        assert_eq!(ticks("nothing"), None);
    }

    #[test]
    fn a_process_sees_itself_and_its_child() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("sleep is everywhere");
        let pids = with_children(&[std::process::id()]);
        child.kill().and_then(|()| child.wait()).expect("a child can be ended");
        assert!(pids.contains(&std::process::id()) && pids.contains(&child.id()), "{pids:?}");
        assert!(resident_bytes(&[std::process::id()]) > 100_000);
    }
}
