//! One corpus never leaks into another, whatever is asked.

use std::collections::BTreeSet;
use std::sync::Arc;

use ibid_core::evidence::{Index, Question};
use ibid_core::{Corpus, Label, Scope, Tenant};
use ibid_knowledge::{LoadRequest, Store};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::stage::{Where, ingestion, job, load, search};

const TENANTS: [&str; 2] = ["acme", "zeta"];
const CORPORA: [&str; 3] = ["rules", "tariffs", "letters"];
const LABELS: [&str; 2] = ["legal", "board"];

/// Who may see a document.
#[derive(Clone, Debug)]
struct Home {
    tenant: Tenant,
    corpus: Corpus,
    labels: BTreeSet<Label>,
}

/// The same documents in every home.
async fn fill(store: &Arc<Store>) -> Vec<(String, Home)> {
    let ingestion = ingestion(store);
    let mut homes = Vec::new();
    for tenant in TENANTS {
        for corpus in CORPORA {
            for labels in [vec![], vec![LABELS[0]], vec![LABELS[1]], LABELS.to_vec()] {
                let labels: BTreeSet<Label> = labels.iter().map(|label| label.parse().unwrap()).collect();
                let names: Vec<&str> = labels.iter().map(Label::as_str).collect();
                let name = format!("records-{}.txt", names.join("-"));
                let mut job: LoadRequest = job(corpus, &name);
                job.tenant = tenant.parse().unwrap();
                job.settings.labels.clone_from(&labels);
                // The words are those of all other homes; only a mark tells whose they are.
                let text = format!("Importers keep records of entry for five years. {}", names.join(" "));
                let home = Home { tenant: job.tenant.clone(), corpus: job.corpus.clone(), labels };
                let document = job.document().0;
                load(&ingestion, job, text.as_bytes()).await;
                homes.push((document, home));
            }
        }
    }
    homes
}

#[test]
fn no_search_ever_sees_what_its_scope_does_not() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let place = Where::folder();
    let store = runtime.block_on(place.open());
    let homes = runtime.block_on(fill(&store));
    let scopes = (
        prop::sample::select(TENANTS.to_vec()),
        prop::option::of(prop::collection::btree_set(prop::sample::select(CORPORA.to_vec()), 0..=3)),
        prop::collection::btree_set(prop::sample::select(LABELS.to_vec()), 0..=2),
        prop::sample::select(vec!["records of entry", "five years", "legal", "importers keep"]),
        any::<bool>(),
    );
    let mut runner = TestRunner::new(Config { cases: 64, failure_persistence: None, ..Config::default() });
    runner
        .run(&scopes, |(tenant, corpora, labels, text, introduce)| {
            let mut scope =
                Scope::of(tenant.parse().unwrap()).holding(labels.iter().map(|label| label.parse().unwrap()));
            if let Some(corpora) = &corpora {
                scope = scope.within(corpora.iter().map(|corpus| corpus.parse().unwrap()));
            }
            let mut question = Question::new(text);
            question.top = 100;
            if introduce {
                // Asking for a document by name does not open it either.
                question.introduce = homes
                    .iter()
                    .map(|(document, _)| ibid_core::evidence::DocumentId(document.clone()))
                    .collect();
            }
            let evidence = runtime.block_on(search(&store).retrieve(&scope, &question)).unwrap();
            let expected: BTreeSet<&str> = homes
                .iter()
                .filter(|(_, home)| scope.sees(&home.tenant, &home.corpus, &home.labels))
                .map(|(document, _)| document.as_str())
                .collect();
            for passage in &evidence.passages {
                prop_assert!(expected.contains(passage.document.0.as_str()), "{scope:?} saw {passage:?}");
            }
            let listed = runtime.block_on(store.documents(&scope)).unwrap();
            let listed: BTreeSet<&str> = listed.iter().map(|document| document.id.0.as_str()).collect();
            prop_assert_eq!(listed, expected);
            Ok(())
        })
        .unwrap();
}
