//! The socket of a server in the home folder: how it is made, and how it goes.
//!
//! Nobody else may serve the mail of this home while one is made, so that a socket which is there was left by a server that died.
//! A server without a socket is a server all the same: clients then take the port.

use std::ffi::OsStr;
use std::fs::{self, Metadata, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use server::LocalListener;
use tokio::net::UnixListener;

/// What it is called in the home folder, and while it is being made. The second name is no longer than the first.
const NAME: &str = "postrider.sock";
const UNFINISHED: &str = "postrider.new";
/// The longest path that the system takes for a socket, in bytes, without the zero at its end.
const LONGEST_PATH: usize = 107;

/// Where a server of this home has its socket.
pub fn path(home: &Path) -> PathBuf {
    home.join(NAME)
}

/// A socket that takes connections, until it is dropped.
pub struct LocalSocket {
    path: PathBuf,
    /// Which file it is: another may have been put in its place.
    file: (u64, u64),
}

impl LocalSocket {
    /// Makes the socket of a home whose mail is served by this process alone.
    pub fn open(home: &Path) -> anyhow::Result<(Self, LocalListener)> {
        let path = path(home);
        let length = OsStr::as_bytes(path.as_os_str()).len();
        if length > LONGEST_PATH {
            bail!(
                "the path '{}' has {length} bytes, and a socket's can have at most {LONGEST_PATH}; choose a shorter --home",
                path.display()
            );
        }
        if fs::symlink_metadata(&path).is_ok_and(|there| !there.file_type().is_socket()) {
            bail!("'{}' is no socket; move it away", path.display());
        }
        let made = Self::make(&home.join(UNFINISHED), &path);
        let (socket, file) = made.with_context(|| format!("cannot make the socket '{}'", path.display()))?;
        let user = rustix::process::geteuid().as_raw();
        Ok((Self { path, file: identity(&file) }, LocalListener { socket, user }))
    }

    /// Makes it under another name first, so that nobody ever finds one that others can open.
    fn make(unfinished: &Path, path: &Path) -> io::Result<(UnixListener, Metadata)> {
        match fs::remove_file(unfinished) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let socket = UnixListener::bind(unfinished)?;
        fs::set_permissions(unfinished, Permissions::from_mode(0o600))?;
        let file = fs::symlink_metadata(unfinished)?;
        fs::rename(unfinished, path)?;
        Ok((socket, file))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for LocalSocket {
    fn drop(&mut self) {
        if fs::symlink_metadata(&self.path).is_ok_and(|file| identity(&file) == self.file) {
            // Nobody answers at it any more, and the next server replaces it.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn identity(file: &Metadata) -> (u64, u64) {
    (file.dev(), file.ino())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use tokio::net::UnixStream;

    use super::*;

    #[tokio::test]
    async fn a_socket_is_for_its_owner_alone_and_goes_with_its_server() {
        let home = tempfile::tempdir().unwrap();
        let (socket, _listener) = LocalSocket::open(home.path()).unwrap();
        assert_eq!(fs::metadata(socket.path()).unwrap().permissions().mode() & 0o777, 0o600);
        UnixStream::connect(path(home.path())).await.unwrap();
        drop(socket);
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
    }

    #[tokio::test]
    async fn what_a_dead_server_left_is_replaced_and_a_link_is_not_followed() {
        let home = tempfile::tempdir().unwrap();
        let dead = LocalSocket::open(home.path()).unwrap();
        // Whoever is killed takes nothing away.
        std::mem::forget(dead.0);
        drop(dead.1);
        fs::write(home.path().join(UNFINISHED), "killed in the middle").unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        let (first, _listener) = LocalSocket::open(home.path()).unwrap();
        UnixStream::connect(path(home.path())).await.unwrap();
        fs::remove_file(path(home.path())).unwrap();
        symlink(elsewhere.path().join("file"), path(home.path())).unwrap();
        drop(first);
        assert!(path(home.path()).is_symlink(), "it is not the one that was made");
        let refused = LocalSocket::open(home.path()).err().unwrap().to_string();
        assert!(refused.contains("is no socket"), "{refused}");
    }

    #[tokio::test]
    async fn a_home_with_too_long_a_path_has_none_and_the_length_is_told() {
        let home = tempfile::tempdir().unwrap();
        let fits = LONGEST_PATH - NAME.len() - 2 - home.path().as_os_str().len();
        for (length, is_made) in [(fits, true), (fits + 1, false)] {
            let long = home.path().join("x".repeat(length));
            fs::create_dir(&long).unwrap();
            let made = LocalSocket::open(&long);
            assert_eq!(made.is_ok(), is_made);
            let told = made.err().map(|error| error.to_string()).unwrap_or_default();
            assert_eq!(told.contains("108 bytes, and a socket's can have at most 107"), !is_made, "{told}");
        }
    }
}
