//! The driver: how it is set up, how long it may take, and what its errors may say.

use std::time::Duration;

use mongodb::Client;
use mongodb::error::{Error, ErrorKind, WriteFailure};
use mongodb::options::{ClientOptions, ConnectionString};

use crate::catalogue::CatalogueError;
use crate::settings::SecretUrl;

/// How long the driver looks for a server, and for a connection to one, where the address does not say: a door waits for it.
const SELECTION_TIMEOUT: Duration = Duration::from_secs(2);

/// What MongoDB answers where a unique index refuses a document.
const DUPLICATE_KEY: i32 = 11_000;

/// Makes the client of an address.
pub(super) async fn client(uri: &SecretUrl) -> Result<Client, CatalogueError> {
    let mut options = ClientOptions::parse(read_address(uri)?).await?;
    options.app_name.get_or_insert_with(|| "carillon".to_owned());
    options.server_selection_timeout.get_or_insert(SELECTION_TIMEOUT);
    options.connect_timeout.get_or_insert(SELECTION_TIMEOUT);
    Ok(Client::with_options(options)?)
}

/// The driver's complaint may repeat a part of what it read: it is asked about the address without its password first.
fn read_address(uri: &SecretUrl) -> Result<ConnectionString, CatalogueError> {
    ConnectionString::parse(uri.masked()).map_err(|error| CatalogueError::Address(error.to_string()))?;
    ConnectionString::parse(uri.expose())
        .map_err(|_| CatalogueError::Address("user and password must be percent-encoded".to_owned()))
}

/// Cuts `work` off after `limit`.
pub(super) async fn within<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, CatalogueError>>,
) -> Result<T, CatalogueError> {
    tokio::time::timeout(limit, work).await.unwrap_or(Err(CatalogueError::Silent(limit)))
}

/// Whether a unique index refused what was written.
pub(super) fn is_duplicate(error: &Error) -> bool {
    match error.kind.as_ref() {
        ErrorKind::Write(WriteFailure::WriteError(refusal)) => refusal.code == DUPLICATE_KEY,
        ErrorKind::Command(refusal) => refusal.code == DUPLICATE_KEY,
        _ => false,
    }
}

/// Invariant: no text here repeats a document, since documents hold keys. The driver's own texts of a refused write show
/// MongoDB's details, and those of an unreadable document the value that did not fit.
impl From<Error> for CatalogueError {
    fn from(error: Error) -> Self {
        let refused = |code: i32, message: &str| CatalogueError::Database(format!("{message} (code {code})").into());
        match error.kind.as_ref() {
            ErrorKind::BsonDeserialization(_) | ErrorKind::BsonSerialization(_) | ErrorKind::Bson(_) => {
                CatalogueError::Unreadable("a document that is not as its validator wants it")
            }
            ErrorKind::Write(WriteFailure::WriteError(refusal)) => refused(refusal.code, &refusal.message),
            ErrorKind::InsertMany(failure) => match failure.write_errors.iter().flatten().next() {
                Some(refusal) => refused(refusal.code, &refusal.message),
                None => CatalogueError::Database("keys were not written".into()),
            },
            _ => CatalogueError::Database(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_address_is_refused_without_a_word_of_its_password() {
        for address in [
            "mongodb://ann:sesame@",
            "mongodb://ann:sesame@a:99999999",
            "mongodb://ann:sesame:x@a",
            "mongodb://ann:sesame/x@a",
            "mongodb://ann:sesame?x@a",
            "mongodb://ann:sesame%zz@a",
            "mongodb+srv://ann:sesame@a:1",
            "mongodb://ann:sesame@a/?tls=maybe",
        ] {
            let refusal = read_address(&SecretUrl::from(address)).unwrap_err().to_string();
            assert!(refusal.starts_with("catalogue.mongodb.uri can't be used: "), "{refusal}");
            assert!(!refusal.contains("sesame"), "{address}: {refusal}");
        }
    }
}
