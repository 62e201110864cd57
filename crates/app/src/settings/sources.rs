//! The settings of sources: places whose documents are kept in step.

use std::time::Duration;

use ibid_core::{Corpus, Label, Tenant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Span;

/// A place whose documents are kept in step: what is added, changed, moved and deleted there follows by itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SourceSettings {
    /// Where it is: a folder, s3://bucket/folder, webdav+https://host/folder, or the https:// address of a site, its sitemap or a feed.
    pub location: String,
    /// The corpus that its documents belong to [default: documents].
    pub corpus: Option<Corpus>,
    /// The tenant that they belong to [default: local].
    pub tenant: Option<Tenant>,
    /// How long after it was compared it is compared again. A folder of this machine is also watched.
    pub every: Span,
    /// Which files are taken, such as "*.pdf" or "hr/**"; all, if there are none. A pattern without a slash is of names in every folder.
    pub include: Vec<String>,
    /// Which are left out.
    pub exclude: Vec<String>,
    /// Who may see its documents; empty means everybody at the tenant.
    pub labels: Vec<Label>,
    /// Their type [default: as the names of the files tell].
    #[serde(rename = "type")]
    pub document_type: Option<String>,
    /// Their language, as ISO 639-1 has it [default: as each document tells].
    pub language: Option<String>,
    /// What is different for some of its paths. Of several that fit, the first that has labels counts, and the first that has a type.
    pub paths: Vec<SourcePathSettings>,
    /// If more of its documents than this are gone at once, in percent, a person is asked before they are deleted here.
    pub brake_percent: u8,
    /// A file that was written to so recently may be half written.
    pub settle: Span,
    /// The address of the object storage, if it is not Amazon's.
    pub endpoint: Option<String>,
    /// Its region.
    pub region: Option<String>,
    /// The environment variable that holds the name of the user, or for S3 the id of the access key.
    pub user_env: Option<String>,
    /// The environment variable that holds the password, or for S3 the secret access key.
    pub password_env: Option<String>,
}

/// What is different for some paths of a source.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SourcePathSettings {
    /// Which paths, such as "hr/**".
    pub path: String,
    /// Who may see them, in place of `labels` of the source.
    pub labels: Vec<Label>,
    /// Their type.
    #[serde(rename = "type")]
    pub document_type: Option<String>,
}

impl Default for SourceSettings {
    fn default() -> Self {
        Self {
            location: String::new(),
            corpus: None,
            tenant: None,
            every: Span(Duration::from_secs(300)),
            include: Vec::new(),
            exclude: Vec::new(),
            labels: Vec::new(),
            document_type: None,
            language: None,
            paths: Vec::new(),
            brake_percent: 20,
            settle: Span(Duration::from_secs(2)),
            endpoint: None,
            region: None,
            user_env: None,
            password_env: None,
        }
    }
}

impl SourceSettings {
    /// Whose documents they are.
    pub fn tenant(&self) -> Tenant {
        self.tenant.clone().unwrap_or_else(Tenant::local)
    }
}
