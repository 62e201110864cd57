//! Providers that lack something: it is found out once, and replaced from then on.

use ibid_core::model::{Prompt, ToolChoice, ToolSpec, ask, ask_for};
use ibid_testkit::{Reply, Script, ScriptedServer};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::stage::{model, question};

#[derive(Debug, Deserialize, JsonSchema)]
struct Yes {
    yes: bool,
}

#[tokio::test]
async fn tools_go_into_the_prompt_where_the_provider_has_none() {
    let script = Script::new()
        .when(|seen| seen.body.get("tools").is_some(), Reply::status(400, "tiny does not support tools"))
        .always(Reply::text("```json\n{\"name\": \"search\", \"arguments\": {\"query\": \"LED\"}}\n```"));
    let server = ScriptedServer::start(script).await;
    let model = model(&server);
    let mut request = question("find it");
    let parameters = json!({ "type": "object" });
    request.tools =
        vec![ToolSpec { name: "search".to_owned(), description: "Searches.".to_owned(), parameters }];
    for _ in 0..2 {
        let reply = ask(&model, request.clone()).await.unwrap();
        assert_eq!(reply.calls[0].arguments, json!({ "query": "LED" }));
    }
    let seen = server.seen();
    assert_eq!(seen.len(), 3, "it is found out once");
    assert!(seen[1].says("You can call tools"));
    // What was called before is shown as text, also when nothing may be called.
    let reply = ask(&model, request.clone()).await.unwrap();
    request.prompts.push(Prompt::Assistant { text: String::new(), calls: reply.calls.clone() });
    request.prompts.push(Prompt::Tool { call: reply.calls[0].id.clone(), text: "2 %".to_owned() });
    request.tool_choice = ToolChoice::None;
    ask(&model, request).await.unwrap();
    let last = &server.seen()[4].body["messages"];
    assert_eq!((&last[1]["role"], &last[2]["role"]), (&json!("assistant"), &json!("user")));
    assert!(last[1].get("tool_calls").is_none() && last[2]["content"].as_str().unwrap().contains("2 %"));
}

#[tokio::test]
async fn a_form_is_asked_for_in_json_mode_or_in_words_where_schemas_are_refused() {
    let script = Script::new()
        .when(
            |seen| seen.body["response_format"]["type"] == "json_schema",
            Reply::status(400, "response_format: json_schema is not supported"),
        )
        .when(
            |seen| seen.body["response_format"]["type"] == "json_object",
            Reply::status(422, "unknown field response_format"),
        )
        .always(Reply::text("{\"yes\": true}"));
    let server = ScriptedServer::start(script).await;
    let (answer, _) = ask_for::<Yes>(&model(&server), question("is it?")).await.unwrap();
    assert!(answer.yes);
    let seen = server.seen();
    assert_eq!(seen.len(), 3);
    assert!(seen[2].says("It must fit this JSON schema") && seen[2].body.get("response_format").is_none());
}

#[tokio::test]
async fn small_fields_that_a_provider_refuses_are_left_out() {
    let script = Script::new()
        .when(
            |seen| seen.body.get("stream_options").is_some(),
            Reply::status(400, "unknown argument: stream_options"),
        )
        .when(
            |seen| seen.body.get("temperature").is_some(),
            Reply::status(400, "temperature is not supported"),
        )
        .when(
            |seen| seen.body.get("max_tokens").is_some(),
            Reply::status(400, "Unsupported parameter: use 'max_completion_tokens' instead"),
        )
        .always(Reply::text("yes"));
    let server = ScriptedServer::start(script).await;
    let mut request = question("is it?");
    (request.temperature, request.max_output_tokens) = (Some(0.0), Some(10));
    let reply = ask(&model(&server), request).await.unwrap();
    assert!(reply.usage.estimated);
    assert_eq!(server.seen()[3].body["max_completion_tokens"], 10);
}
