// LangGraph's published JavaScript client, unmodified, against `ibid serve`.
//
// usage: node langgraph_client.mjs URL ASSISTANT, from a folder with the client in node_modules
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { createRequire } from "node:module";

const [url, assistant] = process.argv.slice(2);
// With MODEL=real, a real model answers, which may cite or not and says it differently every time.
const scripted = process.env.MODEL !== "real";
const require = createRequire(`${process.cwd()}/`);
const { Client } = require("@langchain/langgraph-sdk");

const client = new Client({ apiUrl: url, apiKey: null, callerOptions: { maxRetries: 0 } });
const question = { messages: [{ type: "human", content: "What is the rate for 8539.52.00?" }] };
const gather = async (stream) => {
  const parts = [];
  for await (const part of stream) parts.push(part);
  return parts;
};
const refused = (call, status) => assert.rejects(call, (error) => error.status === status);
const begin = async () => (await client.threads.create()).thread_id;

const parts = {
  async assistants() {
    const page = await client.assistants.search({ limit: 1, includePagination: true });
    assert.equal(page.assistants.length, 1);
    assert.equal(page.next, "1");
    assert.equal((await client.assistants.get(assistant)).graph_id, assistant);
    const { nodes, edges } = await client.assistants.getGraph(assistant);
    assert.ok(nodes.length > 3 && edges.length > 2);
    assert.ok((await client.assistants.getSchemas(assistant)).input_schema);
    assert.deepEqual(await client.assistants.getSubgraphs(assistant), {});
    assert.equal(await client.assistants.count({ graphId: assistant }), 1);
  },

  async threads() {
    const [threadId, tag] = [randomUUID(), randomUUID()];
    const made = await client.threads.create({ threadId, metadata: { tag } });
    assert.equal(made.thread_id, threadId);
    await refused(client.threads.create({ threadId }), 409);
    assert.equal((await client.threads.create({ threadId, ifExists: "do_nothing" })).thread_id, threadId);
    assert.equal((await client.threads.update(threadId, { metadata: { x: 1 } })).metadata.x, 1);
    assert.equal((await client.threads.getState(threadId)).checkpoint ?? null, null);
    const found = await client.threads.search({ metadata: { tag }, sortBy: "created_at", sortOrder: "desc" });
    assert.deepEqual(found.map((thread) => thread.thread_id), [threadId]);
    assert.equal(await client.threads.count({ metadata: { tag } }), 1);
    await client.threads.delete(threadId);
    await refused(client.threads.get(threadId), 404);
  },

  async streams() {
    const thread = await begin();
    let begun;
    const streamMode = ["values", "updates", "messages-tuple", "events", "custom", "debug", "tasks", "checkpoints"];
    const onRunCreated = (run) => (begun = run);
    const all = await gather(client.runs.stream(thread, assistant, { input: question, streamMode, streamResumable: true, onRunCreated }));
    assert.equal(begun.thread_id, thread);
    assert.equal(all[0].event, "metadata");
    assert.equal(all[0].data.run_id, begun.run_id);
    const kinds = new Set(all.map((part) => part.event));
    assert.deepEqual([...kinds].sort(), ["checkpoints", "custom", "debug", "events", "messages", "metadata", "tasks", "updates", "values"]);
    const said = all.filter((part) => part.event === "values").at(-1).data.messages.at(-1);
    const pieces = all.filter((part) => part.event === "messages").map((part) => part.data[0]);
    const last = pieces.filter((piece) => piece.id === pieces.at(-1).id);
    assert.equal(last.map((piece) => piece.content).join("").trim(), said.content.trim());
    assert.ok(!scripted || said.additional_kwargs.citations.length > 0);
    const rest = await gather(client.runs.joinStream(thread, begun.run_id, { lastEventId: all[3].id }));
    assert.deepEqual(rest.filter((part) => part.event), all.slice(4).filter((part) => part.event));
    const some = await gather(client.runs.joinStream(thread, begun.run_id, { lastEventId: "-1", streamMode: ["values", "updates"] }));
    assert.ok(some.every((part) => ["metadata", "values", "updates", ""].includes(part.event)));
    const heard = await gather(client.runs.stream(thread, assistant, { input: question, streamMode: "messages" }));
    assert.ok(heard.some((part) => part.event === "messages/partial"));
    const whole = await gather(client.runs.stream(thread, assistant, { input: question, streamMode: [] }));
    assert.equal(whole.at(-1).data.messages.length, 6);
  },

  async runs() {
    const thread = await begin();
    const made = await client.runs.create(thread, assistant, { input: question, metadata: { who: "ana" } });
    assert.equal((await client.runs.join(thread, made.run_id)).messages.at(-1).type, "ai");
    assert.equal((await client.runs.get(thread, made.run_id)).status, "success");
    assert.equal((await client.runs.wait(thread, assistant, { input: question })).messages.length, 4);
    const listed = await client.runs.list(thread, { limit: 1, status: "success", select: ["run_id", "status"] });
    assert.deepEqual(Object.keys(listed[0]).sort(), ["run_id", "status"]);
    await client.runs.delete(thread, made.run_id);
    await refused(client.runs.get(thread, made.run_id), 404);
    const first = await client.runs.create(thread, assistant, { input: question });
    await refused(client.runs.create(thread, assistant, { input: question, multitaskStrategy: "reject" }), 409);
    const second = await client.runs.create(thread, assistant, { input: question });
    await client.runs.cancel(thread, second.run_id);
    assert.equal((await client.runs.get(thread, second.run_id)).status, "interrupted");
    await client.runs.cancel(thread, first.run_id, true, "rollback");
    await refused(client.runs.get(thread, first.run_id), 404);
  },

  async states() {
    const thread = await begin();
    await client.runs.wait(thread, assistant, { input: question });
    const state = await client.threads.getState(thread);
    const history = await client.threads.getHistory(thread, { limit: 4 });
    assert.deepEqual(history[0].checkpoint, state.checkpoint);
    const before = { configurable: { checkpoint_id: history[0].checkpoint.checkpoint_id } };
    assert.deepEqual((await client.threads.getHistory(thread, { limit: 1, before }))[0].checkpoint, history[1].checkpoint);
    assert.deepEqual(await client.threads.getState(thread, history[1].checkpoint), history[1]);
    await client.threads.updateState(thread, { values: { messages: [{ type: "human", content: "by the way" }] } });
    assert.equal((await client.threads.getState(thread)).values.messages.at(-1).content, "by the way");
    const copy = await client.threads.copy(thread);
    assert.notEqual(copy.thread_id, thread);
    assert.equal((await client.threads.getState(copy.thread_id)).values.messages.length, 3);
  },

  async questions() {
    const thread = await begin();
    const asked = await client.runs.wait(thread, "rehearsal", { input: { messages: [{ type: "human", content: "?" }] } });
    assert.equal(asked.__interrupt__[0].value, "What shall I repeat?");
    assert.equal((await client.threads.get(thread)).status, "interrupted");
    const answered = await client.runs.wait(thread, "rehearsal", { command: { resume: "this" } });
    assert.equal(answered.messages.at(-1).content, "this");
    assert.equal(answered.__interrupt__, undefined);
  },

  async alone() {
    const streamed = await gather(client.runs.stream(null, assistant, { input: question }));
    assert.equal(streamed.at(-1).data.messages.length, 2);
    assert.equal((await client.runs.wait(null, assistant, { input: question })).messages.length, 2);
    assert.ok((await client.runs.create(null, assistant, { input: question })).run_id);
    const batch = await client.runs.createBatch([{ assistantId: assistant, input: question }, { assistantId: assistant, input: question }]);
    assert.equal(batch.length, 2);
  },
};

for (const [name, part] of Object.entries(parts)) {
  await part();
  console.log(name, "ok");
}
