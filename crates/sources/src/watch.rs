//! Notices that something changes in a folder. It is a hint: what changed is for a comparison to find, and one that is missed is found by
//! the next.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use notify::{Config, Event, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::Notify;

/// Changes that follow one another so soon are one.
const QUIET: Duration = Duration::from_millis(500);
/// And so long they are waited for at most.
const MOST_WAITS: u32 = 20;

/// A watch over a source. One that cannot be watched never changes.
pub struct SourceWatch {
    root: Option<PathBuf>,
    changed: Arc<Notify>,
    watcher: Option<RecommendedWatcher>,
}

impl SourceWatch {
    pub(crate) fn of_folder(root: PathBuf) -> Self {
        Self { root: Some(root), ..Self::of_nothing() }
    }

    pub(crate) fn of_nothing() -> Self {
        Self { root: None, changed: Arc::default(), watcher: None }
    }

    /// Comes back when something has changed, and nothing has for a moment.
    pub async fn changed(&mut self) {
        if self.watcher.is_none() {
            self.watch();
        }
        self.changed.notified().await;
        for _ in 0..MOST_WAITS {
            if tokio::time::timeout(QUIET, self.changed.notified()).await.is_err() {
                break;
            }
        }
    }

    /// Tries to watch: the folder may not be there yet, or be on a file system that tells nothing.
    fn watch(&mut self) {
        let Some(root) = &self.root else { return };
        let changed = self.changed.clone();
        let tell = move |event: notify::Result<Event>| {
            // Whoever only reads changes nothing. An error may have swallowed a change.
            if event.is_ok_and(|event| event.kind.is_access()) {
                return;
            }
            changed.notify_one();
        };
        let watched = RecommendedWatcher::new(tell, Config::default()).and_then(|mut watcher| {
            watcher.watch(root, RecursiveMode::Recursive)?;
            Ok(watcher)
        });
        match watched {
            Ok(watcher) => self.watcher = Some(watcher),
            Err(error) => {
                tracing::debug!(folder = %root.display(), %error, "a folder cannot be watched, and is compared from time to time");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn changes_below_a_folder_are_noticed_once() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("a")).unwrap();
        let mut watch = SourceWatch::of_folder(folder.path().to_owned());
        watch.watch();
        for number in 0..3 {
            std::fs::write(folder.path().join(format!("a/{number}.md")), "text").unwrap();
        }
        tokio::time::timeout(Duration::from_secs(20), watch.changed()).await.unwrap();
        let again = tokio::time::timeout(2 * QUIET, watch.changed()).await;
        assert!(again.is_err(), "what is read or old must not count as a change");
    }
}
