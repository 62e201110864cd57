//! `ibid search`: passages with score, page and snippet.

use std::io::Write;
use std::process::ExitCode;

use http::Method;
use ibid_app::Settings;
use ibid_core::evidence::{Index, Passage, Question};
use ibid_reading::page::shortened;
use serde::Deserialize;
use serde_json::json;

use super::{printable, runtime};
use crate::arguments::SearchArguments;
use crate::place::Place;

/// A snippet is so long.
const SNIPPET: usize = 160;

/// Searches, and prints what was found.
pub(super) fn run(config: &Settings, search: &SearchArguments) -> anyhow::Result<ExitCode> {
    runtime()?.block_on(async {
        let place = Place::of(config, &search.target, &search.label).await?;
        let passages = found(config, place, search).await?;
        let mut out = std::io::stdout().lock();
        if search.json {
            for passage in &passages {
                writeln!(out, "{}", serde_json::to_string(passage)?)?;
            }
            return Ok(ExitCode::SUCCESS);
        }
        if passages.is_empty() {
            writeln!(out, "Nothing was found. `ibid documents list` shows what there is to search.")?;
            return Ok(ExitCode::SUCCESS);
        }
        for (rank, passage) in passages.iter().enumerate() {
            writeln!(
                out,
                "{}. {:.3}  {}, {}",
                rank + 1,
                passage.score,
                printable(&passage.source),
                printable(&passage.place())
            )?;
            if !passage.path.is_empty() {
                writeln!(out, "   {}", printable(&shortened(&passage.path.join(" > "), SNIPPET)))?;
            }
            writeln!(out, "   {}\n", printable(&snippet(&passage.text, &search.question)))?;
        }
        Ok(ExitCode::SUCCESS)
    })
}

async fn found(config: &Settings, place: Place, search: &SearchArguments) -> anyhow::Result<Vec<Passage>> {
    match place {
        Place::Here(mut scope) => {
            let mut question = Question::new(&search.question);
            question.phrasings.extend(search.or.iter().cloned());
            question.top = search.top;
            question.kinds.clone_from(&search.kind);
            question.neighbours = 0;
            if !search.corpus.is_empty() {
                scope = scope.within(search.corpus.iter().cloned());
            }
            Ok(ibid_app::open_search(config).await?.retrieve(&scope, &question).await?.passages)
        }
        Place::Server(client) => {
            #[derive(Deserialize)]
            struct Found {
                passages: Vec<Passage>,
            }
            let corpora = Some(&search.corpus).filter(|corpora| !corpora.is_empty());
            let body = json!({
                "query": search.question, "phrasings": search.or, "corpora": corpora,
                "types": search.kind, "limit": search.top, "neighbours": 0,
            });
            Ok(client.call::<Found>(Method::POST, "/search", Some(body)).await?.passages)
        }
    }
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
