//! A page with the metrics of an evaluation and its questions side by side. It is one file and needs nothing from elsewhere.

use ibid_core::answer::Citation;

use super::{EvalResults, escaped, gain};
use crate::comparison::MetricComparison;
use crate::metric::EvalMetric;
use crate::score::{EvalAnswer, Scores};

const STYLE: &str = "\
:root{color-scheme:light dark;--line:light-dark(#d8d8d2,#3a3a38);--dim:light-dark(#62625c,#a3a39c);\
--good:light-dark(#17683b,#6fcf97);--bad:light-dark(#a3281f,#f28b82);--soft:light-dark(#f5f5f1,#242422)}\
body{font:15px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem}\
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2.5rem}\
table{border-collapse:collapse;width:100%}th,td{text-align:right;padding:.35rem .6rem;border-bottom:1px solid var(--line)}\
th:first-child,td:first-child{text-align:left}td{font-variant-numeric:tabular-nums}\
.frame{overflow-x:auto}.better{color:var(--good)}.worse{color:var(--bad);font-weight:600}.dim{color:var(--dim)}\
details{border:1px solid var(--line);border-radius:.5rem;margin:.6rem 0;padding:.6rem .9rem}\
summary{cursor:pointer}.sides{display:grid;grid-template-columns:repeat(auto-fit,minmax(20rem,1fr));gap:1rem;margin-top:.8rem}\
.side{background:var(--soft);border-radius:.4rem;padding:.7rem .9rem;overflow-wrap:anywhere}\
.side h3{margin:0 0 .4rem;font-size:.9rem}.text{white-space:pre-wrap}ul{padding-left:1.2rem;margin:.5rem 0}";

/// The page of an evaluation.
pub(super) fn page(evaluation: &EvalResults) -> String {
    let names: Vec<String> = evaluation.configurations.iter().map(|one| escaped(&one.name)).collect();
    let title = format!("{}: {}", escaped(&evaluation.dataset), names.join(" and "));
    let metrics = match evaluation.configurations.len() {
        0 | 1 => metrics_of_one(evaluation),
        _ => metrics_of_two(&evaluation.comparison(), &names),
    };
    let mut order: Vec<usize> = (0..evaluation.answered.len()).collect();
    let scores = evaluation.scores();
    order.sort_by(|one, other| gain(&scores[*one]).total_cmp(&gain(&scores[*other])));
    let questions: String = order.into_iter().map(|at| question(evaluation, at, &scores[at])).collect();
    let policy = "default-src 'none'; style-src 'unsafe-inline'";
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\"><title>{title}</title>\
         <style>{STYLE}</style></head><body><h1>{title}</h1>\
         <p class=\"dim\">{} questions. A difference whose interval holds 0 may be chance; the intervals hold for all metrics at once.</p>\
         {metrics}<h2>Questions</h2>{questions}</body></html>\n",
        evaluation.answered.len()
    )
}

fn metrics_of_one(evaluation: &EvalResults) -> String {
    let row = |metric: EvalMetric| {
        let mean = evaluation.mean(metric, 0)?;
        Some(format!("<tr><td>{}</td><td>{}</td></tr>", metric.title(), metric.shown(mean)))
    };
    let rows: String = EvalMetric::ALL.into_iter().filter_map(row).collect();
    format!("<div class=\"frame\"><table><tr><th>Metric</th><th>Mean</th></tr>{rows}</table></div>")
}

fn metrics_of_two(compared: &[MetricComparison], names: &[String]) -> String {
    let rows: String = compared
        .iter()
        .map(|one| {
            let shown = |figure: Option<f64>| figure.map(|figure| one.metric.shown(figure)).unwrap_or_default();
            let interval = one.interval.map_or_else(String::new, |(low, high)| {
                format!("{} to {}", one.metric.shown(low), one.metric.shown(high))
            });
            let verdict = one.verdict.as_str();
            format!(
                "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{interval}</td><td class=\"{verdict}\">{verdict}</td></tr>",
                one.metric.title(),
                shown(one.baseline),
                shown(one.candidate),
                shown(one.difference),
            )
        })
        .collect();
    let heads: String = names.iter().map(|name| format!("<th>{name}</th>")).collect();
    format!(
        "<div class=\"frame\"><table><tr><th>Metric</th>{heads}<th>Difference</th><th>Interval</th><th>Verdict</th></tr>\
         {rows}</table></div>"
    )
}

fn question(evaluation: &EvalResults, at: usize, scores: &[Scores]) -> String {
    let (item, answers) = &evaluation.answered[at];
    let gain = gain(scores);
    let (class, mark) = match gain {
        gain if gain < 0.0 => ("worse", "worse"),
        gain if gain > 0.0 => ("better", "better"),
        _ => ("dim", ""),
    };
    let expected: Vec<String> = [
        ("values", item.values.join(", ")),
        ("facts", item.facts.join(" ")),
        (
            "pages",
            item.pages
                .iter()
                .map(|one| format!("{} p. {}", one.document, one.page))
                .collect::<Vec<_>>()
                .join(", "),
        ),
        (
            "refusal",
            item.refusal.map(|refusal| if refusal { "yes" } else { "no" }.to_owned()).unwrap_or_default(),
        ),
    ]
    .into_iter()
    .filter(|(_, text)| !text.is_empty())
    .map(|(name, text)| format!("{name}: {}", escaped(&text)))
    .collect();
    let sides: String = answers
        .iter()
        .zip(&evaluation.configurations)
        .map(|(answer, of)| side(&escaped(&of.name), answer))
        .collect();
    format!(
        "<details{}><summary>{} <span class=\"dim\">{}</span> <span class=\"{class}\">{mark}</span></summary>\
         <p class=\"dim\">{}</p><div class=\"sides\">{sides}</div></details>",
        if gain < 0.0 { " open" } else { "" },
        escaped(&item.question),
        escaped(&item.id),
        expected.join(" · "),
    )
}

fn side(name: &str, answer: &EvalAnswer) -> String {
    let metadata = &answer.metadata;
    let text = answer.error.as_ref().map_or_else(
        || format!("<div class=\"text\">{}</div>", escaped(&answer.text)),
        |error| format!("<div class=\"text worse\">{}</div>", escaped(error)),
    );
    let cited = |citation: &Citation| {
        let page = citation.page.map(|page| format!(", p. {page}")).unwrap_or_default();
        let found = citation.found.as_str().replace('_', " ");
        format!(
            "<li>{}{page} ({found}): “{}”</li>",
            escaped(&citation.title),
            escaped(citation.snippet.chars().take(300).collect::<String>().as_str())
        )
    };
    let citations: String = metadata.citations.iter().map(cited).collect();
    let warnings: String = metadata
        .warnings
        .iter()
        .map(|warning| format!("<li class=\"worse\">{}</li>", escaped(&warning.text)))
        .collect();
    let judged = answer.judgement.as_ref().map_or_else(String::new, |judgement| {
        format!(
            "<p class=\"dim\">{}: {:?}. {}</p>",
            escaped(&judgement.model),
            judgement.verdict,
            escaped(&judgement.reason)
        )
    });
    let took = answer.took_ms.map(|took| format!("{:.1} s, ", took as f64 / 1000.0)).unwrap_or_default();
    let tokens = metadata.usage.input_tokens + metadata.usage.output_tokens;
    format!(
        "<div class=\"side\"><h3>{name}</h3>{text}<ul>{citations}{warnings}</ul>{judged}\
         <p class=\"dim\">{took}{tokens} tokens</p></div>"
    )
}
