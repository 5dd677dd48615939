//! What only a file can get wrong: killed processes, races between processes, rights, versions.

use std::sync::Barrier;

use super::*;
use crate::catalogue::NodeLock;
use crate::catalogue::conformance::assert_conforms;

fn open(folder: &Path) -> EmbeddedCatalogue {
    EmbeddedCatalogue::open(folder).unwrap()
}

#[tokio::test]
async fn embedded_catalogue_conforms() {
    let folder = tempfile::tempdir().unwrap();
    assert_conforms(&open(folder.path())).await;
}

#[tokio::test]
async fn what_was_written_is_there_after_the_next_opening() {
    let folder = tempfile::tempdir().unwrap();
    let first = open(folder.path());
    assert!(first.ensure_demo().await.unwrap());
    let written = first.project(&ProjectName::demo()).await.unwrap();
    drop(first);
    let second = open(folder.path());
    assert!(!second.ensure_demo().await.unwrap());
    assert_eq!(second.project(&ProjectName::demo()).await.unwrap(), written);
}

/// A process killed inside a transaction leaves the main file and a write-ahead log without its commit.
#[tokio::test]
async fn file_left_by_a_killed_process_opens_with_what_was_committed() {
    let folder = tempfile::tempdir().unwrap();
    let killed = open(folder.path());
    killed.ensure_demo().await.unwrap();
    let left = tempfile::tempdir().unwrap();
    {
        let mut connection = killed.connection.lock().await;
        // A cache of one page makes SQLite spill uncommitted pages into the log, as a long transaction does.
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
    assert!(std::fs::metadata(log).unwrap().len() > 500_000, "nothing was spilled");

    let reopened = open(left.path());
    assert!(reopened.project(&ProjectName::demo()).await.unwrap().is_some());
    let half = ProjectName::parse("half-0").unwrap();
    assert_eq!(reopened.project(&half).await.unwrap(), None);
    reopened.create_project(&Project::new(half)).await.unwrap();
}

#[test]
fn one_of_many_first_starts_at_once_makes_the_demo() {
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
async fn command_line_reads_and_writes_beside_a_running_node() {
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
async fn every_file_of_the_catalogue_is_its_owners_alone() {
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
fn file_of_a_newer_program_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    drop(open(folder.path()));
    let connection = Connection::open(folder.path().join(FILE_NAME)).unwrap();
    connection.pragma_update(None, "user_version", 7).unwrap();
    drop(connection);
    let refusal = EmbeddedCatalogue::open(folder.path()).err().unwrap();
    assert!(matches!(refusal, CatalogueError::TooNew { found: 7, known: schema::VERSION, .. }), "{refusal}");
}

#[test]
fn file_that_is_no_database_is_named() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(FILE_NAME), "x".repeat(5_000)).unwrap();
    let refusal = EmbeddedCatalogue::open(folder.path()).err().unwrap().to_string();
    assert!(refusal.contains("carillon.sqlite3 can't be opened"), "{refusal}");
}

/// What the first version of the program left is brought up to date, and read as it was.
#[tokio::test]
async fn file_of_the_first_version_is_brought_up_to_date() {
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
async fn a_change_by_another_process_is_another_version_and_an_own_one_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let (node, command) = (open(folder.path()), open(folder.path()));
    let first = node.version().await.unwrap();
    assert!(first.is_some());
    node.ensure_demo().await.unwrap();
    assert_eq!(node.version().await.unwrap(), first);
    command.put_project(&Project { active: false, ..Project::new(ProjectName::demo()) }).await.unwrap();
    assert_ne!(node.version().await.unwrap(), first);
}
