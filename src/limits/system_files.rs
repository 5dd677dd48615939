//! The files in which the system tells what it allows (`/proc`, `/sys`), read and written from one place, so that tests can
//! put a folder of copies there.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// The system's files below one folder: `/` on a real machine.
#[derive(Clone, Debug)]
pub struct SystemFiles {
    root: PathBuf,
}

impl SystemFiles {
    /// Those of this machine.
    pub fn of_this_machine() -> SystemFiles {
        SystemFiles::under("/")
    }

    /// Those below `root`.
    pub fn under(root: impl AsRef<Path>) -> SystemFiles {
        SystemFiles { root: root.as_ref().to_owned() }
    }

    /// The text of a file such as `proc/meminfo`; none where there is no such file, or it is not ours to read.
    pub(super) fn text(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.root.join(path)).ok()
    }

    /// The number that a file holds.
    pub(super) fn number(&self, path: &str) -> Option<u64> {
        number(&self.text(path)?)
    }

    /// Whether this process may write a file; nothing is written.
    pub(super) fn is_writable(&self, path: &str) -> bool {
        OpenOptions::new().write(true).open(self.root.join(path)).is_ok()
    }

    /// Writes a file of the kernel's: it is there already, and takes the text in one call.
    pub(super) fn write(&self, path: &str, text: &str) -> io::Result<()> {
        OpenOptions::new().write(true).truncate(true).open(self.root.join(path))?.write_all(text.as_bytes())
    }
}

/// A number alone, with white space around it.
pub(super) fn number(text: &str) -> Option<u64> {
    text.trim().parse().ok()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A folder that stands for a machine.
    pub struct Folder {
        folder: tempfile::TempDir,
        files: SystemFiles,
    }

    impl Folder {
        /// With these files.
        pub fn with(files: &[(&str, &str)]) -> Folder {
            let folder = tempfile::tempdir().expect("a folder");
            let made = Folder { files: SystemFiles::under(folder.path()), folder };
            for (path, text) in files {
                made.put(path, text);
            }
            made
        }

        /// Puts a file there, or another text into it.
        pub fn put(&self, path: &str, text: &str) {
            let path = self.folder.path().join(path);
            fs::create_dir_all(path.parent().expect("a folder above")).expect("a folder");
            fs::write(path, text).expect("a file");
        }

        /// Where it is.
        pub fn path(&self) -> &Path {
            self.folder.path()
        }

        /// What the code under test is given.
        pub fn files(&self) -> &SystemFiles {
            &self.files
        }
    }

    #[test]
    fn a_file_that_is_not_there_is_neither_read_nor_made() {
        let folder = Folder::with(&[("proc/a", " 17\n"), ("proc/b", "seventeen")]);
        let files = folder.files();
        assert_eq!((files.number("proc/a"), files.number("proc/b"), files.number("proc/c")), (Some(17), None, None));
        assert!(files.is_writable("proc/a") && !files.is_writable("proc/c"));
        assert!(files.write("proc/c", "1").is_err() && files.text("proc/c").is_none());
        files.write("proc/a", "5").expect("written");
        assert_eq!(files.number("proc/a"), Some(5));
    }
}
