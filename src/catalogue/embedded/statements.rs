//! The statements of the embedded catalogue, each inside its caller's transaction.

use rusqlite::{OptionalExtension as _, Row, Transaction, params};

use crate::catalogue::{CatalogueError, Key, KeyMaterial, Project, ProjectName};

pub(super) fn read_project(
    transaction: &Transaction<'_>,
    name: ProjectName,
) -> Result<Option<Project>, CatalogueError> {
    let found = transaction
        .prepare_cached("SELECT audience, issuer FROM projects WHERE name = ?1")?
        .query_row([name.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((audience, issuer)) = found else {
        return Ok(None);
    };
    let keys = read_keys(transaction, &name)?;
    Ok(Some(Project { name, audience, issuer, keys }))
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
        "INSERT INTO projects (name, audience, issuer) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
        params![project.name.as_str(), project.audience, project.issuer],
    )?;
    if added == 0 {
        return Err(CatalogueError::ProjectExists(project.name.clone()));
    }
    for key in &project.keys {
        write_key(transaction, &project.name, key)?;
    }
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
