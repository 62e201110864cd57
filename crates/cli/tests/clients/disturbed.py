"""Clients that are cut off at random moments and come back, while the server is killed now and then.

usage: disturbed.py BINARY FOLDER ASSISTANT RUNS CUTS KILLS
Every client must have received exactly what an undisturbed one receives.
"""

import json
import random
import re
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx

BINARY, FOLDER, ASSISTANT = sys.argv[1:4]
RUNS, CUTS, KILLS = map(int, sys.argv[4:7])
QUESTION = {"messages": [{"role": "user", "content": "What is the rate for 8539.52.00?"}]}
MODES = ["values", "updates", "messages-tuple", "custom"]
random.seed(7)


class Server:
    def __init__(self):
        self.address = "127.0.0.1:0"
        self.start()

    def start(self):
        command = [BINARY, "serve", "--address", self.address]
        self.process = subprocess.Popen(command, cwd=FOLDER, stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            if found := re.search(r"listens on http://(\S+?);", line):
                self.address = found[1]
                break
        else:
            raise SystemExit("the server does not start")
        threading.Thread(target=self.process.stderr.read, daemon=True).start()

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.start()


server = Server()


def ask(method, path, **how):
    """A request, again and again while the server is away. The key makes it one request however often it is sent."""
    for _ in range(200):
        try:
            response = httpx.request(method, f"http://{server.address}{path}", timeout=10, **how)
            response.raise_for_status()
            return response.json()
        except httpx.TransportError:
            time.sleep(0.05)
    raise AssertionError("the server does not come back")


def listen(path, after, patience):
    """Events after one, until the stream ends or patience does. The last value is whether it ended."""
    headers = {"last-event-id": after} if after else {}
    until, found, event = time.monotonic() + patience, [], {}
    try:
        with httpx.stream("GET", f"http://{server.address}{path}", headers=headers, timeout=10) as response:
            for line in response.iter_lines():
                name, _, value = line.partition(": ")
                if name in ("id", "event", "data"):
                    event[name] = value
                elif not line and event:
                    found.append((event["id"], event["event"], event["data"]))
                    event = {}
                if time.monotonic() > until:
                    return found, False
            return found, True
    except (httpx.TransportError, KeyError):
        return found, False


def follow(number):
    thread = ask("POST", "/threads", json={})["thread_id"]
    body = {"assistant_id": ASSISTANT, "input": QUESTION, "stream_mode": MODES}
    run = ask("POST", f"/threads/{thread}/runs", json=body, headers={"idempotency-key": "only"})["run_id"]
    path = f"/threads/{thread}/runs/{run}/stream"
    if number % 2:
        path += "?format=ibid"
    heard, ended, cuts = [], False, 0
    while not ended:
        patience = random.uniform(0.0, 0.12) if cuts < CUTS else 60
        more, ended = listen(path, heard[-1][0] if heard else None, patience)
        heard += more
        cuts += 1
        # A stream that ends while the run is under way was cut off by the server's end.
        ended = ended and ask("GET", f"/threads/{thread}/runs/{run}")["status"] not in ("pending", "running")
    whole, ended = listen(path, None, 60)
    while not ended:
        # The server was killed meanwhile, so that was no undisturbed client.
        time.sleep(0.1)
        whole, ended = listen(path, None, 60)
    assert [one[0] for one in heard] == [one[0] for one in whole], (number, [one[0] for one in heard], [one[0] for one in whole])
    assert heard == whole, number
    if number % 2:
        assert [int(one[0]) for one in whole] == list(range(1, len(whole) + 1)), "numbers without gaps"
        end = json.loads(whole[-1][2])
        assert whole[-1][1] == "ended" and end["status"] == "done" and end["message"]["text"], end
    return cuts


done = threading.Event()


def disturb():
    for _ in range(KILLS):
        if done.wait(random.uniform(0.3, 1.0)):
            return
        server.kill()


killing = threading.Thread(target=disturb)
killing.start()
try:
    with ThreadPoolExecutor(8) as pool:
        cuts = sum(pool.map(follow, range(RUNS)))
    done.set()
    killing.join()
finally:
    server.process.kill()
print(f"{RUNS} runs, cut off {cuts} times, {KILLS} kills")
