//! Threads besides their turns: begun, noted, found, added to, copied.

use ibid_core::{Message, ThreadId};
use serde_json::{Map, Value, json};

use super::{Play, Subject};
use crate::{
    Error, Feedback, Lifetime, MOST_ID_BYTES, MOST_MESSAGE_BYTES, MOST_METADATA_BYTES, MOST_WINDOW_BYTES,
    MessageWindow, RunStatus, Stop, ThreadField, ThreadFilter, ThreadOrder, ThreadPage, ThreadStatus,
    ThreadUpdate, Turn,
};

fn noted(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

pub async fn a_thread_can_begin_without_a_turn(subject: &dyn Subject) {
    let mut play = Play::begin(subject, "begin").await;
    let (begun, new) = play
        .engine
        .create_thread(&play.scope, play.thread, noted(json!({ "user": "ana" })), Lifetime::Kept)
        .await
        .expect("it can begin");
    assert!(new && begun.messages == 0 && begun.title.is_empty(), "{begun:?}");
    assert_eq!(begun.status, ThreadStatus::Idle);
    let (again, new) = play
        .engine
        .create_thread(&play.scope, play.thread, Map::new(), Lifetime::Kept)
        .await
        .expect("it is there");
    assert!(!new && again == begun, "one that is there stays as it is");
    let run = play.say("hello").await;
    play.ended(run).await;
    play.kill_and_reopen(1).await;
    let thread = play.engine.thread(&play.scope, play.thread).await.expect("it is there");
    assert_eq!((thread.title.as_str(), thread.messages), ("hello", 2), "its first message names it");
    assert_eq!(thread.metadata, noted(json!({ "user": "ana" })));
    let more = noted(json!({ "user": "eva", "open": true }));
    let thread = play
        .engine
        .update_thread(&play.scope, play.thread, ThreadUpdate { metadata: more.clone(), shared: None })
        .await
        .expect("a note");
    assert_eq!(thread.metadata, more);
}

pub async fn threads_are_found_by_what_is_noted_and_by_what_they_do(subject: &dyn Subject) {
    let play = Play::begin(subject, "find").await;
    let mut threads = Vec::new();
    for number in 0..4 {
        let thread = ThreadId::new();
        let notes = noted(json!({ "team": { "name": if number % 2 == 0 { "law" } else { "sales" } } }));
        play.engine.create_thread(&play.scope, thread, notes, Lifetime::Kept).await.expect("it can begin");
        threads.push(thread);
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
    let mut turn = play.turn("wait");
    turn.thread = threads[2];
    let run = play.submit(turn).await;
    play.speaking(run).await;
    let find = async |filter: ThreadFilter, order: ThreadOrder, skip, limit| {
        let page = ThreadPage { filter, order, skip, ..ThreadPage::first(limit) };
        let found = play.engine.threads(&play.scope, page).await.expect("threads can be listed");
        found.into_iter().map(|thread| thread.id).collect::<Vec<_>>()
    };
    let oldest = ThreadOrder { by: ThreadField::Created, ascending: true };
    let law = ThreadFilter { metadata: noted(json!({ "team": { "name": "law" } })), ..Default::default() };
    assert_eq!(find(law.clone(), oldest, 0, 9).await, [threads[0], threads[2]]);
    assert_eq!(find(law.clone(), oldest, 1, 9).await, [threads[2]]);
    assert_eq!(play.engine.count_threads(&play.scope, law).await.expect("a number"), 2);
    let busy = ThreadFilter { status: Some(ThreadStatus::Busy), ..Default::default() };
    assert_eq!(find(busy.clone(), oldest, 0, 9).await, [threads[2]]);
    assert_eq!(play.engine.count_threads(&play.scope, busy).await.expect("a number"), 1);
    let titled = ThreadFilter { title: Some("WAI".to_owned()), ..Default::default() };
    assert_eq!(find(titled, oldest, 0, 9).await, [threads[2]]);
    let ids = ThreadFilter { ids: Some(vec![threads[3], threads[1]]), ..Default::default() };
    let newest = ThreadOrder { by: ThreadField::Created, ascending: false };
    assert_eq!(find(ids, newest, 0, 9).await, [threads[3], threads[1]]);
    assert_eq!(find(ThreadFilter::default(), ThreadOrder::default(), 0, 1).await, [threads[2]], "used last");
    play.stage.let_one_go_on();
    play.ended(run).await;
}

pub async fn messages_join_a_thread_without_a_turn(subject: &dyn Subject) {
    let play = Play::begin(subject, "add").await;
    let run = play.say("wait").await;
    play.speaking(run).await;
    let added = vec![Message::user("by the way"), Message::assistant("noted")];
    let busy = play.engine.add_messages(&play.scope, play.thread, added.clone()).await;
    assert!(matches!(busy, Err(Error::Busy(active)) if active == run), "got {busy:?}");
    play.stage.let_one_go_on();
    play.ended(run).await;
    let update = play.engine.add_messages(&play.scope, play.thread, added).await.expect("they can join");
    assert_eq!(play.conversation().await, ["wait", "heard wait", "by the way", "noted"]);
    let noted = play.engine.run(&play.scope, update).await.expect("it is a run");
    assert_eq!((noted.status, noted.input, noted.assistant.as_str()), (RunStatus::Done, 2..4, ""));
    let next = play.say("two").await;
    play.ended(next).await;
    assert_eq!(play.conversation().await.last().map(String::as_str), Some("heard two after 2"));
}

pub async fn messages_have_a_length_and_windows_a_size(subject: &dyn Subject) {
    let play = Play::begin(subject, "sizes").await;
    let long = "x".repeat(MOST_MESSAGE_BYTES);
    let too_long = play.engine.submit(&play.scope, play.turn(&format!("{long}x"))).await;
    assert!(matches!(too_long, Err(Error::MessageTooLong(_))), "got {too_long:?}");
    let mut named = Message::user("hello");
    named.id = Some("x".repeat(MOST_ID_BYTES + 1));
    let too_long = play.engine.submit(&play.scope, Turn::new(play.thread, "echo", named)).await;
    assert!(matches!(too_long, Err(Error::MessageTooLong(_))), "got {too_long:?}");
    let run = play.say("hello").await;
    play.ended(run).await;
    let half = |name: &str| ThreadUpdate {
        metadata: noted(json!({ (name): "x".repeat(MOST_METADATA_BYTES / 2) })),
        shared: None,
    };
    play.engine.update_thread(&play.scope, play.thread, half("a")).await.expect("half may be kept");
    let too_large = play.engine.update_thread(&play.scope, play.thread, half("b")).await;
    assert!(matches!(too_large, Err(Error::MetadataTooLarge(_))), "got {too_large:?}");
    let too_large = Turn { metadata: noted(json!({ "a": long })), ..play.turn("hello") };
    let too_large = play.engine.submit(&play.scope, too_large).await;
    assert!(matches!(too_large, Err(Error::MetadataTooLarge(_))), "got {too_large:?}");
    let message = Message::user(format!("{long}x"));
    let too_long = play.engine.add_messages(&play.scope, play.thread, vec![message]).await;
    assert!(matches!(too_long, Err(Error::MessageTooLong(_))), "got {too_long:?}");
    let messages = vec![Message::user(long); 2 * MOST_WINDOW_BYTES / MOST_MESSAGE_BYTES];
    play.engine.add_messages(&play.scope, play.thread, messages).await.expect("they may be so long");
    let window = MessageWindow { before: None, limit: usize::MAX };
    let found = play.engine.messages(&play.scope, play.thread, window).await.expect("they can be read");
    let bytes: usize = found.iter().map(|said| said.message.text.len()).sum();
    assert!(bytes <= MOST_WINDOW_BYTES && bytes > MOST_WINDOW_BYTES / 2, "{bytes}");
    let last = play.engine.thread(&play.scope, play.thread).await.expect("it is there").messages - 1;
    assert_eq!(found.last().map(|said| said.position), Some(last), "the newest are read");
    let older = MessageWindow { before: Some(found[0].position), limit: usize::MAX };
    let older = play.engine.messages(&play.scope, play.thread, older).await.expect("they can be read");
    assert_eq!(older.last().map(|said| said.position + 1), Some(found[0].position), "and the others before");
}

pub async fn a_copy_has_the_conversation_and_goes_its_own_way(subject: &dyn Subject) {
    let play = Play::begin(subject, "copy").await;
    for text in ["one", "two"] {
        let run = play.say(text).await;
        play.ended(run).await;
    }
    let before = play.conversation().await;
    let whole = play.engine.copy_thread(&play.scope, play.thread, None).await.expect("it can be copied");
    let part = play.engine.copy_thread(&play.scope, play.thread, Some(2)).await.expect("it can be copied");
    assert_eq!((whole.messages, part.messages), (4, 2));
    let copy = Play { thread: part.id, ..play };
    assert_eq!(copy.conversation().await, before[..2]);
    let run = copy.say("three").await;
    copy.ended(run).await;
    let original = Play { thread: whole.id, ..copy };
    assert_eq!(original.conversation().await, before);
}

pub async fn a_turn_that_is_forgotten_leaves_nothing(subject: &dyn Subject) {
    let play = Play::begin(subject, "forget").await;
    let run = play.say("one").await;
    play.ended(run).await;
    let run = play.say("wait").await;
    play.speaking(run).await;
    play.engine.stop(&play.scope, run, Stop::Forget).await.expect("it can be stopped");
    assert_eq!(play.ended(run).await, RunStatus::RolledBack);
    assert_eq!(play.conversation().await, ["one", "heard one after 0"]);
}

pub async fn a_deleted_run_leaves_what_it_said(subject: &dyn Subject) {
    let play = Play::begin(subject, "delete-run").await;
    let run = play.say("wait").await;
    play.speaking(run).await;
    let early = play.engine.delete_run(&play.scope, run).await;
    assert!(matches!(early, Err(Error::Busy(_))), "got {early:?}");
    play.stage.let_one_go_on();
    play.ended(run).await;
    let good = Feedback {
        score: 1,
        comment: "just right".to_owned(),
        author: "ana".to_owned(),
        created: std::time::UNIX_EPOCH,
    };
    play.engine.add_feedback(&play.scope, run, good.clone()).await.expect("it can be kept");
    assert_eq!(play.engine.feedback(&play.scope, run).await.expect("it is kept"), [good]);
    play.engine.delete_run(&play.scope, run).await.expect("it can be deleted");
    assert!(matches!(play.engine.run(&play.scope, run).await, Err(Error::UnknownRun(_))));
    assert_eq!(play.conversation().await, ["wait", "heard wait"]);
}
