//! The concierge, measured: instalments beside an independent implementation, the router of common questions, and what a real small
//! model makes of requests.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use ibid_assistants::catalogue::UnderstoodCriteria;
use ibid_assistants::financing::plan;
use ibid_core::evidence::{Index, Question};
use ibid_core::value::Decimal;
use ibid_core::{Focus, ThreadId};
use ibid_testkit::{RealModels, RealServer};

use crate::catalogue::{expected, file, written};
use crate::showroom;
use crate::stage::{Stage, played};

/// How many loans are compared.
const LOANS: u64 = 10_000;

/// Loans that nobody chose: an amount in cents, a rate in hundredths of a percent, months.
fn loans() -> Vec<(u64, u64, u64)> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = move |most: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % most
    };
    (0..LOANS).map(|_| (100_000 + next(300_000_000), next(6_000), 36 + next(37))).collect()
}

#[test]
fn instalments_are_those_of_an_independent_calculator_to_the_cent() {
    let script = "
import sys
from decimal import Decimal, ROUND_HALF_UP, getcontext
import numpy_financial as npf
getcontext().prec = 60
cent = Decimal('0.01')
for line in sys.stdin:
    cents, rate, months = map(int, line.split())
    loan = Decimal(cents) / 100
    pay = -npf.pmt(Decimal(rate) / 120000, Decimal(months), loan) if rate else loan / months
    pay = pay.quantize(cent, ROUND_HALF_UP)
    left, paid = loan, Decimal(0)
    for _ in range(months - 1):
        left += (left * rate / 120000).quantize(cent, ROUND_HALF_UP) - pay
        paid += pay
    last = left + (left * rate / 120000).quantize(cent, ROUND_HALF_UP)
    print(pay, last, paid + last)
";
    let loans = loans();
    let mut asked = String::new();
    for (cents, rate, months) in &loans {
        let _ = writeln!(asked, "{cents} {rate} {months}");
    }
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("loans");
    std::fs::write(&input, asked).unwrap();
    let output = Command::new(RealModels::find().python())
        .args(["-c", script])
        .stdin(std::fs::File::open(&input).unwrap())
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    assert!(output.status.success(), "numpy-financial could not be asked");
    let told = String::from_utf8(output.stdout).unwrap();
    assert_eq!(told.lines().count(), loans.len());
    for ((cents, rate, months), line) in loans.iter().zip(told.lines()) {
        let expected: Vec<Decimal> = line.split(' ').map(|amount| amount.parse().unwrap()).collect();
        let loan = Decimal::of_digits(i128::from(*cents), 2);
        let rate = Decimal::of_digits(i128::from(*rate), 2);
        let own = plan(loan, rate, u32::try_from(*months).unwrap()).unwrap();
        assert_eq!(
            [own.instalment, own.last_instalment, own.total],
            expected[..],
            "{loan} at {rate} % in {months}"
        );
        let sum = own.instalment.times(Decimal::from(i128::from(*months) - 1)).unwrap();
        assert_eq!(sum.plus(own.last_instalment), Some(own.total), "the plan sums to its total");
        assert_eq!(own.interest.plus(loan), Some(own.total));
    }
}

/// How near each question is to its nearest category, and which that is.
async fn nearest(index: &dyn Index, question: &str) -> (f32, String) {
    let mut asked = Question::new(question);
    asked.kinds = vec!["faq".to_owned()];
    let found = index.retrieve(&showroom::scope(), &asked).await.unwrap();
    let mut best: BTreeMap<String, (f32, String)> = BTreeMap::new();
    for passage in found.passages {
        let id = passage.document.clone();
        if best.contains_key(&id.0) {
            continue;
        }
        let documents = Some([id.clone()].into());
        let scope = showroom::scope().focused(Focus { documents, ..Focus::default() });
        let relevance = index.relevance(&scope, question).await.unwrap().unwrap_or_default();
        best.insert(id.0, (relevance, passage.title));
    }
    best.into_values().max_by(|one, other| one.0.total_cmp(&other.0)).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "it measures: `just eval-faq`"]
