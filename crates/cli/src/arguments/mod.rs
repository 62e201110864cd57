//! What can be typed after `ibid`.

mod documents;
mod operation;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use ibid_core::{Corpus, Label, Tenant, ThreadId, TurnOptions};
use serde_json::Value;
use url::Url;

pub(crate) use self::documents::{Documents, DocumentsCommand, Ingest, SearchArguments, Sync};
pub(crate) use self::operation::{
    Backup, EngineCommand, Health, Keys, KeysCommand, NewKey, Restore, Serve, TenantsCommand,
};

/// Assistants that answer from documents, cite the page and never lose a conversation.
#[derive(Debug, Parser)]
#[command(name = "ibid", version, max_term_width = 100, after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

const AFTER_HELP: &str = "\
Settings come from ibid.toml, then from the environment (IBID_ENGINE__RETENTION=48h), then from flags.
`ibid config check` shows each one and where it comes from.

Exit codes: 0 done, 1 failed, 2 the documents do not hold the answer, 3 `eval` found a loss, 64 the arguments
cannot be read.";

/// What every command takes.
#[derive(Debug, Clone, Args)]
pub(crate) struct Global {
    /// The configuration file [default: ibid.toml in this folder, if there is one]
    #[arg(long, short, global = true, value_name = "FILE", env = "IBID_CONFIG")]
    pub(crate) config: Vec<PathBuf>,
    /// Set one setting, such as engine.retention=48h; may be given several times
    #[arg(long, global = true, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Only in this one of `cells` [default: that of the tenant; all of them for serve]
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) cell: Option<String>,
}

/// One command.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve the assistants over HTTP, until Ctrl-C
    Serve(Serve),
    /// Ask an assistant and print its answer as it comes
    Ask(Ask),
    /// Talk with an assistant
    Chat(Chat),
    /// Make, list and delete keys for those who may use the server
    Keys(Keys),
    /// List, make and check assistants
    #[command(subcommand)]
    Assistants(AssistantsCommand),
    /// Draw an assistant's graph as a Mermaid flowchart; without a name, list the assistants
    Graph {
        /// Name of the assistant
        name: Option<String>,
    },
    /// List, show and delete conversations
    Threads(Threads),
    /// Load documents so that they can be searched and cited
    Ingest(Ingest),
    /// Compare sources now: what is added, changed, moved and deleted there follows here
    Sync(Sync),
    /// List, show and delete documents
    Documents(Documents),
    /// Find what documents say, with page and score
    Search(SearchArguments),
    /// Check that the store of documents is whole
    Fsck {
        /// Repair what can be repaired
        #[arg(long)]
        repair: bool,
    },
    /// Copy conversations and documents as they are now, also beside a running server
    Backup(Backup),
    /// Bring back what a backup holds, into a new data folder
    Restore(Restore),
    /// Delete everything of a tenant
    #[command(subcommand)]
    Tenants(TenantsCommand),
    /// Move conversations between the files of one machine and a database that several share
    #[command(subcommand)]
    Engine(EngineCommand),
    /// Ask one or two configurations the questions of a dataset, and tell which answers better
    Eval(Eval),
    /// Try other thresholds of an assistant on the questions of a dataset, and propose those that are better
    Tune(Tune),
    /// List, fetch and try models
    #[command(subcommand)]
    Models(ModelsCommand),
    /// Look at the configuration
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Check that everything that ibid needs is there and sound
    Doctor,
    /// Ask the server here whether it can work, as health checks of containers do
    Health(Health),
}

/// Where a command works.
#[derive(Debug, Args)]
pub(crate) struct Target {
    /// At the server at this address, with the key of IBID_KEY [default: the server that uses the data folder, if one runs]
    #[arg(long, value_name = "URL", global = true)]
    pub(crate) server: Option<Url>,
    /// For this tenant [default: local]
    #[arg(long, value_name = "NAME", global = true, conflicts_with = "server")]
    pub(crate) tenant: Option<Tenant>,
}

