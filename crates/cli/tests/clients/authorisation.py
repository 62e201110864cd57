"""Who may do what: every role, with and without a label, in and out of a corpus, the owner of a thread and others, on every
route that the server describes. A route that is described and not listed here fails.

usage: authorisation.py URL KEY_OF_AN_ADMIN
"""

import sys

import httpx

URL, ROOT = sys.argv[1:3]
READER, EDITOR, ADMIN = RANKS = ["reader", "editor", "admin"]
SAID = {"messages": [{"role": "user", "content": "one two"}]}
TURN = {"assistant_id": "rehearsal", "input": SAID}


def client(key):
    return httpx.Client(base_url=URL, headers={"x-api-key": key}, timeout=60)


root = client(ROOT)


def key(name, **about):
    made = root.post("/keys", json={"name": name, **about})
    assert made.status_code == 200, made.text
    return client(made.json()["key"])


# What a route needs: a role, what it names (a thread with all in it, a document, a dataset, a source, or nothing), and its body. Whatever changes
# something is tried on a thread or document of its own.
THREAD, DOCUMENT, DATASET, SOURCE = "thread", "document", "dataset", "source"
ROUTES = {
    "POST /assistants/search": (READER, None, {}),
    "POST /assistants/count": (READER, None, {}),
    "GET /assistants/{assistant}": (READER, None, None),
    "GET /assistants/{assistant}/graph": (READER, None, None),
    "GET /assistants/{assistant}/schemas": (READER, None, None),
    "GET /assistants/{assistant}/subgraphs": (READER, None, None),
    "POST /assistants/{assistant}/tools/{tool}": (READER, None, {"query": "swordfish"}),
    "POST /threads": (READER, None, {}),
    "POST /threads/search": (READER, None, {}),
    "POST /threads/count": (READER, None, {}),
    "POST /threads/prune": (READER, None, {"thread_ids": []}),
    "GET /threads/{thread}": (READER, THREAD, None),
    "PATCH /threads/{thread}": (READER, THREAD, {"metadata": {"seen": True}}),
    "DELETE /threads/{thread}": (READER, THREAD, None),
    "POST /threads/{thread}/copy": (READER, THREAD, None),
    "GET /threads/{thread}/messages": (READER, THREAD, None),
    "GET /threads/{thread}/state": (READER, THREAD, None),
    "POST /threads/{thread}/state": (READER, THREAD, {"values": SAID}),
    "POST /threads/{thread}/state/checkpoint": (READER, THREAD, lambda it: {"checkpoint": {"checkpoint_id": it["checkpoint"]}}),
    "GET /threads/{thread}/state/{checkpoint}": (READER, THREAD, None),
    "GET /threads/{thread}/history": (READER, THREAD, None),
    "POST /threads/{thread}/history": (READER, THREAD, {"limit": 5}),
    "POST /threads/{thread}/runs": (READER, THREAD, TURN),
    "GET /threads/{thread}/runs": (READER, THREAD, None),
    "POST /threads/{thread}/runs/stream": (READER, THREAD, TURN),
    "POST /threads/{thread}/runs/wait": (READER, THREAD, TURN),
    "GET /threads/{thread}/runs/{run}": (READER, THREAD, None),
    "DELETE /threads/{thread}/runs/{run}": (READER, THREAD, None),
    "GET /threads/{thread}/runs/{run}/join": (READER, THREAD, None),
    "GET /threads/{thread}/runs/{run}/stream": (READER, THREAD, None),
    "POST /threads/{thread}/runs/{run}/cancel": (READER, THREAD, None),
    "POST /threads/{thread}/runs/{run}/fork": (READER, THREAD, {"step": 1}),
    "GET /threads/{thread}/runs/{run}/feedback": (READER, THREAD, None),
    "POST /threads/{thread}/runs/{run}/feedback": (READER, THREAD, {"score": 1}),
    "POST /runs": (READER, None, TURN),
    "POST /runs/batch": (READER, None, [TURN]),
    "POST /runs/stream": (READER, None, TURN),
    "POST /runs/wait": (READER, None, TURN),
    "POST /runs/cancel": (READER, THREAD, lambda it: {"thread_id": it["thread"], "run_ids": [it["run"]]}),
    "GET /runs/{run}/stream": (READER, THREAD, None),
    "GET /documents": (READER, None, None),
    "POST /documents": (EDITOR, None, "files"),
    "POST /documents/fetch": (EDITOR, None, {"url": "http://127.0.0.1:1/none.pdf", "corpus": "elsewhere"}),
    "GET /documents/{document}": (READER, DOCUMENT, None),
    "PATCH /documents/{document}": (EDITOR, DOCUMENT, {"title": "Another"}),
    "DELETE /documents/{document}": (EDITOR, DOCUMENT, None),
    "GET /documents/{document}/events": (READER, DOCUMENT, None),
    "POST /documents/{document}/cancel": (EDITOR, DOCUMENT, None),
    "GET /documents/{document}/original": (READER, DOCUMENT, None),
    "GET /documents/{document}/pages/{page}": (READER, DOCUMENT, None),
    "GET /sources": (ADMIN, None, None),
    "GET /sources/{source}": (ADMIN, SOURCE, None),
    "GET /sources/{source}/plan": (ADMIN, SOURCE, None),
    "POST /sources/{source}/sync": (ADMIN, SOURCE, {}),
    "POST /search": (READER, None, {"query": "swordfish"}),
    "GET /v1/models": (READER, None, None),
    "GET /v1/models/{model}": (READER, None, None),
    "POST /v1/chat/completions": (READER, None, {"model": "rehearsal", "messages": SAID["messages"]}),
    "POST /v1/responses": (READER, None, {"model": "rehearsal", "input": "one"}),
    "GET /v1/responses/{response}": (READER, THREAD, None),
    "DELETE /v1/responses/{response}": (READER, THREAD, None),
    "POST /v1/responses/{response}/cancel": (READER, THREAD, None),
    "GET /v1/responses/{response}/input_items": (READER, THREAD, None),
    "GET /status": (READER, None, None),
    "GET /me": (READER, None, None),
    "GET /insights": (ADMIN, None, None),
    "GET /insights/turns": (ADMIN, None, None),
    "GET /insights/comparison?assistant=rehearsal&with=default": (ADMIN, None, None),
    "GET /insights/passages": (ADMIN, None, None),
    "GET /datasets": (ADMIN, None, None),
    "GET /datasets/{dataset}": (ADMIN, DATASET, None),
    "GET /datasets/{dataset}/export": (ADMIN, DATASET, None),
    "POST /datasets/{dataset}/items": (EDITOR, THREAD, lambda it: {"run_id": it["run"]}),
    "DELETE /datasets/{dataset}/items/{item}": (ADMIN, DATASET, None),
    "POST /datasets/{dataset}/turns": (ADMIN, None, None),
    "DELETE /datasets/{dataset}": (ADMIN, DATASET, None),
    "GET /keys": (ADMIN, None, None),
    "POST /keys": (ADMIN, None, lambda it: {"name": it["name"]}),
    "DELETE /keys/{key}": (ADMIN, None, None),
    # Metrics tell of all tenants: only keys that the configuration names read them, whatever their role.
    "GET /metrics": (None, None, None),
    "GET /healthz": ("", None, None),
    "GET /readyz": ("", None, None),
    "GET /ok": ("", None, None),
    "GET /info": ("", None, None),
}
described = {
    (method.upper(), path): about.get("x-ibid-role")
    for path, methods in root.get("/openapi.json").json()["paths"].items()
    for method, about in methods.items()
}
listed = {tuple(route.split("?")[0].split(" ")): role for route, (role, _, _) in ROUTES.items()}
assert described.keys() == listed.keys(), f"not listed here: {described.keys() - listed.keys()}; gone: {listed.keys() - described.keys()}"
for route, role in listed.items():
    assert role is None or (role or None) == described[route], (route, role, described[route])

