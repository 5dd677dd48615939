//! Migrates a MongoDB to the schema of this program: the commands of `migrations/` are applied in order and recorded.
//!
//! There is no lock, because the holder of a lock can die. Each command may run twice and concurrently. The record of a
//! migration (its name as `_id`) is written after its last command. If a process dies before that, the migration is
//! applied again. Invariant: the records are read once, before the first command. All other migrations are applied in
//! order, whatever other processes do. So if several nodes start at once, the last command on a collection is one of
//! the newest migration, and never an older one of a slow start.
//!
//! Files are only ever added, because old ones may have been applied anywhere. The records of newer programs are
//! ignored, because nodes are upgraded one at a time.

use std::collections::HashSet;
use std::time::Duration;

use futures::TryStreamExt as _;
use mongodb::Database;
use mongodb::bson::{DateTime, Document, doc};
use mongodb::error::ErrorKind;
use serde::Deserialize;

use super::connection::{is_duplicate, within};
use crate::catalogue::CatalogueError;

/// The collection of records.
const RECORDS: &str = "migrations";

/// The timeout of a command. Building an index over millions of keys takes long.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(60);

/// MongoDB's error code for creating a collection that exists.
const NAMESPACE_EXISTS: i32 = 48;

struct Migration {
    name: &'static str,
    text: &'static str,
}

const MIGRATIONS: [Migration; 2] = [
    Migration {
        name: "0001_projects_keys_events",
        text: include_str!("../../../migrations/0001_projects_keys_events.json"),
    },
    Migration {
        name: "0002_states_and_event_rules",
        text: include_str!("../../../migrations/0002_states_and_event_rules.json"),
    },
];

/// The content of a file of `migrations/`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Script {
    /// Database commands. The first member of each is its name.
    commands: Vec<Document>,
}

impl Migration {
    fn commands(&self) -> Vec<Document> {
        let script: Script = serde_json::from_str(self.text).expect("a test reads every file of migrations/");
        script.commands
    }
}

/// Applies the migrations that are not recorded, and returns their names.
pub(super) async fn apply(database: &Database) -> Result<Vec<&'static str>, CatalogueError> {
    let recorded = within(COMMAND_TIMEOUT, recorded(database)).await?;
    let mut applied = Vec::new();
    for migration in MIGRATIONS.iter().filter(|migration| !recorded.contains(migration.name)) {
        for command in migration.commands() {
            within(COMMAND_TIMEOUT, run(database, command)).await?;
        }
        within(COMMAND_TIMEOUT, record(database, migration.name)).await?;
        applied.push(migration.name);
    }
    Ok(applied)
}

async fn recorded(database: &Database) -> Result<HashSet<String>, CatalogueError> {
    let mut records = database.collection::<Document>(RECORDS).find(doc! {}).await?;
    let mut names = HashSet::new();
    while let Some(record) = records.try_next().await? {
        names.insert(
            record.get_str("_id").map_err(|_| CatalogueError::Unreadable("a record of migrations"))?.to_owned(),
        );
    }
    Ok(names)
}

async fn run(database: &Database, command: Document) -> Result<(), CatalogueError> {
    match database.run_command(command).await {
        Err(error) if is_namespace_exists(error.kind.as_ref()) => Ok(()),
        outcome => Ok(outcome.map(drop)?),
    }
}

fn is_namespace_exists(kind: &ErrorKind) -> bool {
    matches!(kind, ErrorKind::Command(command) if command.code == NAMESPACE_EXISTS)
}

async fn record(database: &Database, name: &str) -> Result<(), CatalogueError> {
    let record = doc! { "_id": name, "applied_at": DateTime::now(), "program": env!("CARGO_PKG_VERSION") };
    match database.collection(RECORDS).insert_one(record).await {
        // Another node applied it at the same time.
        Err(error) if is_duplicate(&error) => Ok(()),
        outcome => Ok(outcome.map(drop)?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_listed_in_order_and_has_commands() {
        let mut files: Vec<String> = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/migrations"))
            .unwrap()
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect();
        files.sort();
        let listed: Vec<String> = MIGRATIONS.iter().map(|migration| format!("{}.json", migration.name)).collect();
        assert_eq!(files, listed);
        for migration in &MIGRATIONS {
            assert!(!migration.commands().is_empty(), "{}", migration.name);
        }
    }

    #[test]
    fn a_command_begins_with_its_name_and_keeps_its_operators() {
        let commands = MIGRATIONS[0].commands();
        assert_eq!(commands[0], doc! { "create": "projects" });
        assert_eq!(commands[1].keys().next().unwrap(), "collMod");
        let schema = commands[1].get_document("validator").unwrap().get_document("$jsonSchema").unwrap();
        assert_eq!(schema.get_array("required").unwrap().len(), 2);
    }
}
