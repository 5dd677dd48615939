//! Brings a MongoDB to what this program expects: the commands of `migrations/`, applied once, in order, and recorded.
//!
//! There is no lock, so no holder of one can die. Instead each command may run twice and beside itself, and the record of
//! a migration (its name as `_id`) is written behind its last command: who dies in between leaves it to be done again.
//! Invariant: what was applied is read once, before the first command, and everything else is applied in order, whatever
//! others do meanwhile. So with several starts at once, the last command that reaches a collection is one of the newest
//! migration, never one of a slow start that is still at an older one.
//!
//! Files are only ever added, since old ones may have run anywhere. A newer program's records are left alone: nodes are
//! upgraded one at a time.

use std::collections::HashSet;
use std::time::Duration;

use futures::TryStreamExt as _;
use mongodb::Database;
use mongodb::bson::{DateTime, Document, doc};
use mongodb::error::ErrorKind;
use serde::Deserialize;

use super::connection::{is_duplicate, within};
use crate::catalogue::CatalogueError;

/// The collection of the records.
const RECORDS: &str = "migrations";

/// The longest that one command may take: building an index over a catalogue of millions of keys.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(60);

/// What MongoDB answers where a collection that is to be made is there already.
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

/// What a file of `migrations/` holds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Script {
    /// Database commands, the command's name first.
    commands: Vec<Document>,
}

impl Migration {
    fn commands(&self) -> Vec<Document> {
        let script: Script = serde_json::from_str(self.text).expect("a test reads every file of migrations/");
        script.commands
    }
}

/// Applies what is not recorded yet, and answers the names of what this call applied.
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
        // Another start applied it at the same moment.
        Err(error) if is_duplicate(&error) => Ok(()),
        outcome => Ok(outcome.map(drop)?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_listed_in_order_and_holds_commands() {
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
    fn a_command_keeps_its_name_in_front_and_its_operators() {
        let commands = MIGRATIONS[0].commands();
        assert_eq!(commands[0], doc! { "create": "projects" });
        assert_eq!(commands[1].keys().next().unwrap(), "collMod");
        let schema = commands[1].get_document("validator").unwrap().get_document("$jsonSchema").unwrap();
        assert_eq!(schema.get_array("required").unwrap().len(), 2);
    }
}