#[allow(clippy::print_stdout, reason = "the figures are the output")]
async fn how_well_questions_find_their_category() {
    let index = showroom::search().await;
    let titles = [
        ("locations", "Sucursales / Locations"),
        ("financing", "Cr\u{e9}dito y financiamiento / Credit"),
        ("buying_selling", "Comprar y vender / Buying and selling"),
        ("warranty", "Garant\u{ed}a / Warranty"),
    ];
    let (mut inside, mut outside) = (Vec::new(), Vec::new());
    let mut misled = Vec::new();
    for line in file("faq.txt") {
        let (question, category) = line.split_once(" | ").unwrap();
        let (relevance, title) = nearest(index.as_ref(), question).await;
        match titles.iter().find(|(name, _)| *name == category) {
            Some((_, expected)) => {
                inside.push((relevance, title == *expected));
                if title != *expected {
                    misled.push(format!("{question} ({relevance:.2}, {title})"));
                }
            }
            None => outside.push((relevance, question.to_owned())),
        }
    }
    println!("{} questions in a category, {} outside", inside.len(), outside.len());
    println!("the nearest category is another one for {}:\n{}", misled.len(), misled.join("\n"));
    println!(
        "| relevance | answered from the right category | from a wrong one | not known | outside, not known | balanced |"
    );
    println!("|---:|---:|---:|---:|---:|---:|");
    for step in 0..=16 {
        let limit = step as f32 * 0.05;
        let right = inside.iter().filter(|(relevance, right)| *relevance >= limit && *right).count();
        let wrong = inside.iter().filter(|(relevance, right)| *relevance >= limit && !*right).count();
        let refused = outside.iter().filter(|(relevance, _)| *relevance < limit).count();
        let (all, out) = (inside.len() as f64, outside.len() as f64);
        let (own, others) = (right as f64 / all * 100.0, refused as f64 / out * 100.0);
        println!(
            "| {limit:.2} | {own:.1} % | {:.1} % | {:.1} % | {others:.1} % | {:.1} % |",
            wrong as f64 / all * 100.0,
            (inside.len() - right - wrong) as f64 / all * 100.0,
            (own + others) / 2.0
        );
    }
    let mut near: Vec<&(f32, String)> = outside.iter().collect();
    near.sort_by(|one, other| other.0.total_cmp(&one.0));
    for (relevance, question) in near.iter().take(12) {
        println!("outside, and near: {relevance:.2} {question}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "it takes long: `just eval-catalogue`"]
#[allow(clippy::print_stdout, reason = "the figures are the output")]
async fn how_well_a_small_model_reads_requests() {
    let every: usize = std::env::var("IBID_EVERY").ok().and_then(|every| every.parse().ok()).unwrap_or(1);
    let server = tokio::task::spawn_blocking(RealServer::large).await.unwrap();
    let port = showroom::catalogues().await;
    let mut stage = Stage::of("car-sales", showroom::search().await, server.url());
    stage.is_near = true;
    stage.catalogues = Some(port);
    let folder = tempfile::tempdir().unwrap();
    let engine = stage.engine(&folder.path().join("engine.db")).await;
    let (mut all, mut intents, mut read, mut exact, mut wrong) = (0, 0, 0, 0, Vec::new());
    let began = Instant::now();
    for line in file("requests.txt").iter().step_by(every) {
        let parts: Vec<&str> = line.split(" | ").collect();
        let [request, _, filter] = parts.as_slice() else { panic!("{line}") };
        all += 1;
        let run = stage.submit(&engine, ThreadId::new(), request, &[]).await;
        let came = played(&engine, run).await;
        let Some(route) = came.told("route").pop() else { continue };
        intents += usize::from(route["intent"] == "buy");
        let form = came.message.and_then(|message| message.metadata?.structured);
        let Some(criteria) = form.and_then(|form| serde_json::from_value(form["criteria"].clone()).ok())
        else {
            wrong.push(format!("{request}: taken for {}", route["intent"]));
            continue;
        };
        read += 1;
        // What is not there is told in words, and is no criterion.
        let got = written(&UnderstoodCriteria { criteria, ..UnderstoodCriteria::default() });
        let wanted: Vec<String> = expected(filter).into_iter().filter(|part| part != "?").collect();
        println!("{all}: {request}: {}", got == wanted);
        if got == wanted {
            exact += 1;
        } else {
            wrong.push(format!("{request}: {got:?} instead of {wanted:?}"));
        }
    }
    let each = began.elapsed().as_secs_f64() / f64::from(all);
    println!("{}", wrong.join("\n"));
    println!("{all} requests: {intents} taken for buying, {read} read, {exact} exact, {each:.1} s each");
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn common_questions_find_their_category() {
    let index: Arc<dyn Index> = showroom::search().await;
    for (question, title) in [
        ("\u{bf}Tienen sucursal en Puebla?", "Sucursales / Locations"),
        ("cuanto dura la garantia", "Garant\u{ed}a / Warranty"),
        ("What is the minimum down payment?", "Cr\u{e9}dito y financiamiento / Credit"),
    ] {
        let (relevance, found) = nearest(index.as_ref(), question).await;
        assert_eq!(found, title, "{question}: {relevance}");
    }
}
