"""Uses a server, lets Prometheus scrape it, and runs every query of the dashboards: each must return data.

usage: metrics.py SERVER PROMETHEUS ASSISTANT DASHBOARDS
"""

import json
import re
import sys
import time
from pathlib import Path

import httpx

SERVER, PROMETHEUS, ASSISTANT, DASHBOARDS = sys.argv[1:5]
server = httpx.Client(base_url=SERVER, timeout=120)
prometheus = httpx.Client(base_url=PROMETHEUS, timeout=60)

# Metrics of what this server is not set up for: rounds and grades belong to corrective assistants, the web to those that
# may search it, tools to agentic ones, and the guard had nothing to find.
NOT_USED = {
    "ibid_answer_rounds",
    "ibid_grades_total",
    "ibid_web_searches_total",
    "ibid_tool_calls_total",
    "ibid_tool_seconds",
    "ibid_guard_findings_total",
    "ibid_cache_lookups_total",
}


def ask(question):
    body = {"assistant_id": ASSISTANT, "input": {"messages": [{"role": "user", "content": question}]}}
    thread = server.post("/threads", json={}).json()["thread_id"]
    answer = server.post(f"/threads/{thread}/runs/wait", json=body)
    assert answer.status_code == 200, answer.text
    run = server.get(f"/threads/{thread}/runs").json()[0]["run_id"]
    assert server.post(f"/threads/{thread}/runs/{run}/feedback", json={"score": 1}).status_code == 201


def load(name):
    text = f"# {name}\n\n## Lamps\n\n" + "Lamps of this kind are subject to a rate of two percent.\n" * 5
    loaded = server.post("/documents", files={"file": (f"{name}.md", text)}, data={"corpus": "more"})
    assert loaded.status_code < 300, loaded.text


def query(expression):
    answer = prometheus.get("/api/v1/query", params={"query": expression}).json()
    assert answer["status"] == "success", (expression, answer)
    return answer["data"]["result"]


for number in range(3):
    load(f"Notice {number}")
    ask("What is the rate for LED lamps?")
    time.sleep(2)

queries = {}
for file in sorted(Path(DASHBOARDS).glob("*.json")):
    for panel in json.loads(file.read_text())["panels"]:
        for target in panel["targets"]:
            queries[target["expr"].replace("$__rate_interval", "1m")] = f"{file.stem}: {panel['title']}"
assert len(queries) > 40, len(queries)

deadline = time.time() + 90
while True:
    ask("What is the rate for LED lamps?")
    empty = {where for expression, where in queries.items() if not query(expression) and not set(re.findall(r"ibid_\w+?(?=_bucket|\b)", expression)) & NOT_USED}
    if not empty:
        break
    assert time.time() < deadline, f"no data for {sorted(empty)}"
    time.sleep(2)

told = {name for name in prometheus.get("/api/v1/label/__name__/values").json()["data"]}
described = set(re.findall(r"^# HELP (\S+)", server.get("/metrics").text, re.MULTILINE))
undescribed = {re.sub(r"_(bucket|sum|count)$", "", name) for name in told if name.startswith("ibid_")} - described
assert not undescribed, undescribed
names = {name for name in re.findall(r"ibid_\w+|process_\w+", " ".join(queries))}
known = set(re.findall(r'"((?:ibid|process)_\w+)"', Path(DASHBOARDS, "../../../../crates/core/src/metric.rs").read_text()))
assert not {re.sub(r"_bucket$", "", name) for name in names} - known, "the dashboards ask for what nobody tells"

turns = query('sum(ibid_turns_total{outcome="done"})')
assert float(turns[0]["value"][1]) >= 3, turns
tokens = query('sum by (kind) (ibid_tokens_total{tenant="local"})')
assert {row["metric"]["kind"] for row in tokens} == {"input", "output", "cached"}, tokens
assert float(query("sum(ibid_cost_microdollars_total)")[0]["value"][1]) > 0
assert query("ibid:turn_seconds:p95_5m"), "the recording rules have data"
took = []
for _ in range(20):
    began = time.time()
    assert server.get("/metrics").status_code == 200
    took.append(time.time() - began)
print(f"{len(queries)} queries, /metrics in {sorted(took)[10] * 1000:.1f} ms")
