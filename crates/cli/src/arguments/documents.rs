//! What can be typed about documents.

use clap::{Args, Subcommand};
use ibid_core::{Corpus, Label, SourceName};

use super::Target;

/// Load documents.
#[derive(Debug, Args)]
pub(crate) struct Ingest {
    /// Files, folders and URLs
    #[arg(required_unless_present = "assistant", value_name = "FILE, FOLDER OR URL")]
    pub(crate) sources: Vec<String>,
    /// Load them for this assistant: into its corpus, with its types; without sources, the documents that it names
    #[arg(long, value_name = "NAME")]
    pub(crate) assistant: Option<String>,
    /// The set of documents that they join [default: that of the assistant, else `documents`]
    #[arg(long, value_name = "NAME")]
    pub(crate) corpus: Option<Corpus>,
    /// Their type [default: what the table `types` of the assistant, or `ingest.types`, says of the file name]
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) kind: Option<String>,
    /// Their title, for a single document [default: what the document says, else its file name]
    #[arg(long)]
    pub(crate) title: Option<String>,
    /// Their language, such as es [default: found out]
    #[arg(long)]
    pub(crate) language: Option<String>,
    /// Only those who hold one of these labels see them; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) label: Vec<Label>,
    /// The most characters of a chunk [default: that of the assistant, else `ingest.chunk_characters`]
    #[arg(long, value_name = "CHARACTERS")]
    pub(crate) chunk_characters: Option<usize>,
    /// How many characters two neighbouring chunks share [default: that of the assistant, else `ingest.chunk_overlap`]
    #[arg(long, value_name = "CHARACTERS")]
    pub(crate) chunk_overlap: Option<usize>,
    /// Print one JSON object for each document instead of a table
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) target: Target,
}

/// Compare sources.
#[derive(Debug, Args)]
pub(crate) struct Sync {
    /// Which of `sources` [default: all]
    #[arg(value_name = "NAME")]
    pub(crate) sources: Vec<SourceName>,
    /// Say what would be done, and do nothing
    #[arg(long, conflicts_with_all = ["allow_deletions", "list"])]
    pub(crate) dry_run: bool,
    /// Delete up to so many documents whose files are gone, also if so many at once wait for a person
    #[arg(long, value_name = "COUNT", conflicts_with = "list")]
    pub(crate) allow_deletions: Option<usize>,
    /// Say how they stand, and compare nothing
    #[arg(long)]
    pub(crate) list: bool,
    /// Print one JSON object for each source
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) target: Target,
}

/// Documents, here or at a server.
#[derive(Debug, Args)]
pub(crate) struct Documents {
    #[command(flatten)]
    pub(crate) target: Target,
    #[command(subcommand)]
    pub(crate) command: DocumentsCommand,
}

/// What can be done with documents.
#[derive(Debug, Subcommand)]
pub(crate) enum DocumentsCommand {
    /// List documents
    List {
        /// Only those of this set
        #[arg(long, value_name = "NAME")]
        corpus: Option<Corpus>,
        /// With permission to see what has this label; may be given several times
        #[arg(long, value_name = "NAME")]
        label: Vec<Label>,
        /// Print one JSON object for each line
        #[arg(long)]
        json: bool,
    },
    /// Show what was read of a document, page by page
    Show {
        /// Which document: its name, or the end of its file name or URL
        document: String,
        /// With permission to see what has this label; may be given several times
        #[arg(long, value_name = "NAME")]
        label: Vec<Label>,
        /// Print it as JSON
        #[arg(long)]
        json: bool,
    },
    /// Change the title, type or labels of a document, without reading it again
    Edit {
        /// Which document: its name, or the end of its file name or URL
        document: String,
        /// Its title from now on
        #[arg(long, required_unless_present_any = ["kind", "labels"])]
        title: Option<String>,
        /// Its type from now on
        #[arg(long = "type", value_name = "TYPE")]
        kind: Option<String>,
        /// Who may see it from now on, separated by commas; "" for everybody
        #[arg(long, value_name = "NAMES")]
        labels: Option<String>,
        /// With permission to see what has this label; may be given several times
        #[arg(long, value_name = "NAME")]
        label: Vec<Label>,
    },
    /// Delete a document from everything that is searched
    Delete {
        /// Which document: its name, or the end of its file name or URL
        document: String,
        /// With permission to see what has this label; may be given several times
        #[arg(long, value_name = "NAME")]
        label: Vec<Label>,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
}

/// Find what documents say.
#[derive(Debug, Args)]
pub(crate) struct SearchArguments {
    /// What to look for
    pub(crate) question: String,
    /// Only in this set of documents; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) corpus: Vec<Corpus>,
    /// Another way to put the question; may be given several times
    #[arg(long, value_name = "QUESTION")]
    pub(crate) or: Vec<String>,
    /// How many passages
    #[arg(long, short = 'n', default_value_t = 5)]
    pub(crate) top: usize,
    /// Only documents of this type; may be given several times
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) kind: Vec<String>,
    /// With permission to see what has this label; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) label: Vec<Label>,
    /// Print one JSON object for each passage
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) target: Target,
}
