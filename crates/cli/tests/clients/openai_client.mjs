// OpenAI's published JavaScript client, unmodified, against `ibid serve`.
//
// usage: node openai_client.mjs URL ASSISTANT, from a folder with the client in node_modules
import assert from "node:assert/strict";
import { createRequire } from "node:module";

const [url, assistant] = process.argv.slice(2);
// With MODEL=real, a real model answers, which may cite or not and says it differently every time.
const scripted = process.env.MODEL !== "real";
const same = (one, other) => (scripted ? assert.equal(one, other) : assert.ok(one && other));
const require = createRequire(`${process.cwd()}/`);
const { OpenAI } = require("openai");

const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "none", maxRetries: 0 });
const messages = [{ role: "user", content: "What is the rate for 8539.52.00?" }];

const names = [];
for await (const model of client.models.list()) names.push(model.id);
assert.ok(names.includes(assistant));

const said = await client.chat.completions.create({ model: assistant, messages });
const text = said.choices[0].message.content;
assert.ok(text && said.usage.total_tokens > 0 && (!scripted || said.citations[0].page));
let heard = "";
for await (const part of await client.chat.completions.create({ model: assistant, messages, stream: true })) {
  heard += part.choices[0]?.delta?.content ?? "";
}
same(heard, text);
const helped = await client.chat.completions.stream({ model: assistant, messages }).finalChatCompletion();
same(helped.choices[0].message.content, text);
await assert.rejects(client.chat.completions.create({ model: "nobody", messages }), (error) => error.status === 404);

const response = await client.responses.create({ model: assistant, input: messages[0].content });
same(response.output_text, text);
const streamed = await client.responses.stream({ model: assistant, input: messages[0].content }).finalResponse();
same(streamed.output_text, text);
const next = await client.responses.create({ model: assistant, input: "And why?", previous_response_id: response.id });
const roles = [];
for await (const item of client.responses.inputItems.list(next.id)) roles.push(item.role);
assert.deepEqual(roles, ["user", "assistant", "user"]);
console.log("ok");
