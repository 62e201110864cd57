//! Who may see and change what: tenants, owners, scopes, keys.

use std::num::NonZeroU32;
use std::time::{Duration, SystemTime};

use ibid_core::{AccessRole, Label, Message, RunId, Scope};
use serde_json::{Map, json};

use super::{Play, Subject};
use crate::{
    ApiKey, Error, Lifetime, MessageWindow, RunStatus, Stop, ThreadFilter, ThreadPage, ThreadUpdate,
};

/// Nothing that is done with the thread of a play, or with a run of it, works for a scope.
async fn is_hidden_from(play: &Play<'_>, other: &Scope, run: RunId) {
    let (engine, thread) = (&play.engine, play.thread);
    let window = MessageWindow { before: None, limit: 9 };
    assert!(matches!(engine.thread(other, thread).await, Err(Error::UnknownThread(_))));
    assert!(matches!(engine.messages(other, thread, window).await, Err(Error::UnknownThread(_))));
    assert!(matches!(engine.runs(other, thread).await, Err(Error::UnknownThread(_))));
    assert!(matches!(engine.run(other, run).await, Err(Error::UnknownRun(_))));
    assert!(matches!(engine.events(other, run, 0).await, Err(Error::UnknownRun(_))));
    assert!(matches!(engine.steps(other, run).await, Err(Error::UnknownRun(_))));
    assert!(matches!(engine.state(other, run, 0).await, Err(Error::UnknownRun(_))));
    assert!(matches!(engine.stop(other, run, Stop::Keep).await, Err(Error::UnknownRun(_))));
    assert!(matches!(engine.resume(other, run, json!(true)).await, Err(Error::UnknownRun(_))));
    assert!(matches!(engine.fork(other, run, 0).await, Err(Error::UnknownRun(_))));
    assert!(matches!(engine.delete_thread(other, thread).await, Err(Error::UnknownThread(_))));
    assert!(matches!(engine.delete_run(other, run).await, Err(Error::UnknownRun(_))));
    assert!(matches!(engine.feedback(other, run).await, Err(Error::UnknownRun(_))));
    let begun = engine.create_thread(other, thread, Map::new(), Lifetime::Kept).await;
    assert!(matches!(begun, Err(Error::UnknownThread(_))), "got {begun:?}");
    let updated = engine.update_thread(other, thread, ThreadUpdate::default()).await;
    assert!(matches!(updated, Err(Error::UnknownThread(_))), "got {updated:?}");
    let added = engine.add_messages(other, thread, vec![Message::user("hello")]).await;
    assert!(matches!(added, Err(Error::UnknownThread(_))), "got {added:?}");
    assert!(matches!(engine.copy_thread(other, thread, None).await, Err(Error::UnknownThread(_))));
    let intruding = engine.submit(other, play.turn("hello")).await;
    assert!(matches!(intruding, Err(Error::UnknownThread(_))), "got {intruding:?}");
    assert!(!is_listed(play, other, ThreadFilter::default()).await);
}

async fn is_listed(play: &Play<'_>, scope: &Scope, filter: ThreadFilter) -> bool {
    let page = ThreadPage { filter: filter.clone(), ..ThreadPage::first(9) };
    let listed = play.engine.threads(scope, page).await.expect("threads can be listed");
    let counted = play.engine.count_threads(scope, filter).await.expect("threads can be counted");
    assert_eq!(listed.len() as u64, counted);
    listed.iter().any(|thread| thread.id == play.thread)
}

pub async fn tenants_do_not_see_each_other(subject: &dyn Subject) {
    let play = Play::begin(subject, "tenants").await;
    let run = play.say("secret").await;
    play.ended(run).await;
    is_hidden_from(&play, &Scope::of("other".parse().expect("a tenant's name")), run).await;
    let nearly = Scope::of("other".parse().expect("a tenant's name")).for_caller("key:ana");
    is_hidden_from(&play, &nearly.with_all_threads(), run).await;
}

pub async fn a_thread_is_its_owners_until_it_is_shared(subject: &dyn Subject) {
    let mut play = Play::begin(subject, "owners").await;
    let everybody = play.scope.clone();
    let (owner, other) = (everybody.clone().for_caller("key:ana"), everybody.clone().for_caller("key:eva"));
    let admin = everybody.clone().for_caller("key:root").with_all_threads();
    play.scope = owner.clone();
    let run = play.say("secret").await;
    is_hidden_from(&play, &other, run).await;
    play.ended(run).await;
    is_hidden_from(&play, &other, run).await;

    let own = ThreadFilter { own: true, ..ThreadFilter::default() };
    assert!(is_listed(&play, &owner, own.clone()).await && is_listed(&play, &everybody, own.clone()).await);
    assert!(is_listed(&play, &admin, ThreadFilter::default()).await && !is_listed(&play, &admin, own).await);
    let seen = play.engine.thread(&admin, play.thread).await.expect("an admin sees it");
    assert_eq!((seen.owner.as_deref(), seen.shared), (Some("key:ana"), false));

    let share = async |shared| {
        let update = ThreadUpdate { shared: Some(shared), ..ThreadUpdate::default() };
        play.engine.update_thread(&owner, play.thread, update).await.expect("it can be shared")
    };
    assert!(share(true).await.shared);
    let window = MessageWindow { before: None, limit: 9 };
    let read = play.engine.messages(&other, play.thread, window).await.expect("it is shared");
    assert_eq!(read.len(), 2);
    assert!(!is_listed(&play, &other, ThreadFilter::default()).await, "who has the link finds it");
    let refused = play.engine.submit(&other, play.turn("hello")).await;
    assert!(matches!(refused, Err(Error::ReadOnly(_))), "got {refused:?}");
    let refused = play.engine.delete_thread(&other, play.thread).await;
    assert!(matches!(refused, Err(Error::ReadOnly(_))), "got {refused:?}");
    let refused = play.engine.stop(&other, run, Stop::Forget).await;
    assert!(matches!(refused, Err(Error::ReadOnly(_))), "got {refused:?}");
    let copy = play.engine.copy_thread(&other, play.thread, None).await.expect("it can be copied");
    assert_eq!(copy.owner.as_deref(), Some("key:eva"));
    let (forked, _) = play.engine.fork(&other, run, 1).await.expect("it can be forked");
    let forked = play.engine.thread(&other, forked).await.expect("the fork is theirs");
    assert_eq!(forked.owner.as_deref(), Some("key:eva"));
    share(false).await;
    is_hidden_from(&play, &other, run).await;
}

