//! Reading: windows, pages, time travel, forks, deletion.

use std::time::{Duration, SystemTime};

use ibid_core::{Message, Scope, ThreadId};
use serde_json::{Value, json};

use super::{Play, Subject};
use crate::{Error, FactsRange, MessageWindow, RunStatus, ThreadPage, Turn, TurnFilter};

pub async fn messages_are_read_by_the_window(subject: &dyn Subject) {
    let play = Play::begin(subject, "window").await;
    for number in 0..5 {
        let run = play.say(&format!("message {number}")).await;
        play.ended(run).await;
    }
    let window = async |before, limit| {
        let window = MessageWindow { before, limit };
        let found = play.engine.messages(&play.scope, play.thread, window).await.expect("there is a thread");
        found.into_iter().map(|said| said.position).collect::<Vec<_>>()
    };
    assert_eq!(window(None, 3).await, [7, 8, 9]);
    assert_eq!(window(Some(7), 3).await, [4, 5, 6]);
    assert_eq!(window(Some(1), 3).await, [0]);
}

pub async fn threads_are_listed_by_the_page(subject: &dyn Subject) {
    let play = Play::begin(subject, "pages").await;
    let mut expected = Vec::new();
    for number in 0..5 {
        let thread = ThreadId::new();
        let run =
            play.submit(Turn::new(thread, "echo", Message::user(format!("  question\n{number} ")))).await;
        play.ended(run).await;
        expected.insert(0, (thread, format!("question {number}"), 2));
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let mut listed: Vec<(ThreadId, String, u64)> = Vec::new();
    let mut after = None;
    loop {
        let page = ThreadPage { after, ..ThreadPage::first(2) };
        let threads = play.engine.threads(&play.scope, page).await.expect("threads can be listed");
        let Some(last) = threads.last() else { break };
        after = Some(last.cursor());
        let used_again = Turn::new(last.id, "echo", Message::user("again"));
        play.submit(used_again).await;
        listed.extend(threads.into_iter().map(|thread| (thread.id, thread.title, thread.messages)));
    }
    assert_eq!(listed, expected);
}

pub async fn the_state_after_any_step_can_be_read_and_forked_from(subject: &dyn Subject) {
    let play = Play::begin(subject, "fork").await;
    let first = play.say("one").await;
    play.ended(first).await;
    let run = play.say("two").await;
    play.ended(run).await;
    for step in 0..=3 {
        let state = play.engine.state(&play.scope, run, step).await.expect("the steps are kept");
        assert_eq!(state["said"].as_array().map(Vec::len), Some(step as usize));
    }
    let beyond = play.engine.state(&play.scope, run, 4).await;
    assert!(matches!(beyond, Err(Error::NoSuchStep { .. })), "got {beyond:?}");
    let before = play.conversation().await;
    let (thread, forked) = play.engine.fork(&play.scope, run, 1).await.expect("it can be forked");
    assert_eq!(play.ended(forked).await, RunStatus::Done);
    assert_eq!(play.conversation().await, before, "the original is left as it was");
    let fork = Play { thread, ..play };
    assert_eq!(fork.conversation().await, before, "the fork took the same way");
    assert_eq!(fork.engine.steps(&fork.scope, forked).await.expect("the run is known").len(), 3);
}

pub async fn a_deleted_thread_is_gone_also_while_it_works(subject: &dyn Subject) {
    let mut play = Play::begin(subject, "delete").await;
    let run = play.say("wait").await;
    play.speaking(run).await;
    play.engine.delete_thread(&play.scope, play.thread).await.expect("it can be deleted");
    play.stage.let_one_go_on();
    assert!(matches!(play.engine.thread(&play.scope, play.thread).await, Err(Error::UnknownThread(_))));
    play.kill_and_reopen(1).await;
    assert!(matches!(play.engine.run(&play.scope, run).await, Err(Error::UnknownRun(_))));
    assert_eq!(play.stage.performed(run), ["hear", "think"]);
    let again = play.say("hello").await;
    assert_eq!(play.ended(again).await, RunStatus::Done);
    assert_eq!(play.conversation().await, ["hello", "heard hello after 0"]);
}

pub async fn what_came_of_turns_is_kept(subject: &dyn Subject) {
    let play = Play::begin(subject, "facts").await;
    let done = play.say("hello").await;
    assert_eq!(play.ended(done).await, RunStatus::Done);
    let failed = play.say("fail").await;
    assert_eq!(play.ended(failed).await, RunStatus::Failed);
    let hour = Duration::from_secs(3600);
    let range = || FactsRange::between(SystemTime::now() - hour, SystemTime::now() + hour);
    let facts = play.engine.turn_facts(&play.scope, range()).await.expect("they can be read");
    let came: Vec<_> = facts.iter().map(|turn| (turn.run, turn.status)).collect();
    assert_eq!(came, [(Some(failed), RunStatus::Failed), (Some(done), RunStatus::Done)], "the newest first");
    assert!(facts.iter().all(|turn| turn.measures.took_ms.is_some() && turn.thread == Some(play.thread)));
    assert!(facts[1].measures.first_word_ms.is_some(), "it said something");
    let only = FactsRange { filter: TurnFilter::Failed, existing: true, at_most: 1, ..range() };
    let facts = play.engine.turn_facts(&play.scope, only).await.expect("they can be read");
    assert_eq!(facts.iter().map(|turn| turn.run).collect::<Vec<_>>(), [Some(failed)]);
    for filter in [TurnFilter::Unanswered, TurnFilter::Warned, TurnFilter::Good, TurnFilter::Bad] {
        let none = FactsRange { filter, ..range() };
        assert_eq!(play.engine.turn_facts(&play.scope, none).await.expect("they can be read"), []);
    }
    let other = Scope::of("other".parse().expect("a tenant's name"));
    assert_eq!(play.engine.turn_facts(&other, range()).await.expect("they can be read"), []);
    let before = FactsRange { to: SystemTime::now() - hour / 2, ..range() };
    assert_eq!(play.engine.turn_facts(&play.scope, before).await.expect("they can be read"), []);
    play.engine.delete_thread(&play.scope, play.thread).await.expect("it can be deleted");
    let facts = play.engine.turn_facts(&play.scope, range()).await.expect("they can be read");
    assert_eq!(facts.len(), 2, "what was used stays known");
    let listed = FactsRange { existing: true, ..range() };
    assert_eq!(play.engine.turn_facts(&play.scope, listed).await.expect("they can be read"), []);
    assert!(facts.iter().all(|turn| turn.run.is_none() && turn.thread.is_none() && turn.title.is_empty()));
}

pub async fn questions_are_picked_for_datasets(subject: &dyn Subject) {
    let play = Play::begin(subject, "datasets").await;
    let (engine, scope) = (&play.engine, &play.scope);
    let other = Scope::of("other".parse().expect("a tenant's name"));
    for (id, question) in [("b", "first?"), ("a", "second?"), ("b", "first, put better?")] {
        let content = json!({ "question": question });
        engine.put_dataset_item(scope, "rates", id, content).await.expect("it can be kept");
    }
    let kept = engine.dataset_items(scope, "rates").await.expect("they can be read");
    assert_eq!(kept, [json!({ "question": "first, put better?" }), json!({ "question": "second?" })]);
    assert_eq!(engine.datasets(scope).await.expect("they can be listed"), [("rates".to_owned(), 2)]);
    assert_eq!(engine.datasets(&other).await.expect("they can be listed"), []);
    let labelled = scope.clone().for_caller("key:ana").holding(["legal".parse().expect("a label")]);
    engine.put_dataset_item(&labelled, "legal", "c", json!({ "id": "c" })).await.expect("it can be kept");
    let without = scope.clone().for_caller("key:eva").with_all_threads();
    assert!(engine.dataset_items(&without, "legal").await.expect("they can be read").is_empty());
    assert_eq!(engine.delete_dataset_items(&without, "legal", None).await.expect("it can be tried"), 0);
    assert_eq!(engine.datasets(&without).await.expect("they can be listed").len(), 1);
    assert_eq!(engine.delete_dataset_items(&labelled, "legal", None).await.expect("it can be deleted"), 1);
    assert_eq!(engine.delete_dataset_items(&other, "rates", None).await.expect("it can be tried"), 0);
    assert_eq!(engine.delete_dataset_items(scope, "rates", Some("b")).await.expect("it can be deleted"), 1);
    assert_eq!(engine.delete_dataset_items(scope, "rates", None).await.expect("it can be deleted"), 1);
    assert_eq!(engine.dataset_items(scope, "rates").await.expect("they can be read"), Vec::<Value>::new());
}
