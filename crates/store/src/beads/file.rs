//! The beads of a city in one file, `.gc/beads.json`, which other programs read and write at the same time.
//!
//! Who writes takes the lock on `beads.json.lock`, reads the file again, writes `beads.json.tmp` to the disk and renames
//! it; so a reader needs no lock and finds one state or the next, and a writer that is killed leaves at most a half
//! `beads.json.tmp`, which the next one replaces. A missing file is a city without beads. A file that cannot be read as
//! beads is an error, and is never written over.

use std::fs::{self, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use jiff::Timestamp;
use mail::clock::{Clock, SystemClock};
use mail::messages::{OpenKey, WhenOpen};
use mail::provider::{KeyedDelivery, ProviderDelivery, ProviderError};
use tokio::sync::Mutex;
use tokio::task::spawn_blocking;

use super::bead::{Bead, BeadFilter};
use super::document::{Document, unwritable};
use super::{Keeper, already_archived, failed, not_found};

const LONGEST_WAIT: Duration = Duration::from_secs(10);
const BETWEEN_TRIES: Duration = Duration::from_millis(3);

/// The file of a city.
pub(super) struct FileKeeper {
    place: BeadsFile,
    /// Those of this process write one after the other, so that one thread at most waits for the lock.
    turn: Mutex<()>,
}

/// Where the file lies. Everything about it blocks, and is called on a thread that may.
#[derive(Clone)]
struct BeadsFile {
    file: PathBuf,
    longest_wait: Duration,
}

impl FileKeeper {
    /// The file of the city in that folder.
    pub fn of(city: &Path) -> Self {
        let place = BeadsFile { file: city.join(".gc").join("beads.json"), longest_wait: LONGEST_WAIT };
        Self { place, turn: Mutex::new(()) }
    }

    async fn deliveries(&self) -> Result<Vec<Bead>, ProviderError> {
        let place = self.place.clone();
        blocking(move || Ok(place.read()?.deliveries().collect())).await
    }

    async fn change<T: Send + 'static>(
        &self,
        change: impl FnOnce(&mut Document, Timestamp) -> Result<T, ProviderError> + Send + 'static,
    ) -> Result<T, ProviderError> {
        let place = self.place.clone();
        let _turn = self.turn.lock().await;
        blocking(move || place.change(change)).await
    }
}

#[async_trait]
impl Keeper for FileKeeper {
    async fn create(&self, delivery: ProviderDelivery) -> Result<ProviderDelivery, ProviderError> {
        self.change(|document, now| document.append(delivery, None, now).map_err(unwritable)).await
    }

    async fn create_keyed(&self, delivery: ProviderDelivery, key: &OpenKey) -> Result<KeyedDelivery, ProviderError> {
        let key = key.clone();
        self.change(move |document, now| {
            let wanted = BeadFilter::Under(&key, &delivery);
            let earlier = document.deliveries().filter(|bead| wanted.holds(bead)).map(|bead| bead.delivery);
            let mut earlier: Vec<ProviderDelivery> = earlier.collect();
            if let Some(delivery) = earlier.pop_if(|_| key.when_open() == WhenOpen::Skip) {
                return Ok(KeyedDelivery { delivery, is_new: false });
            }
            let delivery = document.append(delivery, Some(&key), now).map_err(unwritable)?;
            for one in earlier {
                document.close(&one.id, now)?;
            }
            Ok(KeyedDelivery { delivery, is_new: true })
        })
        .await
    }

    async fn get(&self, id: &str) -> Result<Bead, ProviderError> {
        let deliveries = self.deliveries().await?;
        deliveries.into_iter().find(|bead| bead.delivery.id == id).ok_or_else(|| not_found(id))
    }

    async fn list(&self, wanted: BeadFilter<'_>) -> Result<Vec<Bead>, ProviderError> {
        let mut deliveries = self.deliveries().await?;
        deliveries.retain(|bead| wanted.holds(bead));
        Ok(deliveries)
    }

    async fn mark(&self, bead: &Bead, read: bool) -> Result<(), ProviderError> {
        let id = bead.delivery.id.clone();
        self.change(move |document, now| document.mark(&id, read, now)).await
    }

    async fn close(&self, id: &str) -> Result<(), ProviderError> {
        let id = id.to_owned();
        self.change(move |document, now| {
            if document.deliveries().any(|bead| bead.delivery.id == id && bead.delivery.archived) {
                return Err(already_archived(&id));
            }
            document.close(&id, now)
        })
        .await
    }
}

impl BeadsFile {
    fn read(&self) -> Result<Document, ProviderError> {
        match fs::read(&self.file) {
            Ok(text) => Document::parse(&text).map_err(|problem| {
                failed(format!("'{}' holds no beads ({problem}): mend it or move it away", self.file.display()))
            }),
            Err(problem) if problem.kind() == ErrorKind::NotFound => Ok(Document::default()),
            Err(problem) => Err(self.failure("read", problem)),
        }
    }