/// Which documents a question is about.
#[derive(Debug, Args)]
#[command(next_help_heading = "Only from")]
pub(crate) struct Narrowing {
    /// This document, by its id; may be given several times
    #[arg(long, value_name = "ID")]
    pub(crate) document: Vec<String>,
    /// This set of documents; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) corpus: Vec<Corpus>,
    /// Documents of this type; may be given several times
    #[arg(long = "type", value_name = "NAME")]
    pub(crate) kind: Vec<String>,
    /// Documents in this language, such as es; may be given several times
    #[arg(long, value_name = "CODE")]
    pub(crate) language: Vec<String>,
    /// Answer anew, and not with what was answered before
    #[arg(long, help_heading = None)]
    pub(crate) no_cache: bool,
}

/// Talk with an assistant.
#[derive(Debug, Args)]
pub(crate) struct Chat {
    /// Who answers [default: `default`, or whoever answered last in the conversation]
    pub(crate) assistant: Option<String>,
    /// With permission to see what has this label; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) label: Vec<Label>,
    /// Go on in this conversation instead of a new one
    #[arg(long, short)]
    pub(crate) thread: Option<ThreadId>,
    #[command(flatten)]
    pub(crate) narrowing: Narrowing,
    #[command(flatten)]
    pub(crate) target: Target,
}

/// Ask an assistant.
#[derive(Debug, Args)]
#[command(override_usage = "ibid ask [OPTIONS] [ASSISTANT] <MESSAGE>")]
pub(crate) struct Ask {
    /// What to ask, after the name of the assistant [default: `default`, or whoever answered last in the conversation]
    #[arg(required = true, num_args = 1..=2, value_name = "[ASSISTANT] MESSAGE")]
    pub(crate) words: Vec<String>,
    /// In which of the assistant's modes [default: its first]
    #[arg(long, short)]
    pub(crate) mode: Option<String>,
    /// In which of the assistant's formats, such as text or structured [default: its first]
    #[arg(long, short)]
    pub(crate) format: Option<String>,
    /// With permission to see what has this label; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) label: Vec<Label>,
    /// Print what happens as JSON, one event on each line, and the answer with everything that belongs to it last
    #[arg(long)]
    pub(crate) json: bool,
    /// Go on in this conversation instead of a new one
    #[arg(long, short)]
    pub(crate) thread: Option<ThreadId>,
    #[command(flatten)]
    pub(crate) narrowing: Narrowing,
    #[command(flatten)]
    pub(crate) target: Target,
}

/// What can be done with assistants.
#[derive(Debug, Subcommand)]
pub(crate) enum AssistantsCommand {
    /// List the assistants that there are
    List,
    /// Make a folder for an assistant of your own
    New {
        /// What it is called
        name: String,
        /// The assistant that it begins as
        #[arg(long, value_name = "ASSISTANT", default_value = "default")]
        from: String,
    },
    /// Say what is wrong with an assistant; without a name, with any
    Check {
        /// Which one
        name: Option<String>,
    },
}

/// Conversations, here or at a server.
#[derive(Debug, Args)]
pub(crate) struct Threads {
    #[command(flatten)]
    pub(crate) target: Target,
    #[command(subcommand)]
    pub(crate) command: ThreadsCommand,
}

