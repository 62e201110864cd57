"""A server that works for a long time: memory, descriptors, logs and table versions stay bounded.

usage: soak.py BINARY FOLDER SECONDS [CSV SVG]

Clients ask, follow streams, begin and delete conversations, search, and load, replace and delete documents, all the time. What the
server holds is looked at again and again; after the first third, in which caches fill, nothing may grow by more than a bound.
"""

import csv
import itertools
import os
import re
import subprocess
import sys
import threading
import time

import httpx

BINARY, FOLDER, SECONDS = sys.argv[1], sys.argv[2], float(sys.argv[3])
CSV, SVG = sys.argv[4:6] if len(sys.argv) > 5 else (None, None)
DATA = os.path.join(FOLDER, "ibid-data")
# What may grow from the end of the first third to the end, as a factor and by an amount on top.
BOUNDS = {
    "memory MB": (1.25, 48),
    "descriptors": (1.25, 32),
    "threads": (1.25, 64),
    "engine log MB": (1.0, 24),
    "loads log MB": (1.0, 24),
    "table versions": (1.5, 40),
    "store files": (1.5, 200),
}

with open(os.path.join(FOLDER, "ibid.toml"), "a") as config:
    # So soon that many rounds of it fall into the time.
    config.write(f'[store]\nerase_after = "{max(1, round(SECONDS / 60))}s"\n')
server = subprocess.Popen([BINARY, "serve", "--address", "127.0.0.1:0"], cwd=FOLDER, stderr=subprocess.PIPE, text=True)
for line in server.stderr:
    if found := re.search(r"listens on (http://\S+?);", line):
        break
URL = found[1]
threading.Thread(target=server.stderr.read, daemon=True).start()
until = time.time() + SECONDS
done = {"turns": 0, "streams": 0, "searches": 0, "loads": 0, "deleted": 0}
failures = []


def goes_on(work):
    """Does something again and again with a client of its own."""

    def loop():
        with httpx.Client(base_url=URL, timeout=60) as client:
            for number in itertools.count():
                if time.time() > until or failures:
                    return
                try:
                    work(client, number)
                except Exception as error:
                    failures.append(f"{work.__name__}: {error!r}")

    thread = threading.Thread(target=loop)
    thread.start()
    return thread


def fine(answer):
    assert answer.status_code < 300, f"{answer.status_code} {answer.text[:300]}"
    return answer


def talks(client, number):
    thread = fine(client.post("/threads", json={})).json()["thread_id"]
    for _ in range(3):
        fine(client.post(f"/threads/{thread}/runs/wait", json={"assistant_id": "rehearsal", "input": f"one two {number}"}))
        done["turns"] += 1
    fine(client.delete(f"/threads/{thread}"))
    done["deleted"] += 1


def follows(client, number):
    body = {"assistant_id": "rehearsal", "input": f"one two three {number}", "stream_mode": ["messages-tuple", "updates"]}
    with client.stream("POST", "/runs/stream", json=body) as answer:
        for _ in answer.iter_bytes():
            # Some hang up in the middle.
            if number % 5 == 0:
                break
    done["streams"] += 1
    time.sleep(0.05)


def searches(client, number):
    fine(client.post("/search", json={"query": f"article of kind {number % 7}"}))
    done["searches"] += 1
    time.sleep(0.2)


def loads(client, number):
    text = f"# Rule {number}\n\nAn article of kind {number % 7} is charged {number} per cent.\n" * 40
    file = {"file": (f"rule-{number % 5}.md", text.encode(), "text/markdown")}
    taken = fine(client.post("/documents", files=file)).json()["documents"][0]["document_id"]
    while fine(client.get(f"/documents/{taken}")).json()["status"] == "loading":
        time.sleep(0.1)
    done["loads"] += 1
    if number % 5 == 4:
        fine(client.delete(f"/documents/{taken}"))
        done["deleted"] += 1
    time.sleep(0.5)


def size(path):
    try:
        return os.path.getsize(path) / 1e6
    except OSError:
        return 0.0


def look():
    with open(f"/proc/{server.pid}/status") as status:
        status = status.read()
    files = [os.path.join(folder, name) for folder, _, names in os.walk(os.path.join(DATA, "store")) for name in names]
    return {
        "memory MB": int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024,
        "descriptors": len(os.listdir(f"/proc/{server.pid}/fd")),
        "threads": int(re.search(r"Threads:\s+(\d+)", status)[1]),
        "engine MB": size(os.path.join(DATA, "engine.db")),
        "engine log MB": size(os.path.join(DATA, "engine.db-wal")),
        "loads log MB": size(os.path.join(DATA, "ingestion.db-wal")),
        "table versions": sum(name.endswith(".manifest") for name in files),
        "store files": len(files),
    }


workers = [goes_on(work) for work in (talks, talks, follows, searches, loads)]
began, seen = time.time(), []
while time.time() < until and not failures and server.poll() is None:
    seen.append((time.time() - began, look()))
    time.sleep(max(0.5, SECONDS / 360))
for worker in workers:
    worker.join()
assert server.poll() is None, "the server ended"
server.terminate()
server.wait(60)
assert not failures, failures
third = len(seen) // 3
print(f"{SECONDS:.0f} s:", ", ".join(f"{count} {what}" for what, count in done.items()))
grown = []
for name in seen[0][1]:
    early, late = (max(row[name] for _, row in part) for part in (seen[: third + 1], seen[-third:]))
    print(f"{name}: at most {early:.1f} in the first third, {late:.1f} in the last")
    if name in BOUNDS:
        factor, more = BOUNDS[name]
        if late > early * factor + more:
            grown.append(name)

if CSV:
    with open(CSV, "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["seconds", *seen[0][1]])
        rows.writerows([round(at), *(round(value, 1) for value in row.values())] for at, row in seen)
    lines, height, width = [], 110, 640
    for place, name in enumerate(seen[0][1]):
        top = max(row[name] for _, row in seen) or 1
        points = " ".join(f"{60 + at / SECONDS * width:.0f},{place * height + 90 - row[name] / top * 70:.0f}" for at, row in seen)
        lines.append(f'<text x="60" y="{place * height + 14}">{name}, at most {top:.1f}</text>')
        lines.append(f'<polyline fill="none" stroke="#2563eb" points="{points}"/>')
        lines.append(f'<path stroke="#999" d="M60 {place * height + 90}h{width}"/>')
    with open(SVG, "w") as file:
        tall = height * len(seen[0][1])
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width + 80} {tall}" font-family="sans-serif" font-size="12">')
        file.write('<rect width="100%" height="100%" fill="white"/>' + "".join(lines) + "</svg>\n")
assert not grown, f"these grow: {', '.join(grown)}"
