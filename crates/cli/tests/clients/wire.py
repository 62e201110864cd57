"""Records what the server sends to clients of LangGraph, OpenAI and MCP, byte by byte but for ids, times and scores, and for
how many pieces the words of an answer come in.

usage: wire.py BINARY FOLDER OUT
FOLDER has an ibid.toml with an embedding model; a document and a scripted chat model are added here. OUT gets one file for
each request. A file that is there already is compared and not written: any difference fails.
"""

import json
import re
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx

BINARY, FOLDER, OUT = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
DOCUMENT = """# Chapter 85 extract

## Lamps

The rates of duty for lamps are given in this table.

| Code | Article | General | Column 2 |
|---|---|---|---|
| 8539.51.00 | Light-emitting diode (LED) modules | Free | 35% |
| 8539.52.00 | Light-emitting diode (LED) lamps | 2% | 20% |
"""
ANSWERS = {
    "structured": '{"answer": "The rate is 2% [1].", "citations": [{"source": 1, "quote": "8539.52.00"}], '
    '"confidence": "high", "follow_up_questions": ["And for modules?"]}',
    "condense": "What is the general rate for 8539.51.00?",
    "text": 'The rate for "Light-emitting diode (LED) lamps" is 2% [1].',
}


class Model(BaseHTTPRequestHandler):
    """A chat model that answers from the document, a word at a time."""

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.send(json.dumps({"object": "list", "data": [{"id": "scripted"}]}).encode())

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        shown = json.dumps(body["messages"])
        kind = "structured" if body.get("response_format") else "condense" if "without the conversation" in shown else "text"
        words = re.findall(r"\S+\s*", ANSWERS[kind])
        usage = {"prompt_tokens": 50, "completion_tokens": len(words), "total_tokens": 50 + len(words)}
        if not body.get("stream"):
            message = {"role": "assistant", "content": ANSWERS[kind]}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            return self.send(json.dumps({"choices": [choice], "usage": usage}).encode())
        chunks = [{"choices": [{"index": 0, "delta": {"content": word}}]} for word in words]
        chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        chunks.append({"choices": [], "usage": usage})
        text = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
        self.send(text.encode(), "text/event-stream")

    def send(self, body, kind="application/json"):
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


model = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=model.serve_forever, daemon=True).start()
config = (FOLDER / "ibid.toml").read_text()
config += f'\n[providers.scripted]\nbase_url = "http://127.0.0.1:{model.server_address[1]}/v1"\n'
config += '[models.answer]\nprovider = "scripted"\nmodel = "scripted"\ncontext = 16384\n'
(FOLDER / "ibid.toml").write_text(config)
(FOLDER / "Chapter_85.md").write_text(DOCUMENT)
subprocess.run([BINARY, "ingest", "Chapter_85.md", "--assistant", "trade-compliance"], cwd=FOLDER, check=True, capture_output=True)
server = subprocess.Popen([BINARY, "serve", "--address", "127.0.0.1:0"], cwd=FOLDER, stderr=subprocess.PIPE, text=True)
for line in server.stderr:
    if found := re.search(r"listens on (http://\S+?);", line):
        client = httpx.Client(base_url=found[1], timeout=30)
        break
else:
    raise SystemExit("the server does not start")
threading.Thread(target=server.stderr.read, daemon=True).start()

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
names: dict[str, str] = {}


def plain(text):
    """The same for every run: ids by the order in which they appear, and no times, scores or lengths of time."""
    text = UUID.sub(lambda id: names.setdefault(id[0], f"<id-{len(names) + 1}>"), text)
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "<time>", text)
    text = re.sub(r'"(created|created_at|completed_at)":\d+', r'"\1":"<time>"', text)
    text = re.sub(r'"score":[0-9.e-]+', '"score":"<score>"', text)
    text = re.sub(r'"milliseconds":\d+', '"milliseconds":"<time>"', text)
    return re.sub(r"\b[0-9a-f]{32}\b", "<trace>", text)


