//! The real model server with the real small model: what the protocol promises, never the model's cleverness.

use futures_util::StreamExt;
use ibid_core::model::{
    ChatModel, ChatPart, ChatRequest, Embedder, Finish, Prompt, Purpose, ToolChoice, ToolSpec, ask, ask_for,
};
use ibid_models::{Chat, ChatSettings, Provider, ProviderSettings, RemoteChat, RemoteEmbedder};
use ibid_testkit::RealServer;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::stage::caller;

fn real() -> Chat {
    let provider = Provider::new(ProviderSettings::new("real", &RealServer::chat().url()), None).unwrap();
    let mut settings = ChatSettings::new("small", "qwen2.5-coder-0.5b");
    settings.context_tokens = 4096;
    settings.max_output_tokens = Some(64);
    Chat::new(RemoteChat::new(provider, settings), Vec::new())
}

fn asking(text: &str) -> ChatRequest {
    let mut request = ChatRequest::new(caller(), vec![Prompt::User(text.to_owned())]);
    request.temperature = Some(0.0);
    request
}

#[tokio::test]
async fn an_answer_streams_and_its_usage_is_told() {
    let parts: Vec<ChatPart> =
        real().chat(asking("Count from one to five.")).await.unwrap().map(Result::unwrap).collect().await;
    let texts = parts.iter().filter(|part| matches!(part, ChatPart::Text(_))).count();
    assert!(texts > 3, "{texts} pieces");
    let Some(ChatPart::End { usage, .. }) = parts.last() else { panic!("{parts:?}") };
    assert!(usage.input_tokens > 5 && usage.output_tokens > 3 && !usage.estimated, "{usage:?}");
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Product {
    /// What it is called.
    name: String,
    kind: ModelKind,
    price: Option<u32>,
}

#[derive(Debug, Deserialize, JsonSchema)]
enum ModelKind {
    Lamp,
    Vehicle,
}

#[tokio::test]
async fn a_form_is_kept() {
    let (product, reply) =
        ask_for::<Product>(&real(), asking("Describe this product: an LED lamp for 12 dollars."))
            .await
            .unwrap();
    assert!(!product.name.is_empty() && matches!(product.kind, ModelKind::Lamp | ModelKind::Vehicle));
    assert!(product.price.is_none_or(|price| price < 1_000_000) && reply.finish == Finish::Stop);
}

#[tokio::test]
async fn a_tool_is_called_and_its_result_taken_up() {
    let parameters = json!({
        "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"]
    });
    let description = "Gives the weather in a city.".to_owned();
    let mut request = asking("What is the weather in Madrid?");
    request.tools = vec![ToolSpec { name: "get_weather".to_owned(), description, parameters }];
    request.tool_choice = ToolChoice::Required;
    let model = real();
    let first = ask(&model, request.clone()).await.unwrap();
    assert_eq!(first.finish, Finish::Tools, "{first:?}");
    let call = &first.calls[0];
    assert_eq!(call.name, "get_weather");
    assert!(call.arguments["city"].is_string(), "{call:?}");
    request.prompts.push(Prompt::Assistant { text: first.text.clone(), calls: first.calls.clone() });
    request.prompts.push(Prompt::Tool { call: call.id.clone(), text: "31 degrees and sunny".to_owned() });
    request.tool_choice = ToolChoice::None;
    let second = ask(&model, request).await.unwrap();
    assert!(second.calls.is_empty() && !second.text.is_empty(), "{second:?}");
}

#[tokio::test]
async fn embeddings_come_over_http() {
    let provider =
        Provider::new(ProviderSettings::new("real", &RealServer::embeddings().url()), None).unwrap();
    let embedder = RemoteEmbedder::new(provider, "qwen2.5-coder-0.5b", 896, Default::default());
    let texts = ["LED lamps", "lámparas LED", "a much longer text about something else entirely"];
    let vectors = embedder.embed(&caller(), Purpose::Passage, &texts).await.unwrap();
    assert_eq!((vectors.len(), vectors.dimensions()), (3, 896));
    for vector in vectors.iter() {
        let length: f32 = vector.iter().map(|value| value * value).sum();
        assert!((length - 1.0).abs() < 1e-4, "{length}");
    }
    let alone = embedder.embed(&caller(), Purpose::Passage, &texts[1..2]).await.unwrap();
    let cosine: f32 = alone.get(0).unwrap().iter().zip(vectors.get(1).unwrap()).map(|(a, b)| a * b).sum();
    assert!(cosine > 0.99, "a text has the same vector in any company: {cosine}");
}
