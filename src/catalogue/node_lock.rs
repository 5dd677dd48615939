//! One node per data folder: an advisory lock on `node.lock`, held for the life of the serving process.
//!
//! The command line reads the catalogue beside a running node and does not take it. The operating system drops the lock
//! with the process, however that ends, so a killed node leaves nothing to clean up.

use std::fs::{File, TryLockError};
use std::path::Path;

use super::CatalogueError;
use super::data_folder::open_private_file;

const FILE_NAME: &str = "node.lock";

/// The right to serve from a data folder. Dropping it gives the folder free.
#[derive(Debug)]
pub struct NodeLock {
    /// Never read: the lock lives as long as the open file.
    _file: File,
}

impl NodeLock {
    /// Takes the folder (made where it is missing), or answers [`CatalogueError::FolderTaken`] at once where another node has it.
    pub fn acquire(folder: &Path) -> Result<Self, CatalogueError> {
        let file = open_private_file(folder, FILE_NAME)?;
        match file.try_lock() {
            Ok(()) => Ok(NodeLock { _file: file }),
            Err(TryLockError::WouldBlock) => Err(CatalogueError::FolderTaken(folder.to_path_buf())),
            Err(TryLockError::Error(source)) => Err(CatalogueError::Folder { folder: folder.to_path_buf(), source }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn second_node_on_a_folder_is_refused_by_name_until_the_first_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let first = NodeLock::acquire(folder.path()).unwrap();
        let refusal = NodeLock::acquire(folder.path()).unwrap_err();
        assert!(matches!(refusal, CatalogueError::FolderTaken(_)));
        let text = refusal.to_string();
        assert!(text.contains(folder.path().to_str().unwrap()), "{text}");
        assert!(text.contains("data.dir"), "{text}");
        drop(first);
        NodeLock::acquire(folder.path()).unwrap();
    }

    #[test]
    fn folder_that_cannot_be_made_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        let refusal = NodeLock::acquire(&file.join("data")).unwrap_err();
        assert!(refusal.to_string().contains("file/data"), "{refusal}");
    }
}