def strings(value, path=()):
    """Every string in a JSON value, by where it stands."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, (dict, list)):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from strings(inner, (*path, key))


def joined(one, two):
    """Two pieces of text as one, or nothing if they differ in more than one string. Words that wait for one commit are sent
    together, so how many pieces an answer comes in differs from run to run."""
    if one == "[DONE]" or two == "[DONE]" or one == two:
        return None
    before, after = dict(strings(json.loads(one))), dict(strings(json.loads(two)))
    changed = [path for path in before if before[path] != after.get(path)]
    if len(changed) != 1 or before.keys() != after.keys() or changed[0][-1] not in ("content", "delta"):
        return None
    first, second = before[changed[0]], after[changed[0]]
    whole = second if second.startswith(first) else first + second
    return one.replace(json.dumps(first, ensure_ascii=False), json.dumps(whole, ensure_ascii=False))


def settled(text):
    """A stream as if all words that follow each other had been sent at once: what is compared. Ids must grow."""
    frames, last = [], (-1, -1)
    for frame in text.split("\n\n"):
        if found := re.match(r"id: (\d+)-(\d+)\n", frame):
            here = (int(found[1]), int(found[2]))
            assert last < here, f"{here} follows {last}"
            last = here
            frame = f"id: <event>\n{frame[found.end():]}"
        frame = re.sub(r'"sequence_number":\d+', '"sequence_number":"<number>"', frame)
        head, _, data = frame.partition("data: ")
        if frames and data and frames[-1][0] == head and (whole := joined(frames[-1][1], data)):
            frames[-1] = (head, whole)
        else:
            frames.append((head, data))
    return "\n\n".join(f"{head}data: {data}" if data else head for head, data in frames)


OUT.mkdir(parents=True, exist_ok=True)
different = []


def record(name, method, path, body=None, headers=None):
    response = client.request(method, path, json=body, headers=headers)
    kept = ["content-type", "location", "content-location", "x-pagination-total", "x-pagination-next"]
    head = "".join(f"{key}: {response.headers[key]}\n" for key in kept if key in response.headers)
    text = plain(f"{response.status_code}\n{head}\n{response.text}\n")
    file = OUT / f"{name}.txt"
    if file.exists():
        before, now = settled(file.read_text()), settled(text)
        if before != now:
            lines = [(a, b) for a, b in zip(before.splitlines(), now.splitlines()) if a != b]
            first = lines[0] if lines else ("(length)", f"{len(before)} -> {len(now)}")
            at = next((i for i, (a, b) in enumerate(zip(*first)) if a != b), 0)
            different.append(f"{name}:\n  was {first[0][max(0, at - 150):at + 150]}\n  is  {first[1][max(0, at - 150):at + 150]}")
    else:
        file.write_text(text)
    return response


def thread():
    return client.post("/threads", json={}).json()["thread_id"]


QUESTION = {"messages": [{"role": "user", "content": "What is the rate for 8539.52.00?"}]}
MODES = ["values", "updates", "messages", "messages-tuple", "events", "custom", "tasks", "checkpoints", "debug"]
for assistant, asked in [("rehearsal", {"messages": [{"role": "user", "content": "one two three"}]}), ("trade-compliance", QUESTION)]:
    for mode in MODES:
        body = {"assistant_id": assistant, "input": asked, "stream_mode": [mode]}
        record(f"langgraph-stream-{assistant}-{mode}", "POST", f"/threads/{thread()}/runs/stream", body)
talk = thread()
ask = {"assistant_id": "trade-compliance", "input": QUESTION, "config": {"configurable": {"format": "structured"}}}
record("langgraph-wait", "POST", f"/threads/{talk}/runs/wait", ask)
follow = {"assistant_id": "trade-compliance", "input": {"messages": [{"role": "user", "content": "And for LED modules?"}]}}
run = record("langgraph-create", "POST", f"/threads/{talk}/runs", follow).json()["run_id"]
record("langgraph-join", "GET", f"/threads/{talk}/runs/{run}/join")
record("langgraph-join-stream", "GET", f"/threads/{talk}/runs/{run}/stream?stream_mode=updates")
record("langgraph-run", "GET", f"/threads/{talk}/runs/{run}")
record("langgraph-runs", "GET", f"/threads/{talk}/runs")
record("langgraph-thread", "GET", f"/threads/{talk}")
record("langgraph-state", "GET", f"/threads/{talk}/state")
record("langgraph-messages", "GET", f"/threads/{talk}/messages")
record("langgraph-history", "POST", f"/threads/{talk}/history", {"limit": 10})
record("langgraph-threads", "POST", "/threads/search", {"limit": 2, "select": ["thread_id", "status", "values"]})
record("langgraph-copy", "POST", f"/threads/{talk}/copy", {})
record("langgraph-assistants", "POST", "/assistants/search", {"limit": 10})
record("langgraph-assistant", "GET", "/assistants/trade-compliance")
record("langgraph-graph", "GET", "/assistants/trade-compliance/graph")
record("langgraph-schemas", "GET", "/assistants/trade-compliance/schemas")
asking = thread()
record("langgraph-interrupt", "POST", f"/threads/{asking}/runs/wait", {"assistant_id": "rehearsal", "input": {"messages": [{"role": "user", "content": "?"}]}})
record("langgraph-interrupted-state", "GET", f"/threads/{asking}/state")
record("langgraph-resume", "POST", f"/threads/{asking}/runs/wait", {"assistant_id": "rehearsal", "command": {"resume": "four five"}})
record("langgraph-unknown", "GET", "/threads/00000000-0000-0000-0000-000000000000")
messages = [{"role": "user", "content": "What is the rate for 8539.52.00?"}]
record("openai-models", "GET", "/v1/models")
record("openai-chat", "POST", "/v1/chat/completions", {"model": "trade-compliance", "messages": messages})
stream = {"stream": True, "stream_options": {"include_usage": True}}
record("openai-chat-stream", "POST", "/v1/chat/completions", {"model": "trade-compliance", "messages": messages, **stream})
record("openai-chat-structured", "POST", "/v1/chat/completions", {"model": "trade-compliance", "messages": messages, "format": "structured"})
record("openai-error", "POST", "/v1/chat/completions", {"model": "nobody", "messages": messages})
response = record("openai-response", "POST", "/v1/responses", {"model": "trade-compliance", "input": "What is the rate for 8539.52.00?"}).json()
record("openai-response-again", "GET", f"/v1/responses/{response['id']}")
record("openai-response-items", "GET", f"/v1/responses/{response['id']}/input_items")
record("openai-response-stream", "POST", "/v1/responses", {"model": "trade-compliance", "input": "What is the rate for 8539.52.00?", "stream": True})
accept = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25"}
call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
record("mcp-tools", "POST", "/mcp", call, accept)
call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "ask", "arguments": {"question": "What is the rate for 8539.52.00?", "assistant": "trade-compliance"}}}
record("mcp-ask", "POST", "/mcp", call, accept)
server.kill()
server.wait()
if different:
    raise SystemExit("what the server sends has changed:\n" + "\n".join(different))
print(f"{len(list(OUT.iterdir()))} answers are as they were recorded")
