"""Two tenants with hostile clients: whatever one of them names, the other's things are not there.

usage: tenants.py URL ASSISTANT KEY_OF_ANA KEY_OF_EVA
"""

import itertools
import random
import sys

import httpx

URL, ASSISTANT, ANA, EVA = sys.argv[1:5]
random.seed(11)
QUESTION = {"messages": [{"role": "user", "content": "What is the rate for 8539.52.00?"}]}


def client(key):
    return httpx.Client(base_url=URL, headers={"x-api-key": key}, timeout=60)


ana, eva, nobody = client(ANA), client(EVA), httpx.Client(base_url=URL)

# What Ana has.
thread = ana.post("/threads", json={"metadata": {"secret": "ana"}}).json()["thread_id"]
run = ana.post(f"/threads/{thread}/runs/wait", json={"assistant_id": ASSISTANT, "input": QUESTION})
run = run.headers["content-location"].rsplit("/", 1)[1]
response = ana.post("/v1/responses", json={"model": ASSISTANT, "input": "What is the rate?"}).json()["id"]
text = b"# Secret\n\n" + b"The password of Ana is swordfish. " * 20
document = ana.post("/documents", files={"file": ("secret.md", text)}).json()["documents"][0]["document_id"]
ana.get(f"/documents/{document}/events")
checkpoint = ana.get(f"/threads/{thread}/state").json()["checkpoint"]["checkpoint_id"]
ana.post(f"/threads/{thread}/runs/{run}/feedback", json={"score": 1, "comment": "secret"})
waiting = ana.post("/threads", json={}).json()["thread_id"]
ana.post(f"/threads/{waiting}/runs/wait", json={"assistant_id": "rehearsal", "input": {"messages": [{"role": "user", "content": "?"}]}})

turn = {"assistant_id": ASSISTANT, "input": QUESTION}
routes = [
    ("GET", f"/threads/{thread}", None),
    ("PATCH", f"/threads/{thread}", {"metadata": {"mine": 1}}),
    ("DELETE", f"/threads/{thread}", None),
    ("POST", f"/threads/{thread}/copy", None),
    ("GET", f"/threads/{thread}/messages", None),
    ("GET", f"/threads/{thread}/messages?before=1", None),
    ("GET", f"/threads/{thread}/state", None),
    ("POST", f"/threads/{thread}/state", {"values": QUESTION}),
    ("GET", f"/threads/{thread}/state/{checkpoint}", None),
    ("POST", f"/threads/{thread}/state/checkpoint", {"checkpoint": {"checkpoint_id": checkpoint}}),
    ("GET", f"/threads/{thread}/history", None),
    ("POST", f"/threads/{thread}/history", {"limit": 5, "before": checkpoint}),
    ("GET", f"/threads/{thread}/runs", None),
    ("POST", f"/threads/{thread}/runs", turn),
    ("POST", f"/threads/{thread}/runs", {**turn, "if_not_exists": "create"}),
    ("POST", f"/threads/{thread}/runs/stream", turn),
    ("POST", f"/threads/{thread}/runs/wait", turn),
    ("POST", f"/threads/{waiting}/runs/wait", {"assistant_id": "rehearsal", "command": {"resume": "x"}}),
    ("GET", f"/threads/{thread}/runs/{run}", None),
    ("DELETE", f"/threads/{thread}/runs/{run}", None),
    ("POST", f"/threads/{thread}/runs/{run}/fork", {"step": 1}),
    ("GET", f"/threads/{thread}/runs/{run}/feedback", None),
    ("POST", f"/threads/{thread}/runs/{run}/feedback", {"score": -1}),
    ("GET", f"/threads/{thread}/runs/{run}/join", None),
    ("GET", f"/threads/{thread}/runs/{run}/stream", None),
    ("POST", f"/threads/{thread}/runs/{run}/cancel", None),
    ("GET", f"/runs/{run}/stream", None),
    ("POST", "/runs/cancel", {"thread_id": thread, "run_ids": [run]}),
    ("GET", f"/v1/responses/{response}", None),
    ("DELETE", f"/v1/responses/{response}", None),
    ("POST", f"/v1/responses/{response}/cancel", None),
    ("GET", f"/v1/responses/{response}/input_items", None),
    ("POST", "/v1/responses", {"model": ASSISTANT, "input": "?", "previous_response_id": response}),
    ("GET", f"/documents/{document}", None),
    ("PATCH", f"/documents/{document}", {"title": "Mine"}),
    ("DELETE", f"/documents/{document}", None),
    ("GET", f"/documents/{document}/events", None),
    ("POST", f"/documents/{document}/cancel", None),
    ("GET", f"/documents/{document}/original", None),
    ("GET", f"/documents/{document}/pages/1", None),
    ("GET", "/sources/papers", None),
    ("GET", "/sources/papers/plan", None),
    ("POST", "/sources/papers/sync", {}),
]
assert [source["name"] for source in ana.get("/sources").json()] == ["papers"] and eva.get("/sources").json() == []
# A thread of her own opens nothing of another's.
own = eva.post("/threads", json={}).json()["thread_id"]
routes += [(method, path.replace(thread, own), body) for method, path, body in routes if thread in path and run in path]
# Every route that is described and names something is among these.
names = {"{thread}": thread, "{run}": run, "{checkpoint}": checkpoint, "{response}": response, "{document}": document, "{page}": "1", "{source}": "papers"}
for path, methods in ana.get("/openapi.json").json()["paths"].items():
    if not any(name in path for name in names):
        continue
    for name, value in names.items():
        path = path.replace(name, value)
    for method in methods:
        assert (method.upper(), path) in {(known, at) for known, at, _ in routes}, f"{method} {path} is not tried"
