//! Streaming, tool calls, usage, reasoning, and what goes wrong on the way.

use futures_util::StreamExt;
use ibid_core::model::{ChatModel, ChatPart, Finish, ModelError, Prompt, ToolCall, ToolSpec, ask};
use ibid_testkit::{Reply, Script, ScriptedServer};
use serde_json::json;

use crate::stage::{model, model_of, ms, provider, question, reply};

#[tokio::test]
async fn an_answer_comes_in_pieces_with_its_usage_at_the_end() {
    let server = ScriptedServer::start(Script::new().always(Reply::text("the rate is 2 %"))).await;
    let model = model(&server);
    let parts: Vec<ChatPart> =
        model.chat(question("what is the rate?")).await.unwrap().map(Result::unwrap).collect().await;
    let texts: Vec<&str> = parts
        .iter()
        .filter_map(|part| if let ChatPart::Text(text) = part { Some(text.as_str()) } else { None })
        .collect();
    assert_eq!(texts, ["the ", "rate ", "is ", "2 ", "%"]);
    let Some(ChatPart::End { finish: Finish::Stop, usage, model }) = parts.last() else {
        panic!("{parts:?}")
    };
    assert_eq!((usage.input_tokens, usage.output_tokens, usage.estimated), (7, 5, false));
    assert_eq!(model, "test");
    let sent = &server.seen()[0].body;
    assert_eq!(sent["messages"], json!([{ "role": "user", "content": "what is the rate?" }]));
    assert_eq!((&sent["stream"], &sent["stream_options"]["include_usage"]), (&json!(true), &json!(true)));
}

#[tokio::test]
async fn several_tool_calls_in_pieces_are_put_together_and_their_results_sent_back() {
    let calls = [("search", json!({ "query": "LED lamps" })), ("add", json!({ "a": 1, "b": [2, 3] }))];
    let script = Script::new()
        .when(|seen| seen.says("tool_call_id"), Reply::text("done"))
        .always(Reply::calls(&calls));
    let server = ScriptedServer::start(script).await;
    let model = model(&server);
    let tool = |name: &str| ToolSpec {
        name: name.to_owned(),
        description: format!("Does {name}."),
        parameters: json!({ "type": "object" }),
    };
    let mut request = question("find and add");
    request.tools = vec![tool("search"), tool("add")];
    let first = ask(&model, request.clone()).await.unwrap();
    assert_eq!(first.finish, Finish::Tools);
    let got: Vec<(&str, _)> =
        first.calls.iter().map(|call| (call.name.as_str(), call.arguments.clone())).collect();
    assert_eq!(got, calls);
    let results =
        first.calls.iter().map(|call| Prompt::Tool { call: call.id.clone(), text: "ok".to_owned() });
    request.prompts.push(Prompt::Assistant { text: String::new(), calls: first.calls.clone() });
    request.prompts.extend(results);
    assert_eq!(ask(&model, request).await.unwrap().text, "done");
    let sent = &server.seen()[1].body["messages"];
    assert_eq!(sent[1]["tool_calls"][1]["function"]["arguments"], json!("{\"a\":1,\"b\":[2,3]}"));
    assert_eq!((&sent[2]["tool_call_id"], &sent[3]["role"]), (&json!("call_0"), &json!("tool")));
}

#[tokio::test]
async fn a_call_that_a_small_model_wrote_as_a_block_is_a_call() {
    let written = "```json\n{\"name\": \"search\", \"arguments\": {\"query\": \"LED\"}}\n```";
    let server = ScriptedServer::start(Script::new().always(Reply::text(written))).await;
    let mut request = question("find it");
    let parameters = json!({ "type": "object" });
    request.tools = vec![ToolSpec { name: "search".to_owned(), description: String::new(), parameters }];
    let reply = ask(&model(&server), request).await.unwrap();
    assert!(matches!(&reply.calls[..], [ToolCall { name, .. }] if name == "search"), "{reply:?}");
    assert_eq!((reply.text.as_str(), reply.finish), ("", Finish::Tools));
}

#[tokio::test]
async fn thinking_is_no_part_of_the_answer() {
    let deltas = [
        json!({ "reasoning_content": "let me " }),
        json!({ "reasoning_content": "see" }),
        json!({ "content": "2 %" }),
    ];
    let server = ScriptedServer::start(Script::new().always(Reply::deltas(deltas, "stop"))).await;
    let reply = reply(&model(&server), "?").await.unwrap();
    assert_eq!((reply.reasoning.as_str(), reply.text.as_str()), ("let me see", "2 %"));
}

