//! The driver: its options, its timeouts, and the texts of its errors.

use std::time::Duration;

use mongodb::Client;
use mongodb::error::{Error, ErrorKind, WriteFailure};
use mongodb::options::{ClientOptions, ConnectionString};

use crate::catalogue::CatalogueError;
use crate::settings::SecretUrl;

/// How long the driver tries to select a server and to connect, unless the address sets it. Handshakes and emits wait
/// for it.
const SELECTION_TIMEOUT: Duration = Duration::from_secs(2);

/// MongoDB's error code for a document that a unique index refuses.
const DUPLICATE_KEY: i32 = 11_000;

/// Creates the client for an address.
pub(super) async fn client(uri: &SecretUrl) -> Result<Client, CatalogueError> {
    let mut options = ClientOptions::parse(read_address(uri)?).await?;
    options.app_name.get_or_insert_with(|| "carillon".to_owned());
    options.server_selection_timeout.get_or_insert(SELECTION_TIMEOUT);
    options.connect_timeout.get_or_insert(SELECTION_TIMEOUT);
    Ok(Client::with_options(options)?)
}

/// Parses the address without its password first, because the driver's error can repeat a part of the address.
fn read_address(uri: &SecretUrl) -> Result<ConnectionString, CatalogueError> {
    ConnectionString::parse(uri.masked()).map_err(|error| CatalogueError::Address(error.to_string()))?;
    ConnectionString::parse(uri.expose())
        .map_err(|_| CatalogueError::Address("user and password must be percent-encoded".to_owned()))
}

/// Runs `work` with a timeout.
pub(super) async fn within<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, CatalogueError>>,
) -> Result<T, CatalogueError> {
    tokio::time::timeout(limit, work).await.unwrap_or(Err(CatalogueError::Timeout(limit)))
}

/// Whether a unique index refused the document.
pub(super) fn is_duplicate(error: &Error) -> bool {
    match error.kind.as_ref() {
        ErrorKind::Write(WriteFailure::WriteError(refusal)) => refusal.code == DUPLICATE_KEY,
        ErrorKind::Command(refusal) => refusal.code == DUPLICATE_KEY,
        _ => false,
    }
}

/// Invariant: no text here repeats a document, because documents hold keys. The driver's own text of a refused write
/// would show MongoDB's details, and that of an unreadable document the wrong value.
impl From<Error> for CatalogueError {
    fn from(error: Error) -> Self {
        let refused = |code: i32, message: &str| CatalogueError::Database(format!("{message} (code {code})").into());
        match error.kind.as_ref() {
            ErrorKind::BsonDeserialization(_) | ErrorKind::BsonSerialization(_) | ErrorKind::Bson(_) => {
                CatalogueError::Unreadable("a document that its validator would refuse")
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
    fn the_error_for_a_malformed_address_has_no_password() {
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
            assert!(refusal.starts_with("catalogue.mongodb.uri cannot be used: "), "{refusal}");
            assert!(!refusal.contains("sesame"), "{address}: {refusal}");
        }
    }
}
