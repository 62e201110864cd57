//! `ibid search`: passages with score, page and snippet.

use std::io::Write;
use std::process::ExitCode;

use ibid_core::evidence::{Index, Question};
use ibid_reading::page::shortened;

use super::{caller, printable, runtime, scope};
use crate::arguments::SearchArguments;
use crate::config::Config;
use crate::library::Library;

/// A snippet is so long.
const SNIPPET: usize = 160;

/// Searches, and prints what was found.
pub(super) fn run(config: &Config, search: &SearchArguments) -> anyhow::Result<ExitCode> {
    runtime()?.block_on(async {
        let library = Library::open(config, &caller()).await?;
        let mut question = Question::new(&search.question);
        question.phrasings.extend(search.or.iter().cloned());
        question.top = search.top;
        question.kinds.clone_from(&search.kind);
        question.neighbours = 0;
        let mut scope = scope().holding(search.label.iter().cloned());
        if !search.corpus.is_empty() {
            scope = scope.within(search.corpus.iter().cloned());
        }
        let evidence = library.search()?.retrieve(&scope, &question).await?;
        let mut out = std::io::stdout().lock();
        if search.json {
            for passage in &evidence.passages {
                writeln!(out, "{}", serde_json::to_string(passage)?)?;
            }
            return Ok(ExitCode::SUCCESS);
        }
        if evidence.passages.is_empty() {
            writeln!(out, "Nothing was found. `ibid documents list` shows what there is to search.")?;
            return Ok(ExitCode::SUCCESS);
        }
        for (rank, passage) in evidence.passages.iter().enumerate() {
            writeln!(
                out,
                "{}. {:.3}  {}, page {}",
                rank + 1,
                passage.score,
                printable(&passage.source),
                passage.page
            )?;
            if !passage.path.is_empty() {
                writeln!(out, "   {}", printable(&shortened(&passage.path.join(" > "), SNIPPET)))?;
            }
            writeln!(out, "   {}\n", printable(&snippet(&passage.text, &search.question)))?;
        }
        Ok(ExitCode::SUCCESS)
    })
}

/// The line of a text that has most of the question's words; a long word, such as a code, tells more.
fn snippet(text: &str, question: &str) -> String {
    let words =
        question.split_whitespace().map(|word| word.trim_matches(|char: char| !char.is_alphanumeric()));
    let words: Vec<String> = words.map(str::to_lowercase).filter(|word| word.len() > 3).collect();
    let fits = |line: &&str| {
        let lower = line.to_lowercase();
        words.iter().filter(|word| lower.contains(word.as_str())).map(|word| word.len() - 3).sum::<usize>()
    };
    let most = text.lines().map(|line| fits(&line)).max().unwrap_or_default();
    shortened(text.lines().find(|line| fits(line) == most).unwrap_or_default(), SNIPPET)
}
