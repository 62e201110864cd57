//! The applications of a server: one, or one for each of its cells.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::{join_all, try_join_all};
use ibid_core::Tenant;
use ibid_core::model::{Day, Spending, SpendingError};
use ibid_engine::Engine;

use crate::app::App;
use crate::error::{DoingExt, Error};
use crate::models::ModelCatalog;
use crate::settings::Settings;
use crate::shares::keep_shares;

/// The applications of a server: one, or one for each of its cells. Cheap to clone.
#[derive(Clone)]
pub struct Cells(Arc<Inner>);

struct Inner {
    settings: Arc<Settings>,
    /// In the order of the names; one application without cells has none.
    apps: Vec<(String, App)>,
}

impl Cells {
    /// Opens what the settings name.
    ///
    /// # Errors
    /// Fails when one of them cannot be opened, or when a cell has keys of a tenant that is assigned to another.
    pub async fn open(settings: &Settings) -> Result<Self, Error> {
        if settings.cells.is_empty() {
            let app = App::builder(settings.clone()).open().await?;
            return Ok(Self::from(app));
        }
        let settings = Arc::new(settings.clone());
        let models = Arc::new(ModelCatalog::new(settings.clone())?);
        let opened = join_all(settings.cells.keys().map(|name| {
            let builder = settings.of_cell(name).map(|cell| App::builder(cell).models(models.clone()));
            async move {
                let app = builder?.open().await.doing(|| format!("the cell `{name}` cannot be used"))?;
                Ok::<_, Error>((name.clone(), app))
            }
        }));
        let (apps, failed): (Vec<_>, Vec<_>) = opened.await.into_iter().partition(Result::is_ok);
        let apps = apps.into_iter().filter_map(Result::ok).collect();
        let cells = Self(Arc::new(Inner { settings: settings.clone(), apps }));
        let checked = match failed.into_iter().find_map(Result::err) {
            Some(error) => Err(error),
            None => cells.refuse_strays().await,
        };
        if let Err(error) = checked {
            cells.close().await;
            return Err(error);
        }
        let engines = cells.all().map(|(_, app)| app.engine().cloned());
        let engines: Vec<Arc<dyn Engine>> = engines.collect::<Result<_, _>>()?;
        // What accounts at providers allow does not depend on cells: the first one counts who uses them.
        tokio::spawn(keep_shares(Arc::downgrade(&engines[0]), models.shared_providers()));
        models.keep_spending(Arc::new(CellSpending { settings, engines }));
        Ok(cells)
    }

    /// A tenant that was at work before cells were added must not find itself in an empty one.
    async fn refuse_strays(&self) -> Result<(), Error> {
        for (name, app) in &self.0.apps {
            for tenant in app.engine()?.api_key_tenants().await? {
                if let Some(other) = self.0.settings.cell_of(&tenant)?.filter(|cell| cell != name) {
                    return Err(Error::Settings(format!(
                        "the tenant `{tenant}` has keys in the cell `{name}`, and would be in `{other}`; say where it is with \
                         `tenants.{tenant}.cell`"
                    )));
                }
            }
        }
        Ok(())
    }

    /// The application of a tenant.
    pub fn of(&self, tenant: &Tenant) -> &App {
        &self.0.apps[self.index_of(tenant)].1
    }

    /// Which of all it is.
    pub fn index_of(&self, tenant: &Tenant) -> usize {
        index_of(&self.0.settings, tenant)
    }

    /// The first of them, for what is the same in all.
    pub fn first(&self) -> &App {
        &self.0.apps[0].1
    }

    /// All of them, by the names of their cells.
    pub fn all(&self) -> impl Iterator<Item = (&str, &App)> {
        self.0.apps.iter().map(|(name, app)| (name.as_str(), app))
    }

    /// The tenants that a key was ever made for.
    ///
    /// # Errors
    /// Fails when one of the engines does.
    pub async fn api_key_tenants(&self) -> Result<Vec<Tenant>, Error> {
        let asked =
            self.all().map(|(_, app)| async { Ok::<_, Error>(app.engine()?.api_key_tenants().await?) });
        Ok(try_join_all(asked).await?.concat())
    }

    /// Closes all of them at once, as a kill would.
    pub async fn close(&self) {
        self.shutdown(Duration::ZERO).await;
    }

    /// Lets turns and loads come to the end of the step that they are at, for at most so long, and closes everything.
    pub async fn shutdown(&self, timeout: Duration) {
        join_all(self.all().map(|(_, app)| app.shutdown(timeout))).await;
    }
}

impl From<App> for Cells {
    fn from(app: App) -> Self {
        let settings = app.settings().clone();
        Self(Arc::new(Inner { settings, apps: vec![(String::new(), app)] }))
    }
}

/// Which of the cells a tenant is in. Whoever is assigned to one that there is not is in the first one, where nothing is theirs.
fn index_of(settings: &Settings, tenant: &Tenant) -> usize {
    let cell = settings.cell_of(tenant).ok().flatten();
    cell.and_then(|cell| settings.cells.keys().position(|name| name == cell)).unwrap_or_default()
}

/// What tenants use, kept in the cell of each.
struct CellSpending {
    settings: Arc<Settings>,
    engines: Vec<Arc<dyn Engine>>,
}

impl CellSpending {
    fn of(&self, tenant: &Tenant) -> &Arc<dyn Engine> {
        &self.engines[index_of(&self.settings, tenant)]
    }
}

#[async_trait]
impl Spending for CellSpending {
    async fn spent(&self, tenant: &Tenant, day: Day) -> Result<u64, SpendingError> {
        self.of(tenant).spent(tenant, day).await
    }

    async fn add(&self, tenant: &Tenant, day: Day, tokens: u64) -> Result<(), SpendingError> {
        self.of(tenant).add(tenant, day, tokens).await
    }
}