pub async fn a_thread_keeps_the_scope_that_it_began_with(subject: &dyn Subject) {
    let mut play = Play::begin(subject, "scope").await;
    let [legal, hr]: [Label; 2] = ["legal", "hr"].map(|name| name.parse().expect("a label"));
    let caller = play.scope.clone().for_caller("key:ana");
    play.scope = caller.clone().holding([legal.clone()]);
    let run = play.say("hello").await;
    play.ended(run).await;
    let share = ThreadUpdate { shared: Some(true), ..ThreadUpdate::default() };
    play.engine.update_thread(&play.scope, play.thread, share).await.expect("it can be shared");

    // Without the label nobody sees it: neither its owner, nor an admin, nor those with whom it is shared.
    is_hidden_from(&play, &caller, run).await;
    is_hidden_from(&play, &caller.clone().for_caller("key:root").with_all_threads(), run).await;
    let within = caller.within(["rules".parse().expect("a corpus")]).holding([legal.clone()]);
    is_hidden_from(&play, &within, run).await;

    // With more labels than it began with, a turn in it sees no more than before.
    play.scope = play.scope.holding([hr]);
    let run = play.say("again").await;
    assert_eq!(play.ended(run).await, RunStatus::Done);
    let state = play.engine.state(&play.scope, run, 0).await.expect("there is a state");
    assert_eq!(state["labels"], json!(["legal"]));
}

pub async fn a_caller_is_held_to_its_requests(subject: &dyn Subject) {
    let play = Play::begin(subject, "requests").await;
    let two = NonZeroU32::new(2).expect("it is not 0");
    let admitted =
        async |caller: &str| play.engine.admit_request(caller, two).await.expect("it can be counted");
    assert_eq!((admitted("ana").await, admitted("ana").await), (None, None));
    let wait = admitted("ana").await.expect("a third one has to wait");
    assert!(wait > Duration::from_secs(20) && wait <= Duration::from_secs(30), "got {wait:?}");
    assert_eq!(admitted("eva").await, None, "others have theirs");
}

pub async fn a_lease_is_kept_by_who_has_it(subject: &dyn Subject) {
    let play = Play::begin(subject, "lease").await;
    let minute = Duration::from_secs(60);
    for _ in 0..2 {
        assert!(play.engine.take_lease("maintenance", minute).await.expect("it can be asked for"));
    }
    play.engine.end_lease("maintenance").await.expect("it can be given back");
    assert!(play.engine.take_lease("maintenance", minute).await.expect("it can be asked for"));
    assert!(play.engine.check().await.is_ok());
}

pub async fn a_key_is_found_by_its_hash_until_it_is_deleted(subject: &dyn Subject) {
    let mut play = Play::begin(subject, "keys").await;
    let key = ApiKey {
        name: "desk".to_owned(),
        scope: play.scope.clone().holding(["legal".parse().expect("a label")]),
        role: AccessRole::Editor,
        per_minute: NonZeroU32::new(60),
        created_by: "terminal".to_owned(),
        created: SystemTime::UNIX_EPOCH,
        expires: Some(SystemTime::UNIX_EPOCH + Duration::from_secs(60)),
    };
    play.engine.add_api_key([1; 32], key.clone()).await.expect("it can be kept");
    let taken = play.engine.add_api_key([2; 32], key.clone()).await;
    assert!(matches!(taken, Err(Error::KeyExists(_))), "got {taken:?}");
    play.kill_and_reopen(1).await;
    assert_eq!(play.engine.api_key([1; 32]).await.expect("keys can be read"), Some(key.clone()));
    assert_eq!(play.engine.api_key([2; 32]).await.expect("keys can be read"), None);
    let listed = play.engine.api_keys(&play.scope).await.expect("keys can be listed");
    assert_eq!(listed, std::slice::from_ref(&key));
    let other = Scope::of("other".parse().expect("a tenant's name"));
    assert!(play.engine.api_keys(&other).await.expect("keys can be listed").is_empty());
    let refused = play.engine.delete_api_key(&other, "desk").await;
    assert!(matches!(refused, Err(Error::UnknownKey(_))), "got {refused:?}");
    play.engine.delete_api_key(&play.scope, "desk").await.expect("it can be deleted");
    assert_eq!(play.engine.api_key([1; 32]).await.expect("keys can be read"), None);
    let tenants = play.engine.api_key_tenants().await.expect("tenants can be listed");
    assert_eq!(tenants, [play.scope.tenant().clone()], "that there was one is not forgotten");
    let again = ApiKey { name: "desk".to_owned(), ..key };
    play.engine.add_api_key([3; 32], again).await.expect("its name is free again");
}
