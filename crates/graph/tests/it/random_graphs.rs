//! Over random graphs: stopping after any step and resuming gives the same end by the same way as
//! never stopping.

use std::sync::{Arc, Mutex};

use ibid_graph::{Context, END, Ending, Graph, MemoryJournals, NodeError, RunHost, START, State, run};
use proptest::prelude::*;
use serde::{Deserialize, Serialize};

const NAMES: [&str; 8] = ["n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7"];

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
struct Trail {
    value: u64,
    way: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct Stepped {
    node: String,
    factor: u64,
}

impl State for Trail {
    type Update = Stepped;

    fn apply(&mut self, update: Stepped) {
        self.value = self.value.wrapping_mul(update.factor).wrapping_add(self.way.len() as u64 + 1);
        self.way.push(update.node);
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Role {
    Work,
    Interrupt,
    Inner,
}

/// One node of a random graph: it leads to the next node, and perhaps further on or back.
#[derive(Clone, Debug)]
struct Plan {
    role: Role,
    factor: u64,
    further: Option<usize>,
    back: Option<usize>,
    bound: u32,
}

fn plans() -> impl Strategy<Value = Vec<Plan>> {
    let role = prop_oneof![6 => Just(Role::Work), 1 => Just(Role::Interrupt), 1 => Just(Role::Inner)];
    let plan = (role, 1u64..1000, proptest::option::of(0usize..8), proptest::option::of(0usize..8), 1u32..4);
    let plan =
        plan.prop_map(|(role, factor, further, back, bound)| Plan { role, factor, further, back, bound });
    proptest::collection::vec(plan, 1..8)
}

type Seen = Arc<Mutex<Vec<String>>>;

fn worker(
    factor: u64,
    seen: Seen,
) -> impl Fn(Arc<Trail>, Context) -> std::future::Ready<Result<Stepped, NodeError>> {
    move |_, context| {
        seen.lock().unwrap().push(context.node().to_owned());
        std::future::ready(Ok(Stepped { node: context.node().to_owned(), factor }))
    }
}

fn inner_graph(factor: u64, seen: &Seen) -> Graph<Trail> {
    Graph::builder("inner")
        .node("x", worker(factor, seen.clone()))
        .node("y", worker(factor + 1, seen.clone()))
        .edge(START, "x")
        .branch("x", |state: &Trail| if state.value.is_multiple_of(3) { "x" } else { "y" }, ["x", "y"])
        .at_most("x", 2, "y")
        .edge("y", END)
        .build()
        .unwrap()
}

fn graph(plans: &[Plan], seen: &Seen) -> Graph<Trail> {
    let name = |index: usize| if index < plans.len() { NAMES[index] } else { END };
    let mut builder = Graph::<Trail>::builder("random").edge(START, NAMES[0]);
    let mut bounded = vec![None; plans.len()];
    for (index, plan) in plans.iter().enumerate() {
        let factor = plan.factor;
        builder = match plan.role {
            Role::Work => builder.node(NAMES[index], worker(factor, seen.clone())),
            Role::Interrupt => builder.interrupt(
                NAMES[index],
                |state: &Trail| state.value,
                move |_, answer: u64| Stepped { node: "asked".to_owned(), factor: answer + factor },
            ),
            Role::Inner => builder.graph(
                NAMES[index],
                &inner_graph(factor, seen),
                |outer: &Trail| Trail { value: outer.value, way: Vec::new() },
                |inner: &Trail| Stepped { node: inner.way.join("+"), factor: inner.value },
            ),
        };
        let mut targets = vec![name(index + 1)];
        targets.extend(plan.further.map(|step| name(index + 2 + step)));
        if let Some(back) = plan.back.map(|back| back.min(index)) {
            targets.push(NAMES[back]);
            bounded[back] = Some(plan.bound);
        }
        let choices = targets.clone();
        let route = move |state: &Trail| choices[(state.value % choices.len() as u64) as usize];
        builder = builder.branch(NAMES[index], route, targets);
    }
    for (index, bound) in bounded.into_iter().enumerate() {
        if let Some(visits) = bound {
            builder = builder.at_most(NAMES[index], visits, END);
        }
    }
    builder.build().unwrap()
}

/// Runs to the end, answering every question as it comes, and returns the last state.
async fn finish(graph: &Graph<Trail>, journals: &MemoryJournals, name: &str) -> Trail {
    let program = graph.compile(|()| Ok(Trail { value: 7, way: Vec::new() }), Trail::clone);
    loop {
        let mut cursor = program.start(()).unwrap();
        match run(&mut *cursor, &mut journals.open(name), &RunHost::default()).await.unwrap() {
            Ending::Finished => return cursor.output(),
            Ending::Interrupted { step, question } => journals.answer(name, step.number, question),
            Ending::Stopped => panic!("nobody stopped it"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn resuming_after_any_step_is_as_if_never_stopped(plans in plans()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let seen = Seen::default();
            let graph = graph(&plans, &seen);
            let journals = MemoryJournals::default();
            let end = finish(&graph, &journals, "whole").await;
            let records = journals.records("whole");
            let performed = std::mem::take(&mut *seen.lock().unwrap());
            for stop in 0..=records.len() {
                let resumed = format!("resumed after {stop}");
                journals.fork("whole", stop, &resumed);
                let again = finish(&graph, &journals, &resumed).await;
                let rest = std::mem::take(&mut *seen.lock().unwrap());
                assert_eq!(again, end, "the end differs");
                assert_eq!(journals.records(&resumed), records, "the way differs");
                assert!(performed.ends_with(&rest), "{rest:?} is not the rest of {performed:?}");
                let asked = records[stop..].iter().filter(|record| record.update.contains("\"asked\"")).count();
                assert_eq!(rest.len() + asked, records.len() - stop, "a finished step ran again");
            }
        });
    }
}
