//! Connections that read. They never wait for the writer and the writer never waits for them.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use rusqlite::Connection;
use tokio::sync::Semaphore;

use super::error::StoreError;
use super::file::open_for_reading;
use super::latency::LatencyEwma;

/// How many read at once; others wait. Each has a connection, which is kept.
const AT_ONCE: usize = 8;

/// A pool of reading connections to one file.
#[derive(Clone)]
pub(crate) struct Readers(Arc<Pool>);

struct Pool {
    path: PathBuf,
    /// `None` once closed.
    idle: Mutex<Option<Vec<Connection>>>,
    slots: Semaphore,
    /// How long a look usually takes.
    latency: LatencyEwma,
}

impl Readers {
    /// A pool over the file at `path`, which must exist.
    pub(crate) fn new(path: &Path) -> Self {
        Self(Arc::new(Pool {
            path: path.to_owned(),
            idle: Mutex::new(Some(Vec::new())),
            slots: Semaphore::new(AT_ONCE),
            latency: LatencyEwma::default(),
        }))
    }

    /// Reads on the spot while that is quick, else on a thread that may block.
    pub(crate) async fn read<T, F>(&self, look: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    {
        let _slot = self.0.slots.acquire().await.map_err(|_| StoreError::Closed)?;
        if self.0.latency.is_quick() {
            return self.read_here(look);
        }
        let pool = self.clone();
        let reading = tokio::task::spawn_blocking(move || pool.read_here(look));
        reading.await.unwrap_or(Err(StoreError::Closed))
    }

    /// Reads what takes long, on a thread that may block.
    pub(crate) async fn read_apart<T, F>(&self, look: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    {
        let _slot = self.0.slots.acquire().await.map_err(|_| StoreError::Closed)?;
        self.idle().as_ref().ok_or(StoreError::Closed)?;
        let path = self.0.path.clone();
        let reading = tokio::task::spawn_blocking(move || look(&open_for_reading(&path)?));
        reading.await.unwrap_or(Err(StoreError::Closed))
    }

    /// Reads on this thread.
    pub(crate) fn read_here<T>(
        &self,
        look: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let idle = self.idle().as_mut().ok_or(StoreError::Closed)?.pop();
        let connection = idle.map_or_else(|| open_for_reading(&self.0.path), Ok)?;
        let began = Instant::now();
        let seen = look(&connection);
        self.0.latency.note(began);
        if let Some(idle) = self.idle().as_mut().filter(|idle| idle.len() < AT_ONCE) {
            idle.push(connection);
        }
        seen
    }

    /// Closes every connection, so that the writer is the last one and can put the file in order.
    pub(crate) fn close(&self) {
        self.idle().take();
    }

    fn idle(&self) -> MutexGuard<'_, Option<Vec<Connection>>> {
        self.0.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
