//! Tests of the file: killed processes, races between processes, permissions, versions.

use std::sync::Barrier;

use super::*;
use crate::catalogue::NodeLock;
use crate::catalogue::conformance::assert_conforms;

fn open(folder: &Path) -> EmbeddedCatalogue {
    EmbeddedCatalogue::open(folder).unwrap()
}

#[tokio::test]
async fn the_embedded_catalogue_conforms() {
    let folder = tempfile::tempdir().unwrap();
    assert_conforms(&open(folder.path())).await;
}

#[tokio::test]
async fn written_data_is_read_after_the_file_is_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let first = open(folder.path());
    assert!(first.ensure_demo().await.unwrap());
    let written = first.project(&ProjectName::demo()).await.unwrap();
    drop(first);
    let second = open(folder.path());
    assert!(!second.ensure_demo().await.unwrap());
    assert_eq!(second.project(&ProjectName::demo()).await.unwrap(), written);
}

/// A process that is killed in a transaction leaves the main file and a write-ahead log without the commit.
#[tokio::test]
async fn the_file_of_a_killed_process_has_all_committed_data() {
    let folder = tempfile::tempdir().unwrap();
    let killed = open(folder.path());
    killed.ensure_demo().await.unwrap();
    let left = tempfile::tempdir().unwrap();
    {
        let mut connection = killed.connection.lock().await;
        // A cache of one page makes SQLite write uncommitted pages into the log, as a long transaction does.
        connection.pragma_update(None, "cache_size", 1).unwrap();
        let transaction = write_transaction(&mut connection).unwrap();
        for number in 0..500 {
            let name = ProjectName::parse(&format!("half-{number}")).unwrap();
            let mut project = Project::new(name);
            project.audience = Some("x".repeat(2_000));
            insert_project(&transaction, &project).unwrap();
        }
        for entry in std::fs::read_dir(folder.path()).unwrap() {
            let entry = entry.unwrap();
            std::fs::copy(entry.path(), left.path().join(entry.file_name())).unwrap();
        }
    }
    let log = left.path().join("carillon.sqlite3-wal");
    assert!(std::fs::metadata(log).unwrap().len() > 500_000, "the log holds no uncommitted pages");

    let reopened = open(left.path());
    assert!(reopened.project(&ProjectName::demo()).await.unwrap().is_some());
    let half = ProjectName::parse("half-0").unwrap();
    assert_eq!(reopened.project(&half).await.unwrap(), None);
    reopened.create_project(&Project::new(half)).await.unwrap();
}

#[test]
fn one_of_many_concurrent_first_starts_creates_the_demo() {
    const STARTS: usize = 8;
    let folder = tempfile::tempdir().unwrap();
    let barrier = Barrier::new(STARTS);
    let made: usize = std::thread::scope(|scope| {
        let starts: Vec<_> = (0..STARTS)
            .map(|_| {
                scope.spawn(|| {
                    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
                    barrier.wait();
                    let catalogue = open(folder.path());
                    usize::from(runtime.block_on(catalogue.ensure_demo()).unwrap())
                })
            })
            .collect();
        starts.into_iter().map(|start| start.join().unwrap()).sum()
    });
    assert_eq!(made, 1);
}

#[tokio::test]
async fn the_command_line_reads_and_writes_while_a_node_runs() {
    let folder = tempfile::tempdir().unwrap();
    let _lock = NodeLock::acquire(folder.path()).unwrap();
    let node = open(folder.path());
    node.ensure_demo().await.unwrap();
    let command = open(folder.path());
    let other = ProjectName::parse("other").unwrap();
    command.create_project(&Project::new(other.clone())).await.unwrap();
    assert!(node.project(&other).await.unwrap().is_some());
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_may_read_the_files_of_the_catalogue() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let catalogue = open(folder.path());
    catalogue.ensure_demo().await.unwrap();
    let mut files = 0;
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let entry = entry.unwrap();
        assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{:?}", entry.path());
        files += 1;
    }
    assert_eq!(files, 3, "main file, write-ahead log, shared memory");
}

#[test]
fn a_file_of_a_newer_program_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    drop(open(folder.path()));
    let connection = Connection::open(folder.path().join(FILE_NAME)).unwrap();
    connection.pragma_update(None, "user_version", 7).unwrap();
    drop(connection);
    let refusal = EmbeddedCatalogue::open(folder.path()).err().unwrap();
    assert!(matches!(refusal, CatalogueError::TooNew { found: 7, known: schema::VERSION, .. }), "{refusal}");
}

#[test]
fn the_error_names_a_file_that_is_not_a_database() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(FILE_NAME), "x".repeat(5_000)).unwrap();
    let refusal = EmbeddedCatalogue::open(folder.path()).err().unwrap().to_string();
    assert!(refusal.contains("carillon.sqlite3 cannot be opened"), "{refusal}");
}

#[tokio::test]
async fn a_file_of_the_first_version_is_migrated_and_read() {
    let folder = tempfile::tempdir().unwrap();
    let connection = Connection::open(folder.path().join(FILE_NAME)).unwrap();
    connection
        .execute_batch(
            "CREATE TABLE projects (name TEXT PRIMARY KEY, audience TEXT, issuer TEXT) STRICT, WITHOUT ROWID;
             CREATE TABLE keys (position INTEGER PRIMARY KEY, project TEXT NOT NULL REFERENCES projects (name),
                 id TEXT NOT NULL, key_use TEXT NOT NULL, algorithm TEXT NOT NULL, secret BLOB, public_pem TEXT,
                 active INTEGER NOT NULL, UNIQUE (project, id)) STRICT;
             INSERT INTO projects (name, issuer) VALUES ('demo', 'i');
             PRAGMA user_version = 1;",
        )
        .unwrap();
    drop(connection);
    let demo = open(folder.path()).project(&ProjectName::demo()).await.unwrap();
    let expected = Project { issuer: Some("i".to_owned()), ..Project::new(ProjectName::demo()) };
    assert_eq!(demo, Some(expected));
}

#[tokio::test]
async fn the_version_changes_only_with_changes_by_another_process() {
    let folder = tempfile::tempdir().unwrap();
    let (node, command) = (open(folder.path()), open(folder.path()));
    let first = node.version().await.unwrap();
    assert!(first.is_some());
    node.ensure_demo().await.unwrap();
    assert_eq!(node.version().await.unwrap(), first);
    command.put_project(&Project { active: false, ..Project::new(ProjectName::demo()) }).await.unwrap();
    assert_ne!(node.version().await.unwrap(), first);
}
