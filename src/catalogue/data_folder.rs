//! The data folder and its files. Only their owner may read them, because they hold secrets.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::path::Path;

use super::CatalogueError;

/// Opens a file of the data folder for reading and writing. Creates the folder and the file if they are missing, and
/// removes the permissions of other users from the file.
///
/// An existing folder keeps its mode, because it can be a mount point with other uses.
pub(super) fn open_private_file(folder: &Path, name: &str) -> Result<File, CatalogueError> {
    create_folder(folder)
        .and_then(|()| open_with_owner_mode(&folder.join(name)))
        .map_err(|source| CatalogueError::Folder { folder: folder.to_path_buf(), source })
}

fn create_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

fn open_with_owner_mode(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        if file.metadata()?.permissions().mode() & 0o077 != 0 {
            file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
        }
    }
    Ok(file)
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn only_the_owner_may_read_the_folder_and_its_files() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("a/b");
        open_private_file(&folder, "secret").unwrap();
        assert_eq!(mode(&folder), 0o700);
        assert_eq!(mode(&folder.join("secret")), 0o600);
    }

    #[test]
    fn an_existing_file_loses_the_permissions_of_others_and_keeps_its_content() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        std::fs::write(&path, "text").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        open_private_file(folder.path(), "secret").unwrap();
        assert_eq!(mode(&path), 0o600);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "text");
    }
}
