//! Conversations move from a file to a database and back, finished and unfinished ones, and go on there.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use ibid_core::{AccessRole, ThreadId};
use ibid_engine::{
    ApiKey, Engine, Feedback, FileKind, LocalEngine, PostgresEngine, RunSettings, RunStatus,
    copy_from_postgres, copy_to_postgres,
};
use ibid_testkit::RealPostgres;
use serde_json::json;

use crate::postgres::settings;
use crate::shared::{Stage, conversation, events, open, say, scope, until_ended};

async fn local(stage: &Arc<Stage>, file: &std::path::Path) -> LocalEngine {
    LocalEngine::open(file, stage.graphs(), RunSettings::default()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn conversations_move_to_a_database_and_back() {
    let folder = tempfile::tempdir().unwrap();
    let (file, back) = (folder.path().join("engine.db"), folder.path().join("back.db"));
    let stage = Stage::new();
    stage.gate.add_permits(100);
    let engine = local(&stage, &file).await;
    let (talked, asking) = (ThreadId::new(), ThreadId::new());
    let first = say(&engine, talked, "first \0 words").await;
    assert_eq!(until_ended(&engine, first).await, RunStatus::Done);
    let rating = Feedback {
        score: 1,
        comment: "good".to_owned(),
        created: SystemTime::UNIX_EPOCH,
        author: "ana".to_owned(),
    };
    engine.add_feedback(&scope(), first, rating).await.unwrap();
    engine.put_dataset_item(&scope(), "set", "one", json!({ "question": "?" })).await.unwrap();
    let key = ApiKey {
        name: "desk".to_owned(),
        scope: scope(),
        role: AccessRole::Reader,
        per_minute: None,
        created_by: "terminal".to_owned(),
        created: SystemTime::UNIX_EPOCH,
        expires: None,
    };
    engine.add_api_key([7; 32], key.clone()).await.unwrap();
    for number in 0..120 {
        let run = say(&engine, ThreadId::new(), &format!("turn {number}")).await;
        assert_eq!(until_ended(&engine, run).await, RunStatus::Done);
    }
    let waiting = say(&engine, asking, "ask").await;
    while engine.run(&scope(), waiting).await.unwrap().status != RunStatus::Waiting {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let told = events(&engine, first, 0).await;
    engine.shutdown(Duration::from_secs(5)).await;

    let url = RealPostgres::get().database();
    let idle = ibid_engine::PostgresSettings { works: false, ..settings(url.clone()) };
    let shared = PostgresEngine::open(stage.graphs(), idle).await.unwrap();
    let copied = copy_to_postgres(&file, FileKind::Turns, &shared).await.unwrap();
    let rows = |name: &str| copied.rows().find(|(table, _)| *table == name).unwrap().1;
    assert_eq!((rows("threads"), rows("runs"), rows("messages")), (122, 122, 243));
    assert_eq!((rows("ratings"), rows("keys"), rows("questions of datasets")), (1, 1, 1));
    let again = copy_to_postgres(&file, FileKind::Turns, &shared).await;
    assert!(again.unwrap_err().to_string().contains("something already"), "nothing is copied over");
    shared.shutdown(Duration::from_secs(1)).await;

    let shared = open(&stage, settings(url)).await;
    assert_eq!(events(&shared, first, 0).await, told, "what was told is told again");
    assert_eq!(shared.api_key([7; 32]).await.unwrap(), Some(key));
    shared.resume(&scope(), waiting, json!(true)).await.unwrap();
    assert_eq!(until_ended(&shared, waiting).await, RunStatus::Done);
    assert_eq!(stage.performed("ask"), ["hear", "work", "close"], "no step ran twice");
    let second = say(&shared, talked, "second").await;
    assert_eq!(until_ended(&shared, second).await, RunStatus::Done);
    let said = conversation(&shared, talked).await;
    assert_eq!(said.len(), 4);

    let returned = copy_from_postgres(&shared, &back, FileKind::Turns).await.unwrap();
    assert!(returned.rows().any(|row| row == ("messages", 246)), "{returned:?}");
    shared.shutdown(Duration::from_secs(1)).await;
    let engine = local(&stage, &back).await;
    assert_eq!(conversation(&engine, talked).await, said);
    assert_eq!(engine.feedback(&scope(), first).await.unwrap().len(), 1);
    engine.shutdown(Duration::from_secs(1)).await;
}
