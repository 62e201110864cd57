"""Requests that no client should send: the server refuses them, and goes on.

usage: malformed.py HOST:PORT COUNT
"""

import json
import random
import socket
import sys
from concurrent.futures import ThreadPoolExecutor

HOST, PORT = sys.argv[1].split(":")
COUNT = int(sys.argv[2])
METHODS = ["GET", "POST", "PATCH", "DELETE", "PUT", "HEAD", "OPTIONS", "TRACE", "get", "BREW", ""]
PATHS = [
    "/threads", "/threads/search", "/threads/count", "/threads/{id}", "/threads/{id}/state", "/threads/{id}/history",
    "/threads/{id}/runs", "/threads/{id}/runs/stream", "/threads/{id}/runs/{id}/join", "/threads/{id}/runs/{id}/stream",
    "/runs", "/runs/stream", "/runs/wait", "/runs/batch", "/runs/cancel", "/assistants/search", "/assistants/{id}",
    "/assistants/{id}/graph", "/v1/models", "/v1/models/{id}", "/v1/chat/completions", "/v1/responses", "/v1/responses/{id}",
    "/mcp", "/documents", "/documents/fetch", "/documents/{id}", "/documents/{id}/original", "/documents/{id}/pages/{id}",
    "/search", "/openapi.json", "/docs", "/readyz", "/nowhere", "*", "", "//", "/%", "/..%2f..%2fetc/passwd", "/\x00",
]
IDS = ["00000000-0000-0000-0000-000000000000", "x", "-1", "%00", "é", "' OR 1=1 --", "../../x", "a" * 3000, "", "{}"]


def nested(depth):
    return "[" * depth + "]" * depth


def body(chance):
    kinds = [
        lambda: "", lambda: "{", lambda: "null", lambda: "[]", lambda: '"text"', lambda: "1e999", lambda: nested(200000),
        lambda: json.dumps({"assistant_id": 7, "input": []}),
        lambda: json.dumps({"assistant_id": "rehearsal", "input": chance.choice([7, [[]], {"messages": 7}, {"messages": [{}]}])}),
        lambda: json.dumps({"model": "rehearsal", "messages": chance.choice([7, [7], [{"role": 7}], []])}),
        lambda: json.dumps({"query": "x" * chance.choice([0, 10, 100000]), "limit": chance.choice([-1, 0, 10**20, "x"])}),
        lambda: json.dumps({"limit": 10**30, "offset": -5, "ids": ["x"], "metadata": {"a": nested(50)}}),
        lambda: json.dumps({"jsonrpc": "2.0", "method": chance.choice(["tools/call", "x", 7]), "id": 1, "params": {}}),
        lambda: json.dumps({"url": chance.choice(["x", "http://", "http://169.254.169.254/", "ftp://x", "http://[::1]/"])}),
        lambda: "".join(chr(chance.randrange(1, 0x2FF)) for _ in range(chance.randrange(500))),
    ]
    return chance.choice(kinds)().encode("utf-8", "surrogatepass")


def request(chance):
    if chance.random() < 0.1:
        return bytes(chance.randrange(256) for _ in range(chance.randrange(400)))
    path = chance.choice(PATHS)
    while "{id}" in path:
        path = path.replace("{id}", chance.choice(IDS), 1)
    if chance.random() < 0.3:
        path += "?" + chance.choice(["limit=-1", "limit=x", "stream_mode=x", "stream_mode=%5B%22", "&&&==", "format=x", "select=" + "a," * 500])
    data = body(chance)
    headers = [
        f"Host: {chance.choice(['127.0.0.1', 'localhost', 'evil.example', '', '127.0.0.1:99999'])}",
        f"Content-Type: {chance.choice(['application/json', 'text/plain', 'multipart/form-data', 'multipart/form-data; boundary=x', '', 'a' * 500])}",
        f"Content-Length: {chance.choice([len(data), len(data), len(data), 0, 5, -1, 'x', 10**20])}",
        "Accept: application/json, text/event-stream",
        "Connection: close",
    ]
    if chance.random() < 0.2:
        headers.append(chance.choice(["Last-Event-ID: x", "Last-Event-ID: 99999999999999999999", "Origin: null", "traceparent: x", "X-Api-Key: \xff", "Range: bytes=9-1", "A" * 9000 + ": b", "Transfer-Encoding: chunked", "Expect: 100-continue"]))
    head = f"{chance.choice(METHODS)} {path} HTTP/{chance.choice(['1.1', '1.1', '1.1', '1.0', '2', '9.9'])}\r\n" + "\r\n".join(headers) + "\r\n\r\n"
    return head.encode("utf-8", "surrogatepass") + data


def send(number):
    data = request(random.Random(number))
    with socket.create_connection((HOST, int(PORT)), timeout=15) as connection:
        try:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            answer = connection.recv(64)
        except TimeoutError:
            raise AssertionError(f"request {number} is not answered: {data[:400]!r}") from None
        except OSError:
            # It has hung up, which is an answer.
            return None
    status = answer.split(b" ")[1:2]
    if status and status[0][:1] == b"5":
        raise AssertionError(f"request {number} is answered with {status[0]!r}: {data[:400]!r}")
    return status[0] if status else None


with ThreadPoolExecutor(16) as pool:
    seen = list(pool.map(send, range(COUNT)))
with socket.create_connection((HOST, int(PORT)), timeout=5) as connection:
    connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert b" 200 " in connection.recv(64)
counts = {status: seen.count(status) for status in set(seen)}
assert counts.get(b"404", 0) > 0 and (counts.get(b"422", 0) + counts.get(b"400", 0)) > 0, counts
print(f"{COUNT} requests: {counts}")
