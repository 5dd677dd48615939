//! The SQL statements of the embedded catalogue. Each runs in its caller's transaction.

use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, params};

use crate::catalogue::{CatalogueError, EventDefinition, EventMode, Key, KeyMaterial, Project, ProjectName};

pub(super) fn read_project(
    transaction: &Transaction<'_>,
    name: ProjectName,
) -> Result<Option<Project>, CatalogueError> {
    let found = transaction
        .prepare_cached("SELECT active, audience, issuer, events FROM projects WHERE name = ?1")?
        .query_row([name.as_str()], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get::<_, String>(3)?)))
        .optional()?;
    let Some((active, audience, issuer, events)) = found else {
        return Ok(None);
    };
    let events: EventMode = events.parse()?;
    let keys = read_keys(transaction, &name)?;
    Ok(Some(Project { name, active, audience, issuer, events, keys }))
}

fn read_keys(transaction: &Transaction<'_>, project: &ProjectName) -> Result<Vec<Key>, CatalogueError> {
    let mut statement = transaction.prepare_cached(
        "SELECT id, key_use, algorithm, secret, public_pem, active FROM keys WHERE project = ?1 ORDER BY position",
    )?;
    let mut rows = statement.query([project.as_str()])?;
    let mut keys = Vec::new();
    while let Some(row) = rows.next()? {
        keys.push(read_key(row)?);
    }
    Ok(keys)
}

fn read_key(row: &Row<'_>) -> Result<Key, CatalogueError> {
    let material = match (row.get(3)?, row.get(4)?) {
        (Some(secret), None) => KeyMaterial::Secret(secret),
        (None, Some(pem)) => KeyMaterial::PublicPem(pem),
        _ => return Err(CatalogueError::Unreadable("a key's material")),
    };
    Ok(Key {
        id: row.get(0)?,
        key_use: row.get::<_, String>(1)?.parse()?,
        algorithm: row.get::<_, String>(2)?.parse()?,
        material,
        active: row.get(5)?,
    })
}

pub(super) fn insert_project(transaction: &Transaction<'_>, project: &Project) -> Result<(), CatalogueError> {
    let added = transaction.execute(
        "INSERT INTO projects (name, active, audience, issuer, events) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT DO NOTHING",
        params![project.name.as_str(), project.active, project.audience, project.issuer, project.events.as_str()],
    )?;
    if added == 0 {
        return Err(CatalogueError::ProjectExists(project.name.clone()));
    }
    for key in &project.keys {
        write_key(transaction, &project.name, key)?;
    }
    Ok(())
}

pub(super) fn write_project(transaction: &Transaction<'_>, project: &Project) -> Result<(), CatalogueError> {
    let changed = transaction.execute(
        "UPDATE projects SET active = ?2, audience = ?3, issuer = ?4, events = ?5 WHERE name = ?1",
        params![project.name.as_str(), project.active, project.audience, project.issuer, project.events.as_str()],
    )?;
    if changed == 0 { Err(CatalogueError::ProjectUnknown(project.name.clone())) } else { Ok(()) }
}

/// Deletes a project with its keys and events, which refer to it.
pub(super) fn delete_project(transaction: &Transaction<'_>, name: &ProjectName) -> Result<(), CatalogueError> {
    transaction.execute("DELETE FROM keys WHERE project = ?1", [name.as_str()])?;
    transaction.execute("DELETE FROM events WHERE project = ?1", [name.as_str()])?;
    let deleted = transaction.execute("DELETE FROM projects WHERE name = ?1", [name.as_str()])?;
    if deleted == 0 { Err(CatalogueError::ProjectUnknown(name.clone())) } else { Ok(()) }
}

pub(super) fn list_projects(connection: &Connection) -> Result<Vec<ProjectName>, CatalogueError> {
    let mut statement = connection.prepare("SELECT name FROM projects ORDER BY name")?;
    let mut rows = statement.query([])?;
    let mut names = Vec::new();
    while let Some(row) = rows.next()? {
        let name: String = row.get(0)?;
        names.push(ProjectName::parse(&name).map_err(|_| CatalogueError::Unreadable("a project's name"))?);
    }
    Ok(names)
}

const EVENT_COLUMNS: &str = "SELECT name, active, subscribers, emitters FROM events WHERE project = ?1";

pub(super) fn read_event(
    connection: &Connection,
    project: &ProjectName,
    name: &str,
) -> Result<Option<EventDefinition>, CatalogueError> {
    let mut statement = connection.prepare_cached(&format!("{EVENT_COLUMNS} AND name = ?2"))?;
    let mut rows = statement.query([project.as_str(), name])?;
    rows.next()?.map(read_event_row).transpose()
}

pub(super) fn read_events(
    connection: &Connection,
    project: &ProjectName,
) -> Result<Vec<EventDefinition>, CatalogueError> {
    let mut statement = connection.prepare(&format!("{EVENT_COLUMNS} ORDER BY name"))?;
    let mut rows = statement.query([project.as_str()])?;
    let mut events = Vec::new();
    while let Some(row) = rows.next()? {
        events.push(read_event_row(row)?);
    }
    Ok(events)
}

fn read_event_row(row: &Row<'_>) -> Result<EventDefinition, CatalogueError> {
    Ok(EventDefinition {
        name: row.get(0)?,
        active: row.get(1)?,
        subscribers: read_names(row.get(2)?)?,
        emitters: read_names(row.get(3)?)?,
    })
}

/// Reads applications, which are stored as a JSON array.
fn read_names(column: Option<String>) -> Result<Option<Vec<String>>, CatalogueError> {
    let read = |text: String| serde_json::from_str(&text).map_err(|_| CatalogueError::Unreadable("an event's rules"));
    column.map(read).transpose()
}

pub(super) fn write_event(
    transaction: &Transaction<'_>,
    project: &ProjectName,
    event: &EventDefinition,
) -> rusqlite::Result<()> {
    let write =
        |names: &Option<Vec<String>>| names.as_ref().map(|names| serde_json::Value::from(names.clone()).to_string());
    transaction.execute(
        "INSERT OR REPLACE INTO events (project, name, active, subscribers, emitters) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![project.as_str(), event.name, event.active, write(&event.subscribers), write(&event.emitters)],
    )?;
    Ok(())
}

pub(super) fn write_key(transaction: &Transaction<'_>, project: &ProjectName, key: &Key) -> rusqlite::Result<()> {
    let (secret, public_pem) = match &key.material {
        KeyMaterial::Secret(secret) => (Some(secret), None),
        KeyMaterial::PublicPem(pem) => (None, Some(pem)),
    };
    transaction.execute(
        "INSERT INTO keys (project, id, key_use, algorithm, secret, public_pem, active)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
         ON CONFLICT (project, id) DO UPDATE SET key_use = excluded.key_use, algorithm = excluded.algorithm,
             secret = excluded.secret, public_pem = excluded.public_pem, active = excluded.active",
        params![project.as_str(), key.id, key.key_use.as_str(), key.algorithm.as_str(), secret, public_pem, key.active],
    )?;
    Ok(())
}

pub(super) fn has_project(transaction: &Transaction<'_>, name: &ProjectName) -> rusqlite::Result<bool> {
    transaction.prepare("SELECT 1 FROM projects WHERE name = ?1")?.exists([name.as_str()])
}

pub(super) fn has_any_project(transaction: &Transaction<'_>) -> rusqlite::Result<bool> {
    transaction.prepare("SELECT 1 FROM projects")?.exists([])
}
