//! The first start: `ibid serve` in a folder where nothing was set up yet, and plain `ibid`.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use ibid_app::{Cells, DoingExt as _, Error, ModelCatalog, Settings, Setup, find_pdfium};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::{load, printable, runtime};
use crate::arguments::Global;
use crate::config::Loaded;

/// Shows the set-up page until a person has chosen what is needed, and returns what was opened; none if they ended it before.
pub(super) async fn run_in_browser(
    global: &Global,
    loaded: &Loaded,
    listener: TcpListener,
    stopped: impl Future<Output = ()>,
) -> anyhow::Result<Option<Cells>> {
    let file = loaded.file.clone().unwrap_or_else(|| PathBuf::from("ibid.toml"));
    let again = global.clone();
    let reload = move || Ok(load(&again).doing(|| "the settings cannot be read".to_owned())?.config);
    let (setup, opened) = Setup::new(loaded.config.clone(), file, reload);
    let address = listener.local_addr()?;
    eprintln!("there is something to set up first: open http://{address} in a browser");
    eprintln!(
        "or in the terminal: `ibid models pull`, then `ibid doctor` says what else is missing; Ctrl-C stops it"
    );
    let stop = CancellationToken::new();
    let router = ibid_server::setup_router(setup);
    let serving = tokio::spawn(ibid_server::serve(listener, router, stop.clone().cancelled_owned()));
    let cells = tokio::select! {
        cells = opened => cells.ok(),
        () = stopped => None,
    };
    // Whoever asked for it gets an answer before the connection ends.
    stop.cancel();
    serving.await?;
    Ok(cells)
}

/// Plain `ibid`: what is there, what is missing, and what to do next.
pub(super) fn welcome(global: &Global) -> anyhow::Result<ExitCode> {
    let config = load(global)?.config;
    let (chat, embedding) = runtime()?.block_on(found(&config))?;
    let is_ready = chat.is_some() && embedding;
    let has_documents = config.ingestion_file().exists();
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "ibid answers questions from your documents, cites the page and checks every quotation.\n"
    )?;
    let chat = chat.unwrap_or_else(|| {
        "none: start Ollama, llama.cpp, vLLM or LM Studio, set OPENAI_API_KEY, or name one in ibid.toml"
            .to_owned()
    });
    writeln!(out, "  chat model       {}", printable(&chat))?;
    let embedding = if embedding { "ready" } else { "none: `ibid models pull` fetches one (135 MB)" };
    writeln!(out, "  embedding model  {embedding}")?;
    let pdf = if find_pdfium(&config).is_some() {
        "can be read"
    } else {
        "cannot be read: `ibid models pull` fetches PDFium"
    };
    writeln!(out, "  PDFs             {pdf}")?;
    let documents = if has_documents {
        "`ibid documents` lists them"
    } else {
        "none yet: `ibid ingest FILE…` loads some"
    };
    writeln!(out, "  documents        {documents}\n")?;
    let next = if is_ready { "opens it in a browser" } else { "sets up the rest in a browser" };
    writeln!(out, "`ibid serve` {next}; `ibid --help` lists all commands.")?;
    Ok(ExitCode::SUCCESS)
}

/// The chat model that would answer, and whether there is an embedding model.
async fn found(config: &Settings) -> anyhow::Result<(Option<String>, bool)> {
    let models = ModelCatalog::new(Arc::new(config.clone()))?;
    let embedding = models.has_embedding().await;
    let chat = match models.chat_of("answer", None).await {
        Ok(chat) => {
            let model = chat.first().model().to_owned();
            Some(match models.chat_in_use() {
                Some((provider, _)) => format!("{model} of {provider} (found, not configured)"),
                None => model,
            })
        }
        Err(Error::Missing(_)) => None,
        Err(error) => Some(format!("cannot be used: {}", error.chain())),
    };
    Ok((chat, embedding))
}