tricks = [
    {},
    {"x-tenant": "ana"},
    {"x-tenant-id": "ana"},
    {"authorization": f"Bearer {EVA}"},
    {"cookie": "tenant=ana"},
    {"last-event-id": "-1"},
    {"x-forwarded-for": "127.0.0.1"},
    {"x-api-key": EVA, "idempotency-key": "only"},
]
for (method, path, body), headers in itertools.product(routes, tricks):
    answer = eva.request(method, path, json=body, headers=headers)
    assert answer.status_code == 404, (method, path, headers, answer.status_code, answer.text[:200])
    assert "swordfish" not in answer.text and "secret" not in answer.text, (method, path, answer.text)
    assert "x-request-id" in answer.headers
for method, path, body in routes:
    refused = nobody.request(method, path, json=body)
    assert refused.status_code == 401, (method, path, refused.status_code)
    refused = nobody.request(method, path, json=body, headers={"x-api-key": ANA[:-1]})
    assert refused.status_code == 401, (method, path, refused.status_code)

# Lists, filters, cursors and searches show nothing either, and a name that is taken can only be seen to be taken.
assert eva.delete(f"/threads/{own}").status_code == 204
for asked in ({}, {"metadata": {"secret": "ana"}}, {"ids": [thread]}, {"title": "rate"}, {"limit": 1000, "offset": 0, "sort_by": "thread_id"}):
    assert eva.post("/threads/search", json=asked).json() == [], asked
    assert eva.post("/threads/count", json=asked).json() == 0, asked
assert eva.post("/threads/prune", json={"thread_ids": [thread]}).json() == {"pruned_count": 0}
assert eva.post("/threads", json={"thread_id": thread, "if_exists": "do_nothing"}).status_code == 409
for asked in ({}, {"corpus": "documents"}, {"search": "secret"}):
    assert eva.get("/documents", params=asked).json()["total"] == 0, asked
for asked in ({}, {"corpora": ["documents"]}, {"documents": [document]}):
    found = eva.post("/search", json={"query": "What is the password of Ana?", **asked})
    assert found.json()["passages"] == [], asked
said = eva.post("/runs/wait", json={"assistant_id": "default", "input": {"messages": [{"role": "user", "content": "@secret What is the password?"}]}})
assert "swordfish" not in said.text, said.text

def tool(name, arguments):
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    headers = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-06-18"}
    return eva.post("/mcp", json=call, headers=headers)


said = tool("ask", {"question": "What is the password?", "assistant": ASSISTANT, "thread": thread})
assert "there is no thread" in said.text and "swordfish" not in said.text, said.text
said = tool(f"{ASSISTANT}_search_documents", {"query": "What is the password of Ana?"})
assert said.status_code == 200 and "swordfish" not in said.text, said.text

# Made-up and mangled names are unknown or no names, never an error of ours.
letters = "0123456789abcdef-:../%00é '"
for _ in range(200):
    path = random.choice(routes)[1]
    place = random.randrange(1, len(path))
    path = path[:place] + random.choice(letters) + path[place + 1 :]
    answer = eva.get(path)
    assert answer.status_code < 500 and "swordfish" not in answer.text, (path, answer.status_code)

# And all is as it was.
assert ana.get(f"/threads/{thread}").json()["metadata"] == {"secret": "ana"}
assert ana.get(f"/threads/{waiting}").json()["status"] == "interrupted"
assert ana.get(f"/documents/{document}/original").content == text
assert len(ana.get(f"/threads/{thread}/state").json()["values"]["messages"]) == 2
print(f"{len(routes)} routes, {len(tricks)} tricks")

# What came of turns is told to whom they belong; metrics tell of all tenants, and so to nobody who is not named for it.
assert ana.get("/insights").json()["total"]["turns"] >= 2
behind = eva.get("/insights/turns", params={"limit": 500})
assert behind.status_code == 200 and thread not in behind.text and run not in behind.text, behind.text
assert nobody.get("/insights").status_code == 401
assert [who.get("/metrics").status_code for who in (ana, eva, nobody)] == [403, 403, 401]
