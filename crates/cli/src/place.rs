//! Where a command works: in this process, or at a server. While a server uses the data folder, commands work there, so that
//! both can be used side by side.

use std::time::{Duration, Instant};

use anyhow::bail;
use ibid_app::{OfflineThreads, Settings};
use ibid_core::{Label, Scope, Tenant};

use crate::arguments::Target;
use crate::client::Client;

/// So long a command waits for the data folder, and so often it looks.
const PATIENCE: Duration = Duration::from_secs(5);
const BETWEEN: Duration = Duration::from_millis(200);

/// Where a command works.
pub(crate) enum Place {
    /// In this process, on behalf of whoever may read the data folder.
    Here(Scope),
    /// At a server.
    Server(Client),
}

impl Place {
    /// As the command says; else at the server that uses the data folder, if one runs.
    pub(crate) async fn of(config: &Settings, target: &Target, labels: &[Label]) -> anyhow::Result<Self> {
        if let Some(url) = &target.server {
            if target.tenant.is_some() {
                bail!("the key of a server says which tenant it is for; leave --tenant out");
            }
            if !labels.is_empty() {
                bail!("the key of a server says which labels its holder has; leave --label out");
            }
            return Ok(Self::Server(Client::at(url)?));
        }
        let scope = target.scope().holding(labels.iter().cloned());
        let server = Client::running(config, &scope).await?;
        Ok(server.map_or(Self::Here(scope), Self::Server))
    }

    /// The same for a command that runs an engine. While another process uses the data folder, such as a server that is
    /// starting or stopping, it waits a moment.
    pub(crate) async fn to_run(config: &Settings, target: &Target, labels: &[Label]) -> anyhow::Result<Self> {
        let began = Instant::now();
        loop {
            let place = Self::of(config, target, labels).await?;
            if matches!(place, Self::Server(_))
                || began.elapsed() > PATIENCE
                || OfflineThreads::open(config).await?.is_none_or(|threads| !threads.in_use())
            {
                return Ok(place);
            }
            tokio::time::sleep(BETWEEN).await;
        }
    }
}

impl Target {
    fn scope(&self) -> Scope {
        Scope::of(self.tenant())
    }

    /// For whom a command works.
    pub(crate) fn tenant(&self) -> Tenant {
        self.tenant.clone().unwrap_or_else(Tenant::local)
    }
}