    /// Reads, changes and writes under the lock. When the change fails, nothing is written.
    fn change<T>(
        &self,
        change: impl FnOnce(&mut Document, Timestamp) -> Result<T, ProviderError>,
    ) -> Result<T, ProviderError> {
        let _lock = self.lock()?;
        let mut document = self.read()?;
        let answer = change(&mut document, SystemClock.now())?;
        let text = document.to_text().map_err(unwritable)?;
        self.replace(&text).map_err(|problem| self.failure("write", problem))?;
        Ok(answer)
    }

    /// The lock, until it is dropped.
    fn lock(&self) -> Result<fs::File, ProviderError> {
        let lock = self.open_lock().map_err(|problem| self.failure("lock", problem))?;
        let deadline = Instant::now() + self.longest_wait;
        loop {
            match lock.try_lock() {
                Ok(()) => return Ok(lock),
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => thread::sleep(BETWEEN_TRIES),
                Err(TryLockError::WouldBlock) => {
                    let (file, wait) = (self.beside(".lock"), self.longest_wait.as_secs());
                    let held = format!("another program has held '{}' for {wait} s: try again", file.display());
                    return Err(failed(held));
                }
                Err(TryLockError::Error(problem)) => return Err(self.failure("lock", problem)),
            }
        }
    }

    fn open_lock(&self) -> io::Result<fs::File> {
        let folder = self.file.parent().unwrap_or(Path::new("."));
        // The city itself is not made: a mistaken path must not become one.
        match fs::create_dir(folder) {
            Err(problem) if problem.kind() != ErrorKind::AlreadyExists => return Err(problem),
            _ => {}
        }
        fs::OpenOptions::new().create(true).truncate(false).write(true).open(self.beside(".lock"))
    }

    fn replace(&self, text: &[u8]) -> io::Result<()> {
        let half = self.beside(".tmp");
        match fs::remove_file(&half) {
            Err(problem) if problem.kind() != ErrorKind::NotFound => return Err(problem),
            _ => {}
        }
        let mut file = fs::File::create_new(&half)?;
        if let Ok(old) = fs::metadata(&self.file) {
            file.set_permissions(old.permissions())?;
        }
        file.write_all(text)?;
        file.sync_all()?;
        fs::rename(&half, &self.file)?;
        // The rename too has to be on the disk before a delivery counts as kept.
        #[cfg(unix)]
        fs::File::open(self.file.parent().unwrap_or(Path::new(".")))?.sync_all()?;
        Ok(())
    }

    fn beside(&self, ending: &str) -> PathBuf {
        let mut name = self.file.clone().into_os_string();
        name.push(ending);
        PathBuf::from(name)
    }

    fn failure(&self, doing: &str, problem: io::Error) -> ProviderError {
        failed(format!("cannot {doing} '{}' ({problem})", self.file.display()))
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ProviderError> + Send + 'static,
) -> Result<T, ProviderError> {
    spawn_blocking(work).await.map_err(|problem| failed(format!("the work on the beads ended early ({problem})")))?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(city: &tempfile::TempDir) -> BeadsFile {
        let file = city.path().join(".gc/beads.json");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        BeadsFile { file, longest_wait: Duration::from_millis(50) }
    }

    #[test]
    fn a_lock_that_is_held_too_long_is_an_error_and_writes_nothing() {
        let city = tempfile::tempdir().unwrap();
        let place = place(&city);
        let held = place.lock().unwrap();
        let answer = place.change(|_, _| Ok(()));
        assert!(answer.unwrap_err().to_string().contains("beads.json.lock"));
        assert!(!place.file.exists());
        drop(held);
        place.change(|_, _| Ok(())).unwrap();
        assert!(place.file.exists());
    }

    #[test]
    fn a_change_that_fails_writes_nothing() {
        let city = tempfile::tempdir().unwrap();
        let place = place(&city);
        fs::write(&place.file, "{ }").unwrap();
        assert!(place.change(|_, _| Err::<(), _>(not_found("gc-1"))).is_err());
        assert_eq!(fs::read_to_string(&place.file).unwrap(), "{ }");
    }

    #[cfg(unix)]
    #[test]
    fn who_may_read_the_file_does_not_change() {
        use std::os::unix::fs::PermissionsExt;
        let city = tempfile::tempdir().unwrap();
        let place = place(&city);
        fs::write(&place.file, "{}").unwrap();
        fs::set_permissions(&place.file, fs::Permissions::from_mode(0o600)).unwrap();
        place.change(|_, _| Ok(())).unwrap();
        assert_eq!(fs::metadata(&place.file).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_city_that_is_not_there_is_not_made() {
        let folder = tempfile::tempdir().unwrap();
        let file = FileKeeper::of(&folder.path().join("no-city"));
        assert!(file.place.change(|_, _| Ok(())).is_err());
        assert!(!folder.path().join("no-city").exists());
    }
}