# The owner of the thread, and others: each role, with and without the label that it may quote, in all corpora or in another.
LABEL = {"labels": ["legal"]}
ELSEWHERE = {"corpora": ["elsewhere"]}
owner = key("owner", **LABEL)
callers = [("the owner", READER, True, True, owner)]
elsewhere = set()
for role in RANKS:
    for labels in (LABEL, {}):
        for corpora in ({}, ELSEWHERE):
            name = f"{role}-{len(callers)}"
            covers = bool(labels) and not corpora
            elsewhere.update([name] if corpora else [])
            callers.append((name, role, covers, role == ADMIN, key(name, role=role, **labels, **corpora)))
maker = key("maker", role=EDITOR, **LABEL)
names = iter(range(10**6))


def thread():
    it = {"thread": owner.post("/threads", json={}).json()["thread_id"], "name": f"key-{next(names)}"}
    waited = owner.post(f"/threads/{it['thread']}/runs/wait", json=TURN)
    it["run"] = waited.headers["content-location"].rsplit("/", 1)[1]
    it["checkpoint"] = owner.get(f"/threads/{it['thread']}/state").json()["checkpoint"]["checkpoint_id"]
    it["response"] = owner.post("/v1/responses", json={"model": "rehearsal", "input": "one"}).json()["id"]
    return it


def document():
    text = b"# Secret\n\nThe password is swordfish. " + str(next(names)).encode()
    taken = maker.post("/documents", files={"file": (f"secret-{next(names)}.md", text)}, data={"labels": "legal"})
    assert taken.status_code in (200, 202), taken.text
    found = taken.json()["documents"][0]["document_id"]
    maker.get(f"/documents/{found}/events")
    return found


