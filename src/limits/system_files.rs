//! Reads and writes the files of `/proc` and `/sys`. Tests use a folder of copies in their place.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// The system's files below a folder: `/` on a real machine.
#[derive(Clone, Debug)]
pub struct SystemFiles {
    root: PathBuf,
}

impl SystemFiles {
    /// The files of this machine.
    pub fn of_this_machine() -> SystemFiles {
        SystemFiles::under("/")
    }

    /// The files below `root`.
    pub fn under(root: impl AsRef<Path>) -> SystemFiles {
        SystemFiles { root: root.as_ref().to_owned() }
    }

    /// The text of a file such as `proc/meminfo`. `None` if it does not exist or may not be read.
    pub(super) fn text(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.root.join(path)).ok()
    }

    /// The number in a file.
    pub(super) fn number(&self, path: &str) -> Option<u64> {
        number(&self.text(path)?)
    }

    /// Whether this process may write a file. Nothing is written.
    pub(super) fn is_writable(&self, path: &str) -> bool {
        OpenOptions::new().write(true).open(self.root.join(path)).is_ok()
    }

    /// Writes a file of the kernel. It must exist, and takes the text in one call.
    pub(super) fn write(&self, path: &str, text: &str) -> io::Result<()> {
        OpenOptions::new().write(true).truncate(true).open(self.root.join(path))?.write_all(text.as_bytes())
    }
}

/// Parses a number with optional white space around it.
pub(super) fn number(text: &str) -> Option<u64> {
    text.trim().parse().ok()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A folder in place of a machine's file system.
    pub struct Folder {
        folder: tempfile::TempDir,
        files: SystemFiles,
    }

    impl Folder {
        /// Creates a folder with these files.
        pub fn with(files: &[(&str, &str)]) -> Folder {
            let folder = tempfile::tempdir().expect("a folder");
            let made = Folder { files: SystemFiles::under(folder.path()), folder };
            for (path, text) in files {
                made.put(path, text);
            }
            made
        }

        /// Creates or replaces a file.
        pub fn put(&self, path: &str, text: &str) {
            let path = self.folder.path().join(path);
            fs::create_dir_all(path.parent().expect("a folder above")).expect("a folder");
            fs::write(path, text).expect("a file");
        }

        /// The path of the folder.
        pub fn path(&self) -> &Path {
            self.folder.path()
        }

        /// The files for the code under test.
        pub fn files(&self) -> &SystemFiles {
            &self.files
        }
    }

    #[test]
    fn a_missing_file_is_neither_read_nor_created() {
        let folder = Folder::with(&[("proc/a", " 17\n"), ("proc/b", "seventeen")]);
        let files = folder.files();
        assert_eq!((files.number("proc/a"), files.number("proc/b"), files.number("proc/c")), (Some(17), None, None));
        assert!(files.is_writable("proc/a") && !files.is_writable("proc/c"));
        assert!(files.write("proc/c", "1").is_err() && files.text("proc/c").is_none());
        files.write("proc/a", "5").expect("written");
        assert_eq!(files.number("proc/a"), Some(5));
    }
}
