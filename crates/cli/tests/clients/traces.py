"""Asks a server something and looks whether Phoenix, a reader of traces, was told the right tree.

usage: traces.py SERVER PHOENIX ASSISTANT PROTOCOL
"""

import sys
import time

import httpx

SERVER, PHOENIX, ASSISTANT, PROTOCOL = sys.argv[1:5]
TRACE = ("4bf92f3577b34da6a3ce929d0e0e4736" if PROTOCOL == "http" else "5bf92f3577b34da6a3ce929d0e0e4737")
PARENT = "00f067aa0b1902b7"

server = httpx.Client(base_url=SERVER, timeout=60, headers={"traceparent": f"00-{TRACE}-{PARENT}-01"})
thread = server.post("/threads", json={}).json()["thread_id"]


def ask(question):
    """Asks, and returns the id of the trace that the first event tells, and the run."""
    body = {"assistant_id": ASSISTANT, "input": {"messages": [{"role": "user", "content": question}]}}
    run = server.post(f"/threads/{thread}/runs", json=body).json()["run_id"]
    server.get(f"/threads/{thread}/runs/{run}/join")
    events = server.get(f"/threads/{thread}/runs/{run}/stream", params={"format": "ibid"}).text
    first = next(line for line in events.splitlines() if line.startswith("data: "))
    assert '"type":"started"' in first and TRACE in first, first
    return run


runs = [ask("What is the rate for LED lamps?"), ask("And for modules?")]
missing = server.get("/threads/00000000-0000-0000-0000-000000000000")
assert missing.status_code == 404 and missing.json()["trace_id"] == TRACE, missing.text
assert missing.headers["x-request-id"] == TRACE

phoenix = httpx.Client(base_url=PHOENIX, timeout=60)


def spans():
    found = phoenix.get("/v1/projects/default/spans", params={"limit": 1000, "trace_id": TRACE}).json()["data"]
    return [span for span in found if span["context"]["trace_id"] == TRACE]


def arrived(found):
    agents = [span for span in found if span["span_kind"] == "AGENT"]
    return len(agents) == 2


deadline = time.time() + 60
while not arrived(found := spans()):
    assert time.time() < deadline, [(span["name"], span["span_kind"]) for span in found]
    time.sleep(0.5)

by_id = {span["context"]["span_id"]: span for span in found}
up = lambda span: by_id.get(span["parent_id"])
only = lambda kind: [span for span in found if span["span_kind"] == kind]
attributes = lambda span: span["attributes"]

agents = only("AGENT")
assert {span["name"] for span in agents} == {f"invoke_agent {ASSISTANT}"}
for agent in agents:
    assert attributes(agent)["gen_ai.operation.name"] == "invoke_agent", agent
    assert attributes(agent)["gen_ai.conversation.id"] == thread, agent
    assert attributes(agent)["run"] in runs, agent
    request = up(agent)
    assert request["name"] == "POST /threads/{thread}/runs", request
    assert request["parent_id"] == PARENT, "the caller's span is the parent of the request's"

nodes = [span for span in only("CHAIN") if up(span) in agents]
names = {span["name"] for span in nodes}
assert {"retrieve", "generate", "verify"} <= names, names
chats = only("LLM")
assert len(chats) >= 3, "two answers, and what the second question means without the first"
for chat in chats:
    told = attributes(chat)
    assert chat["name"] == f"chat {told['gen_ai.request.model']}", chat
    assert told["gen_ai.operation.name"] == "chat"
    assert told["gen_ai.usage.input_tokens"] > 0 and told["gen_ai.usage.output_tokens"] > 0, told
    assert told["llm.token_count.prompt"] == told["gen_ai.usage.input_tokens"]
    assert up(chat) in nodes, up(chat)
    assert ("input.value" in told) == (PROTOCOL == "http"), "texts are told only where a setting allows it"
for span in found:
    if span not in chats:
        assert "gen_ai.usage.input_tokens" not in attributes(span), f"usage is told once: {span['name']}"

retrievals = only("RETRIEVER")
assert len(retrievals) == 2 and all(up(span)["name"] == "retrieve" for span in retrievals)
for retrieval in retrievals:
    told = attributes(retrieval)
    assert told["gen_ai.operation.name"] == "retrieval"
    assert '"score":' in told["gen_ai.retrieval.documents"], told
    assert "retrieval.documents.0.document.id" in told, told
embeddings = only("EMBEDDING")
assert embeddings and all(up(span) in retrievals for span in embeddings), [up(span)["name"] for span in embeddings]
guards = only("GUARDRAIL")
assert len(guards) == 2 and all(up(span)["name"] == "verify" for span in guards)
for guard in guards:
    verdicts = [event for event in guard["events"] if event["name"] == "gen_ai.evaluation.result"]
    assert verdicts and verdicts[0]["attributes"]["gen_ai.evaluation.name"] == "guard", guard["events"]

sessions = phoenix.get("/v1/projects/default/sessions").json()["data"]
session = next(session for session in sessions if session["session_id"] == thread)
assert session["traces"], session
print(f"{len(found)} spans over {PROTOCOL}")
