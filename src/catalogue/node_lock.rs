//! One node per data folder: an advisory lock on `node.lock`, held for the life of the serving process.
//!
//! The command line uses the catalogue of a running node without this lock. The operating system releases the lock when
//! the process ends in any way, so a killed node leaves nothing to clean up.

use std::fs::{File, TryLockError};
use std::path::Path;

use super::CatalogueError;
use super::data_folder::open_private_file;

const FILE_NAME: &str = "node.lock";

/// The lock on a data folder. Dropping it releases the folder.
#[derive(Debug)]
pub struct NodeLock {
    /// It is never read: the lock lives as long as the open file.
    _file: File,
}

impl NodeLock {
    /// Locks the folder, which is created if it is missing. [`CatalogueError::FolderTaken`] if another node has locked
    /// it.
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
    fn a_second_node_on_a_folder_is_refused_until_the_first_has_ended() {
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
    fn the_error_names_a_folder_that_cannot_be_created() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        let refusal = NodeLock::acquire(&file.join("data")).unwrap_err();
        assert!(refusal.to_string().contains("file/data"), "{refusal}");
    }
}
