//! The listening socket of a node, and the file that holds its address.

use super::NodeError;
use crate::settings::Settings;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;

/// Binds `http.bind`.
pub(super) fn listen(settings: &Settings) -> Result<TcpListener, NodeError> {
    let address = settings.http.bind;
    let bind = || -> io::Result<TcpListener> {
        use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, listen, socket_with, sockopt};
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        sockopt::set_socket_reuseaddr(&socket, true)?;
        // Accepted sockets inherit it. The kernel doubles the value for its own overhead (socket(7)).
        if let bytes @ 1.. = settings.session.kernel_send_buffer_bytes {
            sockopt::set_socket_send_buffer_size(&socket, bytes)?;
        }
        bind(&socket, &address)?;
        listen(&socket, i32::try_from(settings.http.backlog).unwrap_or(i32::MAX))?;
        Ok(TcpListener::from(socket))
    };
    bind().map_err(|source| NodeError::Listen { address, source })
}

/// The name of the file in the data folder that holds a node's address.
pub const ADDRESS_FILE: &str = "node.address";

/// `node.address` in the data folder: the address that the node listens on. It is needed if `http.bind` has port 0.
pub(super) struct AddressFile(PathBuf);

impl AddressFile {
    /// Removes the file of a killed node.
    pub fn remove_old(settings: &Settings) {
        drop(AddressFile(settings.data.dir.join(ADDRESS_FILE)));
    }

    /// Writes the file in one step, so that a reader never sees a part of the address.
    pub fn write(settings: &Settings, address: SocketAddr) -> Result<AddressFile, NodeError> {
        let path = settings.data.dir.join(ADDRESS_FILE);
        let draft = settings.data.dir.join("node.address.draft");
        let write = || {
            std::fs::write(&draft, format!("{address}\n"))?;
            std::fs::rename(&draft, &path)
        };
        match write() {
            Ok(()) => Ok(AddressFile(path)),
            Err(source) => Err(NodeError::AddressFile { file: path.display().to_string(), source }),
        }
    }
}

impl Drop for AddressFile {
    fn drop(&mut self) {
        let removed = std::fs::remove_file(&self.0);
        if let Err(error) =
            removed.or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
        {
            log::warn!(file:% = self.0.display(), cause:% = error; "a file cannot be removed");
        }
    }
}
