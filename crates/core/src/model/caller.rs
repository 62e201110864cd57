//! On whose behalf a model is called, and how urgently.

use crate::Tenant;

/// Who is waiting for a call. It decides who goes first when there is not room for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// A person is waiting.
    Chat,
    /// Documents are being read; nobody is waiting for this one.
    Ingestion,
}

impl Class {
    /// All classes, the most urgent first.
    pub const ALL: [Self; 2] = [Self::Chat, Self::Ingestion];

    /// Its name in counters and logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Ingestion => "ingestion",
        }
    }
}

/// On whose behalf a model is called. There is no default: every call is somebody's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// Whose budget it is.
    pub tenant: Tenant,
    /// Who goes first.
    pub class: Class,
}

impl Caller {
    /// A call for which a person of this tenant is waiting.
    pub fn chat(tenant: Tenant) -> Self {
        Self { tenant, class: Class::Chat }
    }

    /// A call for this tenant's documents.
    pub fn ingestion(tenant: Tenant) -> Self {
        Self { tenant, class: Class::Ingestion }
    }
}
