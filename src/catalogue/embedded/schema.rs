//! The tables of the embedded catalogue. Steps are only ever added, because a file can be of any version.

use rusqlite::Connection;

use super::write_transaction;

/// The steps that create the tables. A file's `user_version` is the number of its steps. An empty file has 0.
const STEPS: [&str; 2] = [
    "
CREATE TABLE projects (
    name TEXT PRIMARY KEY,
    audience TEXT,
    issuer TEXT
) STRICT, WITHOUT ROWID;
CREATE TABLE keys (
    position INTEGER PRIMARY KEY,
    project TEXT NOT NULL REFERENCES projects (name),
    id TEXT NOT NULL,
    key_use TEXT NOT NULL,
    algorithm TEXT NOT NULL,
    secret BLOB,
    public_pem TEXT,
    active INTEGER NOT NULL,
    UNIQUE (project, id),
    CHECK ((secret IS NULL) <> (public_pem IS NULL))
) STRICT;
",
    "
ALTER TABLE projects ADD COLUMN active INTEGER NOT NULL DEFAULT 1;
ALTER TABLE projects ADD COLUMN events TEXT NOT NULL DEFAULT 'open';
CREATE TABLE events (
    project TEXT NOT NULL REFERENCES projects (name),
    name TEXT NOT NULL,
    active INTEGER NOT NULL,
    subscribers TEXT,
    emitters TEXT,
    PRIMARY KEY (project, name)
) STRICT, WITHOUT ROWID;
",
];

/// The version of this program.
pub(super) const VERSION: i64 = STEPS.len() as i64;

/// Creates missing tables and returns the version of the file. A file with a version above [`VERSION`] is not changed.
pub(super) fn ensure_schema(connection: &mut Connection) -> rusqlite::Result<i64> {
    let transaction = write_transaction(connection)?;
    let found: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if found >= VERSION {
        return Ok(found);
    }
    // No program writes a negative version. Such a file is treated as empty, and the first step fails.
    for step in STEPS.iter().skip(usize::try_from(found).unwrap_or(0)) {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "user_version", VERSION)?;
    transaction.commit()?;
    Ok(VERSION)
}
