//! The tables of the embedded catalogue. Steps are only ever added: a file may be of any age.

use rusqlite::Connection;

use super::write_transaction;

/// The steps that make the tables; a file's `user_version` says how many of them it has, 0 is an empty file.
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

/// The version that this program knows.
pub(super) const VERSION: i64 = STEPS.len() as i64;

/// Makes the tables that are missing, and answers the version that the file has then: a newer one than [`VERSION`] is
/// left alone.
pub(super) fn ensure_schema(connection: &mut Connection) -> rusqlite::Result<i64> {
    let transaction = write_transaction(connection)?;
    let found: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if found >= VERSION {
        return Ok(found);
    }
    // Nobody writes a negative version; such a file is taken for an empty one, whose first step then fails.
    for step in STEPS.iter().skip(usize::try_from(found).unwrap_or(0)) {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "user_version", VERSION)?;
    transaction.commit()?;
    Ok(VERSION)
}
