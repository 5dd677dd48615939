//! The rules, with given numbers and texts.

use super::*;

const ROOMY: Machine = Machine { available_memory: Some(1 << 40), tracked_connections: Some(1 << 30) };

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
    assert_eq!((lowered.sessions, lowered.decided_by), (500, Limit::Setting));
    let asked_too_much = SessionBudget::from(20_000, 30_000);
    assert_eq!((asked_too_much.sessions, asked_too_much.decided_by), (18_622, Limit::OpenFiles));
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
    assert_eq!(first(ROOMY), FirstLimit { limit: Limit::OpenFiles, clients: 18_622 });
    let narrow_memory = Machine { available_memory: Some(51_000_000), ..ROOMY };
    assert_eq!(first(narrow_memory), FirstLimit { limit: Limit::Memory, clients: 10_000 });
    let narrow_table = Machine { tracked_connections: Some(4_096), ..ROOMY };
    assert_eq!(first(narrow_table), FirstLimit { limit: Limit::TrackedConnections, clients: 4_096 });
    let set = SessionBudget::from(20_000, 9).first_limit(&ROOMY);
    assert_eq!(set, FirstLimit { limit: Limit::Setting, clients: 9 });
}

#[test]
fn a_machine_that_says_nothing_is_limited_by_open_files() {
    let first = SessionBudget::from(20_000, 0).first_limit(&Machine::default());
    assert_eq!(first.limit, Limit::OpenFiles);
}

#[test]
fn the_first_limit_is_told_in_one_line_with_its_number_and_what_to_do() {
    for limit in [Limit::Setting, Limit::OpenFiles, Limit::Memory, Limit::TrackedConnections] {
        let text = FirstLimit { limit, clients: 18_622 }.to_string();
        assert!(text.contains("first, at 18622 clients (") && text.lines().count() == 1, "{text}");
    }
}

#[test]
fn available_memory_is_read_from_meminfo_in_bytes() {
    let meminfo = "MemTotal:       16000000 kB\nMemFree:  1 kB\nMemAvailable:    2048 kB\nBuffers: 3 kB\n";
    assert_eq!(available_memory(meminfo), Some(2_048 * 1_024));
    for odd in ["", "MemAvailable:", "MemAvailable: many kB", "MemAvailable: 18446744073709551615 kB"] {
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
    assert_eq!((second.soft_before, second.limit), (first.limit, first.limit));
}
