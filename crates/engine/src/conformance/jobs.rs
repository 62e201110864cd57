//! Jobs: they run one after the other in their queue, keep their result, and survive a kill.

use ibid_core::{QueueId, RunId};
use serde_json::json;

use super::{Play, Subject};
use crate::{Error, NewJob, RunStatus, Stop};

async fn submit(play: &Play<'_>, queue: QueueId, request: &str) -> RunId {
    let job = NewJob { queue, graph: "work".to_owned(), request: json!(request) };
    play.engine.submit_job(&play.scope, job).await.expect("the job is taken")
}

pub async fn a_job_keeps_its_request_and_its_result(subject: &dyn Subject) {
    let play = Play::begin(subject, "job").await;
    let run = submit(&play, QueueId::new(), "hello").await;
    assert_eq!(play.ended(run).await, RunStatus::Done);
    let job = play.engine.job(&play.scope, run).await.expect("the job is known");
    assert_eq!((job.request, job.result), (json!("hello"), Some(json!("heard hello after 0"))));
    let refused = play.engine.submit_job(
        &play.scope,
        NewJob { queue: QueueId::new(), graph: "nothing".to_owned(), request: json!(1) },
    );
    let refused = refused.await;
    assert!(matches!(refused, Err(Error::UnknownAssistant(_))), "got {refused:?}");
}

pub async fn jobs_of_a_queue_run_one_after_the_other(subject: &dyn Subject) {
    let play = Play::begin(subject, "queue").await;
    let queue = QueueId::new();
    let (first, second) = (submit(&play, queue, "wait").await, submit(&play, queue, "hello").await);
    play.speaking(first).await;
    let jobs = play.engine.jobs(&play.scope, queue).await.expect("the queue is known");
    let stand: Vec<_> = jobs.iter().map(|job| (job.id, job.status)).collect();
    assert_eq!(stand, [(first, RunStatus::Running), (second, RunStatus::Queued)]);
    assert_eq!(play.engine.unfinished_jobs().await.expect("they are listed").len(), 2);
    play.engine.stop(&play.scope, first, Stop::Keep).await.expect("it can be stopped");
    assert_eq!(play.ended(first).await, RunStatus::Stopped);
    assert_eq!(play.ended(second).await, RunStatus::Done);
    let kept = play.engine.job(&play.scope, first).await.expect("the job is known").result;
    assert_eq!(kept, Some(json!("first words")), "a stopped job keeps what it has");
}

pub async fn a_killed_job_goes_on_without_a_finished_step(subject: &dyn Subject) {
    let mut play = Play::begin(subject, "killed-job").await;
    let run = submit(&play, QueueId::new(), "wait").await;
    play.speaking(run).await;
    play.kill_and_reopen(1).await;
    play.stage.let_one_go_on();
    assert_eq!(play.ended(run).await, RunStatus::Done);
    assert_eq!(play.stage.performed(run), ["hear", "think", "think", "close"]);
}

pub async fn a_deleted_queue_leaves_nothing(subject: &dyn Subject) {
    let play = Play::begin(subject, "deleted-queue").await;
    let queue = QueueId::new();
    let run = submit(&play, queue, "wait").await;
    play.speaking(run).await;
    play.engine.delete_jobs(&play.scope, queue).await.expect("it can be deleted");
    assert!(play.engine.jobs(&play.scope, queue).await.expect("it is empty").is_empty());
    let gone = play.engine.job(&play.scope, run).await;
    assert!(matches!(gone, Err(Error::UnknownRun(_))), "got {gone:?}");
    play.engine.delete_jobs(&play.scope, queue).await.expect("deleting twice does no harm");
}
