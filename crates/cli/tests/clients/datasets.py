"""Datasets, comparisons and variants over HTTP: usage: datasets.py URL ASSISTANT"""

import json
import sys
import urllib.error
import urllib.parse
import urllib.request
import uuid

url, assistant = sys.argv[1:3]


def call(method, path, body=None, expected=200):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url + path, data, {"content-type": "application/json"}, method=method)
    try:
        with urllib.request.urlopen(request) as response:
            status, text = response.status, response.read()
    except urllib.error.HTTPError as error:
        status, text = error.code, error.read()
    assert status == expected, (method, path, status, text)
    return text


def ask(thread, question):
    body = {"assistant_id": assistant, "input": {"messages": [{"role": "user", "content": question}]}, "if_not_exists": "create"}
    run = json.loads(call("POST", f"/threads/{thread}/runs", body))
    call("GET", f"/threads/{thread}/runs/{run['run_id']}/join")
    return json.loads(call("GET", f"/threads/{thread}/runs/{run['run_id']}"))


# A share of the threads is answered by the variant, and each thread by the same.
answered = {}
for at in range(24):
    thread = str(uuid.uuid4())
    run = ask(thread, f"What is the rate for LED lamps, 8539.52.00, in case {at}?")
    answered[thread] = run
names = {run["assistant_id"] for run in answered.values()}
assert names == {assistant, assistant + "-new"}, names
for thread, run in list(answered.items())[:4]:
    assert ask(thread, "And in column 2?")["assistant_id"] == run["assistant_id"]

# The two are compared by what was measured of every turn.
query = urllib.parse.urlencode({"assistant": assistant, "with": assistant + "-new"})
compared = {one["metric"]: one for one in json.loads(call("GET", f"/insights/comparison?{query}"))}
assert compared["seconds"]["baseline"] > 0 and compared["seconds"]["candidate"] > 0, compared
assert compared["failed"]["baseline"] == 0, compared
call("GET", "/insights/comparison", expected=422)

# A turn becomes a question of a dataset.
thread, run = next(iter(answered.items()))
item = {"run_id": run["run_id"], "values": ["2%"]}
kept = json.loads(call("POST", "/datasets/rates/items", item, 201))
assert kept["question"].startswith("What is the rate") and kept["values"] == ["2%"] and kept["pages"], kept
follow = json.loads(call("GET", f"/threads/{thread}/runs?limit=5"))[0]
kept = json.loads(call("POST", "/datasets/rates/items", {"run_id": follow["run_id"], "refusal": True}, 201))
assert kept["question"] == "And in column 2?" and len(kept["history"]) == 2 and not kept.get("pages"), kept
assert json.loads(call("GET", "/datasets")) == [{"name": "rates", "items": 2}]
lines = call("GET", "/datasets/rates/export").decode().splitlines()
assert [json.loads(line)["question"] for line in lines][1] == "And in column 2?", lines
call("POST", "/datasets/a%2Fb/items", item, 422)
call("POST", "/datasets/rates/items", {"run_id": str(uuid.uuid4())}, 404)
call("POST", "/datasets/rates/items", {"run_id": run["run_id"], "refusal": True, "values": ["2%"]}, 422)

# Who marked an answer wrong, and why, is known; so are the pages that it cites.
path = f"/threads/{thread}/runs/{run['run_id']}/feedback"
given = json.loads(call("POST", path, {"score": -1, "comment": "an old rate"}, 201))
assert given["author"], given
pages = json.loads(call("GET", "/insights/passages"))
assert pages and pages[0]["page"] and "an old rate" in pages[0]["comments"][0], pages
added = json.loads(call("POST", "/datasets/bad/turns?filter=bad"))
assert added == {"added": 1}, added
assert json.loads(call("GET", "/datasets/bad"))[0].get("pages", []) == []
call("POST", "/datasets/bad/turns?filter=odd", expected=422)
call("DELETE", f"/datasets/bad/items/{run['run_id']}", expected=204)
call("DELETE", "/datasets/rates", expected=204)
call("DELETE", "/datasets/rates", expected=404)
assert json.loads(call("GET", "/datasets")) == []
