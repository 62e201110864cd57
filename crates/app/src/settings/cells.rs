//! Cells: databases and stores side by side, each for some of the tenants, where one of them cannot bear all.

use ibid_core::Tenant;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{EngineSettings, Settings, StoreSettings};
use crate::error::Error;

/// A database and a store of its own, for some of the tenants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CellSettings {
    /// Where conversations and loads of its tenants are kept: `postgres://user@host/database`.
    pub engine_url: String,
    /// The address of that database itself, if `engine_url` leads to a pooler in transaction mode.
    #[serde(default)]
    pub listen_url: Option<String>,
    /// Where their documents are kept: a folder, or a URL such as s3://bucket/folder.
    pub store_location: String,
}

impl Settings {
    /// The name of the cell that a tenant is in: as `tenants.NAME.cell` says, else the same one on every machine. None if there are
    /// no cells.
    ///
    /// # Errors
    /// Fails when the tenant is assigned to a cell that there is not.
    pub fn cell_of(&self, tenant: &Tenant) -> Result<Option<&str>, Error> {
        let assigned = self.tenants.get(tenant).and_then(|settings| settings.cell.as_ref());
        if let Some(name) = assigned.filter(|_| !self.cells.is_empty()) {
            let (known, _) = self.cells.get_key_value(name).ok_or_else(|| self.unknown_cell(name))?;
            return Ok(Some(known));
        }
        Ok(self.cells.keys().max_by_key(|cell| weight(cell, tenant)).map(String::as_str))
    }

    /// The settings of one cell, as if there were no others.
    ///
    /// # Errors
    /// Fails when there is no such cell.
    pub fn of_cell(&self, name: &str) -> Result<Self, Error> {
        let cell = self.cells.get(name).ok_or_else(|| self.unknown_cell(name))?;
        if self.engine.url.is_some() || self.store.location.is_some() {
            return Err(Error::Settings(
                "with `cells`, each cell says where it keeps what; leave `engine.url` and `store.location` out"
                    .to_owned(),
            ));
        }
        let mut sources = self.sources.clone();
        sources.retain(|_, source| self.cell_of(&source.tenant()).is_ok_and(|cell| cell == Some(name)));
        Ok(Self {
            sources,
            engine: EngineSettings {
                url: Some(cell.engine_url.clone()),
                listen_url: cell.listen_url.clone(),
                ..self.engine.clone()
            },
            store: StoreSettings { location: Some(cell.store_location.clone()), ..self.store.clone() },
            cells: std::collections::BTreeMap::new(),
            ..self.clone()
        })
    }

    /// The settings of the cell that a tenant is in; these, if there are no cells.
    ///
    /// # Errors
    /// Fails when the tenant is assigned to a cell that there is not.
    pub fn of_tenant(&self, tenant: &Tenant) -> Result<Self, Error> {
        match self.cell_of(tenant)? {
            Some(cell) => self.of_cell(cell),
            None => Ok(self.clone()),
        }
    }

    /// Whoever works in one place must know in which.
    pub(crate) fn refuse_several_cells(&self) -> Result<(), Error> {
        if self.cells.is_empty() {
            return Ok(());
        }
        let cells: Vec<&str> = self.cells.keys().map(String::as_str).collect();
        Err(Error::Settings(format!(
            "this works in one cell, and there are several: say which with --cell, {}",
            cells.join(" or ")
        )))
    }

    fn unknown_cell(&self, name: &str) -> Error {
        let known: Vec<&str> = self.cells.keys().map(String::as_str).collect();
        Error::Settings(format!("there is no cell `{name}` among `cells`: {}", known.join(", ")))
    }
}

/// How much a tenant belongs to a cell. With one cell more, only those move for whom the new one weighs most.
fn weight(cell: &str, tenant: &Tenant) -> [u8; 32] {
    Sha256::new().chain_update(cell).chain_update([0]).chain_update(tenant.as_str()).finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::TenantSettings;

    fn with_cells(names: &[&str]) -> Settings {
        let cell = |name: &&str| {
            let cell = CellSettings {
                engine_url: format!("postgres://ibid@{name}/ibid"),
                listen_url: None,
                store_location: format!("s3://{name}"),
            };
            ((*name).to_owned(), cell)
        };
        Settings { cells: names.iter().map(cell).collect(), ..Settings::default() }
    }

    fn tenants() -> Vec<Tenant> {
        (0..1000).map(|number| format!("tenant-{number}").parse().unwrap()).collect()
    }

    #[test]
    fn tenants_are_spread_evenly_and_few_move_when_a_cell_is_added() {
        let (three, four) = (with_cells(&["a", "b", "c"]), with_cells(&["a", "b", "c", "d"]));
        let mut moved = 0;
        for cell in ["a", "b", "c"] {
            let here = tenants().iter().filter(|tenant| three.cell_of(tenant).unwrap() == Some(cell)).count();
            assert!((250..420).contains(&here), "{here} of 1000 are in {cell}");
        }
        for tenant in tenants() {
            let (before, after) = (three.cell_of(&tenant).unwrap(), four.cell_of(&tenant).unwrap());
            assert!(after == before || after == Some("d"), "{tenant} went from {before:?} to {after:?}");
            moved += usize::from(after != before);
        }
        assert!((180..320).contains(&moved), "{moved} of 1000 moved");
    }

    #[test]
    fn a_tenant_is_where_it_is_assigned() {
        let mut settings = with_cells(&["a", "b"]);
        for cell in ["a", "b"] {
            let here = TenantSettings { cell: Some(cell.to_owned()), ..TenantSettings::default() };
            settings.tenants = [(Tenant::local(), here)].into();
            let found = settings.of_tenant(&Tenant::local()).unwrap();
            assert_eq!(found.engine.url.unwrap(), format!("postgres://ibid@{cell}/ibid"));
            assert_eq!(found.store.location.unwrap(), format!("s3://{cell}"));
            assert!(found.cells.is_empty());
        }
        let nowhere = TenantSettings { cell: Some("c".to_owned()), ..TenantSettings::default() };
        settings.tenants = [(Tenant::local(), nowhere)].into();
        let refused = settings.of_tenant(&Tenant::local()).unwrap_err().to_string();
        assert!(refused.contains("there is no cell `c` among `cells`: a, b"), "{refused}");
    }

    #[test]
    fn without_cells_everybody_is_here() {
        let settings = Settings::default();
        assert_eq!(settings.cell_of(&Tenant::local()).unwrap(), None);
        assert_eq!(settings.of_tenant(&Tenant::local()).unwrap(), settings);
    }
}
