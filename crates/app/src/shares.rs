//! Processes that share an engine share the limits of an account at a provider, too: each that uses it has a part of them, and
//! gives it back when it has not used it for a while.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use ibid_core::model::AccountShare;
use ibid_engine::Engine;
use ibid_models::Provider;

/// How often a share is taken again, and how long it lasts if its process ends without a word.
const BETWEEN: Duration = Duration::from_secs(3);
const LASTS: Duration = Duration::from_secs(15);
/// How long an account that nobody here uses keeps its share.
const IDLE: Duration = Duration::from_secs(30);

/// An account, as this process uses it.
struct Account {
    provider: Arc<Provider>,
    /// How many requests it had sent at the last look, and when there was the last new one.
    sent: u64,
    used: Option<Instant>,
    share: AccountShare,
}

impl Account {
    /// Whether there is a call, or was one a moment ago.
    fn is_used(&mut self) -> bool {
        let stats = self.provider.governor().stats();
        let waits = stats.waited.iter().any(|class| class.waiting > 0);
        if stats.sent != self.sent || stats.in_flight > 0 || waits {
            (self.sent, self.used) = (stats.sent, Some(Instant::now()));
        }
        self.used.is_some_and(|used| used.elapsed() < IDLE)
    }

    async fn keep_share(&mut self, engine: &Arc<dyn Engine>) {
        let (name, had) = (self.provider.name().to_owned(), self.used.is_some());
        let share = if self.is_used() {
            engine.take_share(&name, LASTS).await
        } else if had {
            self.used = None;
            // Whoever begins again is one more than there were.
            engine.end_share(&name).await.map(|()| self.share)
        } else {
            return;
        };
        match share {
            Ok(share) => {
                self.provider.governor().share(share);
                self.share = share;
            }
            Err(error) => {
                tracing::warn!(%error, account = name, "its limits go on being shared as they were");
            }
        }
    }
}

/// Keeps this process's shares of accounts, until the engine is gone.
pub(crate) async fn keep_shares(engine: Weak<dyn Engine>, providers: Vec<Arc<Provider>>) {
    let account = |provider| Account { provider, sent: 0, used: None, share: AccountShare::WHOLE };
    let mut accounts: Vec<Account> = providers.into_iter().map(account).collect();
    loop {
        let Some(engine) = engine.upgrade() else { return };
        for account in &mut accounts {
            account.keep_share(&engine).await;
        }
        drop(engine);
        tokio::time::sleep(BETWEEN).await;
    }
}