/// What can be done with conversations.
#[derive(Debug, Subcommand)]
pub(crate) enum ThreadsCommand {
    /// List conversations, the most recent first
    List {
        /// How many
        #[arg(long, short = 'n', default_value_t = 20)]
        limit: usize,
        /// Go on after this conversation, the last one of the page before
        #[arg(long)]
        after: Option<ThreadId>,
        /// Print one JSON object for each line
        #[arg(long)]
        json: bool,
    },
    /// Show a conversation
    Show {
        /// Which conversation
        thread: ThreadId,
        /// How many messages, the newest ones
        #[arg(long, short = 'n', default_value_t = 50)]
        limit: usize,
        /// Print one JSON object for each message
        #[arg(long)]
        json: bool,
    },
    /// Delete a conversation with everything in it
    Delete {
        /// Which conversation
        thread: ThreadId,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
}

/// Ask one or two configurations the questions of a dataset, and tell which answers better.
#[derive(Debug, Args)]
#[command(override_usage = "ibid eval [OPTIONS] <DATASET> [--config <A> --config <B>]")]
pub(crate) struct Eval {
    /// The questions, one JSON object a line: `question`, `history`, `scope`, and what is expected: `pages`, `values`, `facts`,
    /// `refusal`
    pub(crate) dataset: PathBuf,
    /// Who is asked; twice to compare two assistants [default: `default`]
    #[arg(long, short, value_name = "NAME")]
    pub(crate) assistant: Vec<String>,
    /// The chat model that judges the answers, by its name in the first configuration [default: none]
    #[arg(long, value_name = "MODEL")]
    pub(crate) judge: Option<String>,
    /// The folder in which the evaluation is kept [default: ibid-evals, and in it the name of the dataset]
    #[arg(long, short, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,
    /// Only the first questions, so many
    #[arg(long, short = 'n', value_name = "COUNT")]
    pub(crate) limit: Option<usize>,
    /// How many questions are asked at once
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    pub(crate) at_once: usize,
    /// Print the comparison as JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

/// Try other thresholds of an assistant. Nothing is changed.
#[derive(Debug, Args)]
pub(crate) struct Tune {
    /// The questions, as `ibid eval` takes them
    pub(crate) dataset: PathBuf,
    /// Which assistant
    #[arg(long, short, value_name = "NAME", default_value = "default")]
    pub(crate) assistant: String,
    /// Try this setting of the assistant, such as retrieval.floor=0.2; may be given several times [default: its thresholds, 0.1
    /// lower and higher]
    #[arg(long = "try", value_name = "KEY=VALUE")]
    pub(crate) tries: Vec<String>,
    /// The folder in which the comparisons are kept [default: ibid-evals, and in it the name of the dataset]
    #[arg(long, short, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,
    /// How many questions are asked at once
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    pub(crate) at_once: usize,
}

/// What can be done with models.
#[derive(Debug, Subcommand)]
pub(crate) enum ModelsCommand {
    /// List the models that are configured, those that run here, and those that are recommended
    List,
    /// Fetch models that run here, and ONNX Runtime for them; without a name, the recommended one
    Pull {
        /// Names of recommended models
        name: Vec<String>,
    },
    /// Find out the scale of the embedding model's similarities on the documents that are loaded, and keep it with them
    Calibrate,
    /// Measure how fast a chat model reads and writes here, and how many of the shipped questions it answers right
    Bench {
        /// Name of the model in ibid.toml [default: the one that answers]
        name: Option<String>,
    },
    /// Ask a chat model something, to see that its settings work
    Try {
        /// Name of the model in ibid.toml
        name: String,
        /// What to ask
        #[arg(default_value = "Say in one sentence who you are.")]
        message: String,
    },
}

/// What can be done with the configuration.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Check the configuration and show each setting with where it comes from
    Check,
    /// Print the reference of all settings as Markdown
    Reference,
}

impl Narrowing {
    /// As the options of a turn.
    pub(crate) fn options(&self) -> TurnOptions {
        let corpora: Vec<String> = self.corpus.iter().map(ToString::to_string).collect();
        let lists = [
            ("documents", &self.document),
            ("corpora", &corpora),
            ("types", &self.kind),
            ("languages", &self.language),
        ];
        let given = lists.into_iter().filter(|(_, names)| !names.is_empty());
        let mut fields: serde_json::Map<String, Value> =
            given.map(|(name, names)| (name.to_owned(), names.clone().into())).collect();
        if self.no_cache {
            fields.insert("cache".to_owned(), Value::Bool(false));
        }
        TurnOptions::from(fields)
    }
}
