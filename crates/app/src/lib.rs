//! From settings to running parts. The server, the terminal, tests and other Rust programs use ibid through this crate.
//!
//! [`App::builder`] takes [`Settings`], graphs and tools of your own, and opens the engine, the models, the documents and the
//! assistants. [`App::ask`] is one turn from a question to an answer with citations.

mod app;
mod assistants;
mod backup;
mod bench;
mod builder;
mod cells;
mod datasets;
mod documents;
mod engines;
mod erasing;
mod error;
mod eval;
mod health;
mod insights;
mod live;
mod measure;
mod models;
mod moving;
mod named;
mod nearest;
mod offline;
mod pulling;
pub mod rehearsal;
mod running;
pub mod settings;
mod setup;
mod shares;
mod store;
mod sync;

pub use app::{App, TurnAnswer};
pub use assistants::{AssistantInfo, AssistantOrigin, AssistantRegistry, KnownAssistant, known_assistants};
pub use backup::{Archive, BackupInfo, BackupProgress, BackupReport, back_up, check_backup, restore_backup};
pub use bench::{BenchAnswer, BenchOutcome, BenchQuestion, bench_question, bench_questions};
pub use builder::AppBuilder;
pub use cells::Cells;
pub use documents::{DocumentFields, DocumentService, IfLoading, LoadContent, LoadHandle, StartedLoad};
pub use engines::engine_database_check;
pub use erasing::{PurgeReport, erase_now, purge_tenant};
pub use error::{DoingExt, Error};
pub use eval::{EvalCandidate, EvalPlan, EvalProgress, evaluate};
pub use health::{CheckResult, HealthCheck, ModelInfo, ServerInfo};
pub use health::{
    data_folder_check, disk_check, embedding_check, engine_file_check, grounding_check,
    outdated_runtime_check, pdf_check, provider_check, recognition_check, reranking_check, sandbox_check,
    set_aside_loads_check,
};
pub use insights::{Insights, ModelTotals, TurnTotals};
pub use models::{ModelCatalog, NO_EMBEDDING, pulled_models};
pub use moving::{EngineLocation, copy_engine};
pub use nearest::{hint, nearest};
pub use offline::{OfflineKeys, OfflineLoads, OfflineThreads};
pub use pulling::{Pulled, pull_models};
pub use running::{
    LOCAL_KEY_PREFIX, LOCAL_PROOF_PATH, RunningServer, RunningServerFile, SCOPE_HEADER, local_proof,
};
pub use settings::Settings;
pub use setup::{
    ChosenModel, ModelChoice, ModelTrial, PullStatus, RecommendedModel, Setup, SetupProvider, SetupReport,
};
pub use store::{
    NO_PDFIUM, READ_COMMAND, find_pdfium, open_search, open_store, read_document_if_asked,
    recognition_languages,
};
pub use sync::{
    Deletions, SourceStatus, SyncOutcome, SyncPaths, SyncPlan, SyncProblem, SyncProgress, SyncReport,
    SyncService,
};