#[tokio::test]
async fn a_provider_that_does_not_stream_and_does_not_count_is_understood() {
    let whole = json!({ "choices": [{ "message": { "content": "two percent" }, "finish_reason": "stop" }] });
    let server = ScriptedServer::start(Script::new().always(Reply::json(whole))).await;
    let reply = reply(&model(&server), "?").await.unwrap();
    assert_eq!(reply.text, "two percent");
    assert!(reply.usage.estimated && reply.usage.total() > 0);
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_an_error_and_no_answer() {
    let one = r#"data: {"choices":[{"delta":{"content":"one "}}]}"#;
    let failure = r#"data: {"error":{"message":"out of memory"}}"#;
    for (script, tries) in [
        (Reply::text("one two three").every(ms(20)).cut_after(2), 1),
        (Reply::raw(&format!("{one}\n\n")), 1),
        // These come in one piece, so that nothing was passed on yet.
        (Reply::raw(&format!("{one}\n\ndata: {{broken\n\n")), 2),
        (Reply::raw(&format!("{one}\n\n{failure}\n\n")), 2),
        (Reply::raw("<html>not a model</html>"), 2),
    ] {
        let server = ScriptedServer::start(Script::new().always(script.clone())).await;
        let mut settings = provider(&server.url());
        settings.governor.attempts = 2;
        settings.governor.backoff = ms(1);
        let outcome = reply(&model_of(settings), "?").await;
        assert!(outcome.is_err(), "{script:?}: {outcome:?}");
        assert_eq!(
            server.seen().len(),
            tries,
            "nothing is tried again after a token was passed on: {script:?}"
        );
    }
}

#[tokio::test]
async fn an_answer_that_is_complete_stands_however_the_connection_ends() {
    // After the last word and the reason to stop, but before the usage and the mark of the end.
    for fate in [Reply::cut_after, Reply::stall_after] {
        let said = fate(Reply::text("two percent").every(ms(20)), 4);
        let server = ScriptedServer::start(Script::new().always(said)).await;
        let mut settings = provider(&server.url());
        settings.limits.between_tokens = ms(200);
        let reply = reply(&model_of(settings), "?").await.unwrap();
        assert_eq!((reply.text.as_str(), reply.finish), ("two percent", Finish::Stop));
    }
}

#[tokio::test]
async fn what_came_before_a_cut_is_passed_on_and_connections_are_used_again() {
    let held = Reply::text("see: ```json {\"half\": 1, ").every(ms(10)).cut_after(4);
    let server = ScriptedServer::start(Script::new().always(held)).await;
    let mut request = question("?");
    let parameters = json!({ "type": "object" });
    request.tools = vec![ToolSpec { name: "search".to_owned(), description: String::new(), parameters }];
    let parts: Vec<_> = model(&server).chat(request).await.unwrap().collect().await;
    let text: String = parts
        .iter()
        .filter_map(|part| if let Ok(ChatPart::Text(text)) = part { Some(text.as_str()) } else { None })
        .collect();
    assert!(text.starts_with("see: ```json {\"half\":"), "{text}");
    assert!(parts.last().unwrap().is_err());

    let server = ScriptedServer::start(Script::new().always(Reply::text("yes it is"))).await;
    let model = model(&server);
    for _ in 0..10 {
        reply(&model, "?").await.unwrap();
        tokio::time::sleep(ms(20)).await;
    }
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn time_limits_hold_for_the_first_token_and_between_tokens() {
    let check = async |reply: Reply, expected: &str| {
        let server = ScriptedServer::start(Script::new().always(reply)).await;
        let mut settings = provider(&server.url());
        settings.governor.attempts = 1;
        settings.limits.first_token = ms(150);
        settings.limits.between_tokens = ms(150);
        let error = crate::stage::reply(&model_of(settings), "?").await.unwrap_err();
        let ModelError::TimeLimit { waiting_for, .. } = &error else { panic!("{error}") };
        assert_eq!(*waiting_for, expected);
    };
    check(Reply::stalled(), "to begin its answer").await;
    check(Reply::text("one two three").stall_after(0), "to begin its answer").await;
    check(Reply::text("one two three").stall_after(2), "to go on with its answer").await;
    // Signs of life that say nothing are no answer.
    let alive = std::iter::repeat_n(": still here\n\n", 200);
    let one = "data: {\"choices\":[{\"delta\":{\"content\":\"one \"}}]}\n\n";
    let pieces: Vec<&str> = std::iter::once(one).chain(alive).collect();
    check(Reply::pieces_of(&pieces).every(ms(20)), "to go on with its answer").await;
}

#[tokio::test]
async fn the_oldest_history_is_left_out_where_the_context_is_small() {
    let server = ScriptedServer::start(Script::new().always(Reply::text("yes"))).await;
    let provider = ibid_models::Provider::new(provider(&server.url()), None).unwrap();
    let mut settings = ibid_models::ChatSettings::new("small", "tiny");
    settings.context_tokens = 400;
    settings.max_output_tokens = Some(100);
    let model = ibid_models::Chat::new(ibid_models::RemoteChat::new(provider, settings), Vec::new());
    let mut request = question("the question");
    let said = |turn: usize| {
        [Prompt::User(format!("why {turn}?")), Prompt::assistant(format!("said in turn {turn}"))]
    };
    let history = (0..50).flat_map(said);
    request.prompts.splice(0..0, std::iter::once(Prompt::System("rules".to_owned())).chain(history));
    ask(&model, request.clone()).await.unwrap();
    let seen = server.seen();
    let sent = seen[0].body["messages"].as_array().unwrap();
    assert_eq!(
        (&sent[0]["content"], &sent[sent.len() - 1]["content"]),
        (&json!("rules"), &json!("the question"))
    );
    assert!((10..40).contains(&sent.len()), "{} were sent", sent.len());
    assert!(seen[0].says("in turn 49") && !seen[0].says("in turn 3\""));
    assert_eq!(seen[0].body["max_tokens"], 100);
    request.prompts.push(Prompt::User("word ".repeat(1000)));
    assert!(matches!(ask(&model, request).await, Err(ModelError::TooLong { .. })));
    assert_eq!(server.seen().len(), 1, "what cannot fit is not sent");
}
