//! The data folder and its files, readable by their owner alone: they hold secrets.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::path::Path;

use super::CatalogueError;

/// Opens a file of the data folder for reading and writing, makes what is missing, and takes everybody else's rights to the file.
///
/// A folder that is there already keeps its mode: it may be somebody else's mount point.
pub(super) fn open_private_file(folder: &Path, name: &str) -> Result<File, CatalogueError> {
    make_folder(folder)
        .and_then(|()| open_owners_file(&folder.join(name)))
        .map_err(|source| CatalogueError::Folder { folder: folder.to_path_buf(), source })
}

fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

fn open_owners_file(path: &Path) -> io::Result<File> {
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
    fn folder_and_file_are_their_owners_alone() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("a/b");
        open_private_file(&folder, "secret").unwrap();
        assert_eq!(mode(&folder), 0o700);
        assert_eq!(mode(&folder.join("secret")), 0o600);
    }

    #[test]
    fn file_that_others_could_read_is_closed_to_them_and_keeps_its_text() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        std::fs::write(&path, "text").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        open_private_file(folder.path(), "secret").unwrap();
        assert_eq!(mode(&path), 0o600);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "text");
    }
}
