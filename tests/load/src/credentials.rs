//! Finds the keys of tokens: on the command line, or in the data folder of a node on this machine.

use crate::options::Common;
use crate::protocols::{Credentials, Protocol};
use crate::wire::token::Key;
use rusqlite::{Connection, OpenFlags};
use std::path::PathBuf;
use thiserror::Error;

/// The file of the catalogue in the data folder of a node.
const CATALOGUE: &str = "carillon.sqlite3";
const STATEMENT: &str = "SELECT id, secret FROM keys
    WHERE project = ?1 AND key_use = ?2 AND algorithm = 'HS256' AND active ORDER BY position LIMIT 1";

/// Why tokens can't be signed.
#[derive(Debug, Error)]
pub enum CredentialsError {
    #[error("no key in {}: {cause}; name the data folder with --data, or give tokens or keys", file.display())]
    Catalogue { file: PathBuf, cause: rusqlite::Error },
}

/// The credentials of the command line, completed from the data folder.
///
/// # Errors
/// [`CredentialsError`], if a token is neither given nor can be signed.
pub fn find(common: &Common) -> Result<Credentials, CredentialsError> {
    let mut credentials = Credentials {
        api_token: common.api_token.clone(),
        user_token: common.user_token.clone(),
        api_key: common.api_key.clone(),
        user_key: common.user_key.clone(),
    };
    if common.protocol == Protocol::Carillon {
        if credentials.api_token.is_none() && credentials.api_key.is_none() {
            credentials.api_key = Some(read_key(common, "api")?);
        }
        if credentials.user_token.is_none() && credentials.user_key.is_none() {
            credentials.user_key = Some(read_key(common, "user")?);
        }
    }
    Ok(credentials)
}

fn read_key(common: &Common, key_use: &str) -> Result<Key, CredentialsError> {
    let file = common.data.join(CATALOGUE);
    let read = || {
        let catalogue = Connection::open_with_flags(&file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        catalogue
            .query_row(STATEMENT, [&common.project, key_use], |row| Ok(Key { id: row.get(0)?, secret: row.get(1)? }))
    };
    read().map_err(|cause| CredentialsError::Catalogue { file: file.clone(), cause })
}