shared_thread, shared_document = thread(), document()
tried = 0
for route, (role, kind, body) in ROUTES.items():
    method, path = route.split(" ")
    changes = method != "GET" and kind != SOURCE and ("{" in path or callable(body))
    for name, own_role, covers, sees_thread, caller in callers:
        it = dict(shared_thread, document=shared_document, assistant="rehearsal", model="rehearsal", page="1", tool="none", source="place", dataset="made", item="none", key="none", name=f"key-{next(names)}")
        allowed = role is not None and (role == "" or RANKS.index(own_role) >= RANKS.index(role))
        # Whoever looks after a source sees all of its paths, whatever labels they hold.
        covered = name not in elsewhere if kind == SOURCE else covers
        visible = allowed and covered and (kind != THREAD or sees_thread)
        if changes and visible:
            it.update(thread() if kind == THREAD else {}, **({"document": document()} if kind == DOCUMENT else {}))
        if "{dataset}" in path:
            root.post("/datasets/made/items", json={"run_id": thread()["run"]})
        if "{key}" in path:
            root.post("/keys", json={"name": it["name"]})
            it["key"] = it["name"]
        address = path
        for part, value in it.items():
            address = address.replace("{" + part + "}", value)
        sent = body(it) if callable(body) else body
        if sent == "files":
            form = {"corpus": "elsewhere"}
            answer = caller.request(method, address, files={"file": ("own.md", b"# Own\n\nNothing.")}, data=form)
        else:
            answer = caller.request(method, address, json=sent)
        tried += 1
        status, about = answer.status_code, (route, name, answer.status_code, answer.text[:300])
        assert status < 500 or path == "/documents/fetch", about
        if not allowed:
            assert status == 403, about
        elif kind and not visible:
            # Stopping several names what is not there, and is content.
            assert status == 404 or path == "/runs/cancel", about
        elif "{item}" not in path and "{tool}" not in path:
            # What has come to its end cannot be stopped.
            over = "has ended" in answer.text or "is not being loaded" in answer.text
            assert status not in (401, 403, 404) or over, about
        if not covers:
            assert "swordfish" not in answer.text, about
    if role != "":
        assert httpx.request(method, URL + path.split("{")[0]).status_code in (401, 404, 405), route

# Lists have what may be seen, and an admin asks for what is hers alone.
mine = owner.post("/threads/search", json={"limit": 1000}).json()
assert mine and all(thread["owner"] == "key:owner" for thread in mine)
for name, role, covers, _, caller in callers[1:]:
    seen = {thread["owner"] for thread in caller.post("/threads/search", json={"limit": 1000}).json()}
    assert ("key:owner" in seen) == (role == ADMIN and covers), (name, seen)
    assert {thread["owner"] for thread in caller.post("/threads/search", json={"limit": 1000, "own": True}).json()} <= {f"key:{name}"}

# A thread that is shared is read by those who may see all that it may quote, and changed by its owner.
it = thread()
assert owner.patch(f"/threads/{it['thread']}", json={"shared": True}).json()["shared"]
for name, role, covers, sees_all, caller in callers[1:]:
    assert caller.get(f"/threads/{it['thread']}/messages").status_code == (200 if covers else 404), name
    changed = caller.patch(f"/threads/{it['thread']}", json={"metadata": {}}).status_code
    assert changed == (404 if not covers else 200 if sees_all else 403), (name, changed)
    if covers:
        assert caller.post(f"/threads/{it['thread']}/copy", json={}).json()["owner"] == f"key:{name}"

# A key gives no more than its maker has, ends, and is gone when it is deleted, at once.
admin = callers[-1][4]
assert admin.post("/keys", json={"name": "wide", **LABEL}).status_code == 403
assert admin.post("/keys", json={"name": "wide", "corpora": ["elsewhere", "documents"]}).status_code == 403
assert admin.post("/keys", json={"name": "narrow"}).json()["corpora"] == ["elsewhere"]
me = key("short", expires_days=1).get("/me").json()
assert me == {"name": "local/key:short", "role": "reader", "owner": "key:short", "tenant": "local", "corpora": None, "labels": []}, me
assert root.post("/keys", json={"name": "short"}).status_code == 409
assert root.post("/keys", json={"name": "no/name"}).status_code == 422
listed = {made["name"]: made for made in root.get("/keys").json()}
assert listed["short"]["expires_at"] and listed["owner"]["labels"] == ["legal"] and "ibid_" not in str(listed)
# The owner without the label does not see what was said with it.
assert root.delete("/keys/owner").status_code == 204
assert owner.get("/status").status_code == 401
owner = key("owner")
assert owner.get(f"/threads/{it['thread']}").status_code == 404
assert owner.post("/threads/search", json={}).json() == []
print(f"{tried} tried")
