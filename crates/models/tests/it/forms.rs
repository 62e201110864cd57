//! Answers that must have a form: enforced where the provider can, checked always, mended once.

use ibid_core::model::{ModelError, ask_for};
use ibid_testkit::{Reply, Script, ScriptedServer};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::stage::{model, question};

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Rate {
    /// Percent of the value.
    #[schemars(range(min = 0, max = 100))]
    percent: u32,
    heading: String,
}

#[tokio::test]
async fn a_rust_type_is_the_form_and_the_answer() {
    let server =
        ScriptedServer::start(Script::new().always(Reply::text(r#"{"percent": 2, "heading": "8539"}"#)))
            .await;
    let (rate, reply) = ask_for::<Rate>(&model(&server), question("what is the rate?")).await.unwrap();
    assert_eq!(rate, Rate { percent: 2, heading: "8539".to_owned() });
    assert_eq!(reply.usage.input_tokens, 7);
    let format = &server.seen()[0].body["response_format"];
    assert_eq!((&format["type"], &format["json_schema"]["name"]), (&json!("json_schema"), &json!("Rate")));
    assert_eq!(format["json_schema"]["schema"]["required"], json!(["percent", "heading"]));
}

#[tokio::test]
async fn a_wrong_form_is_told_to_the_model_once_and_the_mended_answer_counts() {
    for wrong in
        [r#"{"percent": "two"}"#, r#"{"percent": 200, "heading": "8539"}"#, "two percent", r#"{"percent": 2"#]
    {
        let right = "```json\n{\"percent\": 2, \"heading\": \"8539\"}\n```";
        let script = Script::new().once(Reply::text(wrong)).always(Reply::text(right));
        let server = ScriptedServer::start(script).await;
        let (rate, reply) = ask_for::<Rate>(&model(&server), question("what is the rate?")).await.unwrap();
        assert_eq!(rate.percent, 2);
        assert_eq!(reply.text, r#"{"percent": 2, "heading": "8539"}"#, "what stood around it is gone");
        assert_eq!(reply.usage.input_tokens, 14, "both rounds are counted");
        let seen = server.seen();
        let messages = seen[1].body["messages"].as_array().unwrap();
        assert_eq!(messages[1], json!({ "role": "assistant", "content": wrong }));
        assert!(messages[2]["content"].as_str().unwrap().contains("does not have the form"));
    }
}

#[tokio::test]
async fn a_form_that_stays_wrong_is_an_error_that_says_what_is_wrong() {
    let server =
        ScriptedServer::start(Script::new().always(Reply::text(r#"{"percent": -1, "heading": "x"}"#))).await;
    let error = ask_for::<Rate>(&model(&server), question("?")).await.unwrap_err();
    assert!(matches!(&error, ModelError::Form { reason, .. } if reason.contains("-1")), "{error}");
    assert_eq!(server.seen().len(), 2);
}
