"""Hostile clients beside one that behaves: the server stays within 1 GB of memory, and the other is served as before.

usage: hostile.py BINARY FOLDER SECONDS [RATIO]

Each attack goes on for so many seconds. With a ratio, the 99th percentile of the other client's turns may grow by it at most,
which says something of a release build only: one for tests takes ten times as long to write JSON.
"""

import contextlib
import json
import multiprocessing
import os
import re
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time

import httpx

BINARY, FOLDER, SECONDS = sys.argv[1], sys.argv[2], float(sys.argv[3])
RATIO = float(sys.argv[4]) if len(sys.argv) > 4 else None
ATTACKERS = 8 if RATIO else 3
LIMIT = 1 << 30
CGROUP = f"/sys/fs/cgroup/memory/ibid-hostile-{os.getpid()}"
LONGEST = 256 << 10


def bounded():
    """In a memory cgroup where there is one; otherwise its memory is only looked at."""
    with contextlib.suppress(OSError):
        with open(f"{CGROUP}/cgroup.procs", "w") as processes:
            processes.write(str(os.getpid()))


with contextlib.suppress(OSError):
    os.mkdir(CGROUP)
    with open(f"{CGROUP}/memory.limit_in_bytes", "w") as limit:
        limit.write(str(LIMIT))
server = subprocess.Popen([BINARY, "serve", "--address", "127.0.0.1:0"], cwd=FOLDER, stderr=subprocess.PIPE, text=True, preexec_fn=bounded)
for line in server.stderr:
    if found := re.search(r"listens on http://(\S+?):(\d+);", line):
        break
HOST, PORT = found[1], int(found[2])
URL = f"http://{HOST}:{PORT}"
threading.Thread(target=server.stderr.read, daemon=True).start()
# Attackers have processors of their own, as far as the machine has any.
processes = multiprocessing.get_context("fork")
over, ready = processes.Event(), processes.Semaphore(0)


def peak():
    with open(f"/proc/{server.pid}/status") as status:
        return int(re.search(r"VmHWM:\s+(\d+) kB", status.read())[1]) << 10


def turn(client):
    began = time.perf_counter()
    answer = client.post("/runs/wait", json={"assistant_id": "rehearsal", "input": "one two three"})
    assert answer.status_code == 200, answer.text
    return time.perf_counter() - began


def behaved(seconds):
    """How long turns take, one after the other: the median and the 99th percentile."""
    times, until = [], time.time() + seconds
    with httpx.Client(base_url=URL, timeout=60) as client:
        while time.time() < until or len(times) < 20:
            times.append(turn(client))
    times.sort()
    return statistics.median(times), times[int(len(times) * 0.99)]


def filled(client, messages):
    thread = client.post("/threads", json={}).json()["thread_id"]
    said = {"values": {"messages": [{"role": "user", "content": "x" * LONGEST}] * 10}}
    for _ in range(messages // 10):
        assert client.post(f"/threads/{thread}/state", json=said).status_code == 200
    return thread


def too_long(client):
    """Messages that nobody could answer, posted to a thread."""
    thread = client.post("/threads", json={}).json()["thread_id"]
    said = {"values": {"messages": [{"role": "user", "content": "x" * 3_900_000}]}}
    ready.release()
    while not over.is_set():
        answer = client.post(f"/threads/{thread}/state", json=said)
        assert answer.status_code == 413 and "document" in answer.text, answer.text[:200]


def writes(client):
    """Messages that are as long as they may be, as many as a request holds, again and again."""
    ready.release()
    while not over.is_set():
        filled(client, 10)


def histories(client):
    """Every point of a thread that is as full as it may be."""
    thread = filled(client, 120 if RATIO else 50)
    ready.release()
    while not over.is_set():
        answer = client.post(f"/threads/{thread}/history", json={"limit": 100})
        assert answer.status_code == 200 and len(answer.content) < 20 << 20, len(answer.content)
        # What was left out is there, before the last one.
        last = answer.json()[-1]["checkpoint"]
        assert client.post(f"/threads/{thread}/history", json={"limit": 1, "before": last}).json()


def searches(client):
    """Many threads with all that was said in them."""
    for _ in range(10 if RATIO else 5):
        filled(client, 30)
    ready.release()
    while not over.is_set():
        answer = client.post("/threads/search", json={"limit": 1000})
        assert answer.status_code == 200 and len(answer.content) < 20 << 20, len(answer.content)


def half_requests(_):
    """Connections that never finish what they ask."""
    connections = []
    ready.release()
    while not over.is_set():
        with contextlib.suppress(OSError):
            connection = socket.create_connection((HOST, PORT), timeout=5)
            connection.sendall(b"POST /runs/wait HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n")
            connections.append(connection)
        if len(connections) > 500:
            time.sleep(0.01)
    for connection in connections:
        connection.close()


def long_heads(_):
    """Heads of requests, and of parts of a form, that never end."""
    part = b"--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"" + b"a" * (8 << 20)
    for_form = b"POST /documents HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: multipart/form-data; boundary=x\r\nContent-Length: 900000000\r\n\r\n"
    ready.release()
    while not over.is_set():
        for beginning, more in ((b"GET /ok HTTP/1.1\r\nX: ", b"a" * (1 << 20)), (for_form, part)):
            with contextlib.suppress(OSError), socket.create_connection((HOST, PORT), timeout=5) as connection:
                connection.sendall(beginning)
                for _ in range(64):
                    connection.sendall(more)
                    if over.is_set():
                        break


def crowds(client):
    """As many turns at once as a request can name, and bodies that nest."""
    one = {"assistant_id": "rehearsal", "input": "one"}
    nested = b"[" * 200_000 + b"]" * 200_000
    ready.release()
    while not over.is_set():
        client.post("/runs/batch", json=[one] * 2000)
        assert client.post("/threads", content=nested, headers={"content-type": "application/json"}).status_code in (400, 422)


def attacked(attack):
    failures = processes.Queue()

    def run():
        os.nice(19)
        try:
            with httpx.Client(base_url=URL, timeout=60) as client:
                attack(client)
        except AssertionError as error:  # whatever else a hostile client meets is its own affair
            failures.put(repr(error)[:500])
        except Exception:
            pass

    over.clear()
    clients = [processes.Process(target=run) for _ in range(ATTACKERS)]
    for client in clients:
        client.start()
    for _ in clients:
        assert ready.acquire(timeout=60), f"{attack.__name__} does not begin"
    median, last = behaved(SECONDS)
    over.set()
    for client in clients:
        client.join(60)
    assert server.poll() is None, f"{attack.__name__} ended the server"
    assert failures.empty(), (attack.__name__, failures.get())
    return median, last


try:
    behaved(1)
    results = {}
    for attack in (too_long, writes, histories, searches, half_requests, long_heads, crowds):
        before = behaved(SECONDS)
        during = attacked(attack)
        results[attack.__name__] = {"before_ms": [round(1000 * value, 1) for value in before], "during_ms": [round(1000 * value, 1) for value in during], "ratio": round(during[1] / before[1], 2), "peak_mb": peak() >> 20}
        print(json.dumps({attack.__name__: results[attack.__name__]}), flush=True)
    assert httpx.get(f"{URL}/ok").status_code == 200
    assert peak() < LIMIT, f"{peak() >> 20} MB"
    slowed = {name: result for name, result in results.items() if RATIO and result["ratio"] > RATIO}
    assert not slowed, slowed
finally:
    server.send_signal(signal.SIGKILL)
    server.wait()
    with contextlib.suppress(OSError):
        os.rmdir(CGROUP)
