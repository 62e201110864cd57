//! What stands in the prompt where a provider lacks something: the tools, the form of the answer, and what was
//! wrong with the last one.

use ibid_core::model::{AnswerSchema, Prompt, ToolChoice, ToolSpec};
use serde_json::{Value, json};

const TOOLS: &str = include_str!("../../prompts/tools.md");
const SCHEMA: &str = include_str!("../../prompts/schema.md");
const REPAIR: &str = include_str!("../../prompts/repair.md");

/// The prompts with the tools described in them.
pub(super) fn with_tools(prompts: Vec<Prompt>, tools: &[ToolSpec], choice: &ToolChoice) -> Vec<Prompt> {
    let listed: Vec<String> = tools
        .iter()
        .map(|tool| format!("- {}: {} Arguments: {}", tool.name, tool.description, tool.parameters))
        .collect();
    let choice = match choice {
        ToolChoice::Auto | ToolChoice::None => "Call a tool only if it helps; otherwise answer.".to_owned(),
        ToolChoice::Required => "You must call a tool now.".to_owned(),
        ToolChoice::Named(name) => format!("You must call {name} now."),
    };
    let text = TOOLS.replace("{{tools}}", &listed.join("\n")).replace("{{choice}}", &choice);
    with_system(prompts, &text)
}

/// The prompts with the form of the answer described in them.
pub(super) fn with_schema(prompts: Vec<Prompt>, schema: &AnswerSchema) -> Vec<Prompt> {
    with_system(prompts, &SCHEMA.replace("{{schema}}", &schema.schema.to_string()))
}

/// What the model is told when its answer does not have the form.
pub(super) fn repair(reason: &str, schema: &AnswerSchema) -> Prompt {
    Prompt::User(
        REPAIR
            .replace("{{reason}}", reason)
            .replace("{{schema}}", &schema.schema.to_string())
            .trim()
            .to_owned(),
    )
}

/// Adds to the system prompt, or makes one.
fn with_system(mut prompts: Vec<Prompt>, text: &str) -> Vec<Prompt> {
    let text = text.trim();
    match prompts.first_mut() {
        Some(Prompt::System(system)) => {
            system.push_str("\n\n");
            system.push_str(text);
        }
        _ => prompts.insert(0, Prompt::System(text.to_owned())),
    }
    prompts
}

/// Calls and results as the model would have written and read them.
pub(super) fn as_text(prompts: Vec<Prompt>) -> Vec<Prompt> {
    prompts.into_iter().map(one_as_text).collect()
}

fn one_as_text(prompt: Prompt) -> Prompt {
    match prompt {
        Prompt::Assistant { mut text, calls } => {
            for call in calls {
                let call: Value = json!({ "name": call.name, "arguments": call.arguments });
                text.push_str(&format!("\n```json\n{call}\n```"));
            }
            Prompt::assistant(text.trim_start())
        }
        Prompt::Tool { text, .. } => Prompt::User(format!("The tool gave back:\n{text}")),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use ibid_core::model::ToolCall;

    use super::*;

    #[test]
    fn tools_and_forms_stand_in_the_prompt() {
        let tool = ToolSpec {
            name: "search".to_owned(),
            description: "Searches the documents.".to_owned(),
            parameters: json!({ "type": "object", "properties": { "query": { "type": "string" } } }),
        };
        let call =
            ToolCall { id: "1".to_owned(), name: "search".to_owned(), arguments: json!({ "query": "LED" }) };
        let prompts = vec![
            Prompt::System("Be exact.".to_owned()),
            Prompt::User("What is the rate?".to_owned()),
            Prompt::Assistant { text: String::new(), calls: vec![call] },
            Prompt::Tool { call: "1".to_owned(), text: "2 %".to_owned() },
        ];
        let schema = AnswerSchema { name: "answer".to_owned(), schema: json!({ "type": "string" }) };
        let mut shown = with_schema(with_tools(as_text(prompts), &[tool], &ToolChoice::Auto), &schema);
        shown.push(repair("it is a number", &schema));
        let shown: Vec<String> = shown
            .iter()
            .map(|prompt| match prompt {
                Prompt::System(text) => format!("SYSTEM\n{text}"),
                Prompt::User(text) => format!("USER\n{text}"),
                other => format!("ASSISTANT\n{}", other.text()),
            })
            .collect();
        insta::assert_snapshot!(shown.join("\n\n"));
    }
}
