"""Documents over HTTP, with nothing but a plain client.

usage: documents_client.py URL PDF
"""

import json
import sys
import time

import httpx

URL, PDF = sys.argv[1:3]
client = httpx.Client(base_url=URL, timeout=60)


def events(path, after=None):
    headers = {"last-event-id": str(after)} if after else {}
    found, event = [], {}
    with client.stream("GET", path, headers=headers) as response:
        assert response.status_code == 200, response.read()
        for line in response.iter_lines():
            if not line and event:
                found.append(event)
                event = {}
            name, _, value = line.partition(": ")
            if name in ("id", "event"):
                event[name] = value
            elif name == "data":
                event["data"] = json.loads(value)
    return found


def load(content, name, **fields):
    response = client.post("/documents", files={"file": (name, content)}, data=fields)
    assert response.status_code == 202, response.text
    return response.json()["documents"][0]["document_id"]


pdf = open(PDF, "rb").read()
name = load(pdf, "schedule.pdf", corpus="trade", title="Schedule", type="hts_schedule")
told = events(f"/documents/{name}/events")
assert [int(event["id"]) for event in told] == list(range(1, len(told) + 1)), "numbers without gaps"
assert {"status", "page_read", "chunks_embedded", "ended"} <= {event["event"] for event in told}, told
assert told[-1]["data"]["status"] == "done" and told[-1]["data"]["summary"]["outcome"] == "loaded"
middle = len(told) // 2
assert events(f"/documents/{name}/events", after=middle) == told[middle:]

listed = client.get("/documents", params={"corpus": "trade"}).json()
assert [one["id"] for one in listed["documents"]] == [name] and listed["total"] == 1, listed
assert listed["documents"][0]["pages"]["count"] == 2 and listed["documents"][0]["kind"] == "hts_schedule"
assert client.get("/documents", params={"search": "nothing"}).json()["total"] == 0
ledger = client.get(f"/documents/{name}").json()
assert [page["kind"] for page in ledger["pages"]] == ["table", "table"], ledger
page = client.get(f"/documents/{name}/pages/1").json()
assert page["passages"][0]["text"] and page["passages"][0]["places"][0]["sides"], page
assert client.get(f"/documents/{name}/pages/99").status_code == 404
original = client.get(f"/documents/{name}/original")
assert original.content == pdf and original.headers["content-type"] == "application/pdf"
part = client.get(f"/documents/{name}/original", headers={"range": "bytes=5-9"})
assert part.status_code == 206 and part.content == pdf[5:10], part
found = client.post("/search", json={"query": "8539.22.40", "corpora": ["trade"], "limit": 2}).json()["passages"]
assert found[0]["document"] == name and len(found) <= 2, found

# A page of the web is for reading and not for running.
evil = load(b"<h1>Rules</h1><script>alert(1)</script><p>" + b"Records are kept for five years. " * 20, "rules.html")
events(f"/documents/{evil}/events")
shown = client.get(f"/documents/{evil}/original")
assert shown.headers["content-type"].startswith("text/plain") and "sandbox" in shown.headers["content-security-policy"]

# The same name again replaces what was there.
again = load(b"# Rules\n\n" + b"Records are kept for seven years. " * 20, "rules.html")
assert again == evil
events(f"/documents/{again}/events")
found = client.post("/search", json={"query": "How long are records kept?", "corpora": ["documents"]}).json()["passages"]
assert all("seven" in one["text"] for one in found) and found, found

# Back to what there was before, while another content is still being loaded, and one of the loads is stopped: nothing is
# lost, and nothing is left.
first = b"# Ferries\n\n" + b"The ferry leaves at five. " * 20
other = b"# Ferries\n\n" + b"".join(b"The ferry %d leaves at noon. " % n for n in range(4000))
ferries = load(first, "ferries.md")
events(f"/documents/{ferries}/events")
for content in (other, first):
    load(content, "ferries.md")
assert events(f"/documents/{ferries}/events")[-1]["data"]["status"] == "done"
assert client.get(f"/documents/{ferries}/original").content == first
load(other, "ferries.md")
load(other, "ferries.md")
listed = client.get("/documents", params={"status": "loading"}).json()["documents"]
assert [one["id"] for one in listed] == [ferries], listed
assert client.post(f"/documents/{ferries}/cancel").status_code == 202
for _ in range(200):
    if client.get("/documents", params={"status": "loading"}).json()["total"] == 0:
        break
    time.sleep(0.05)
ledger = client.get(f"/documents/{ferries}").json()
assert ledger["status"] == "ready" and "pending" not in ledger and "problem" not in ledger, ledger
assert client.get(f"/documents/{ferries}/original").content == first

slow = load(b"# Slow\n\n" + b"".join(b"Rule %d is a rule that nobody knows. " % n for n in range(20000)), "slow.md")
assert client.delete(f"/documents/{slow}").status_code == 204, "also while it is being loaded"
assert client.delete(f"/documents/{name}").status_code == 204
assert client.get(f"/documents/{name}").status_code == 404
assert client.delete(f"/documents/{name}").status_code == 404
assert client.get(f"/documents/{name.upper()}").status_code == 404
assert client.get(f"/documents/{slow}").status_code == 404 and client.get("/documents", params={"search": "slow"}).json()["total"] == 0
refused = client.post("/documents", files={"file": ("a.pdf", pdf)}, data={"corpus": "a b"})
assert refused.status_code == 422 and "cannot name a corpus" in refused.json()["detail"], refused.text
refused = client.post("/documents/fetch", json={"url": "file:///etc/passwd"})
assert refused.status_code == 422, refused.text
print("ok")
