"""Tokens of an OpenID Connect issuer: those that are good are accepted, all others are not.

usage: oidc.py BINARY FOLDER
"""

import base64
import json
import re
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

BINARY, FOLDER = sys.argv[1:3]
key, stranger = (rsa.generate_private_key(public_exponent=65537, key_size=2048) for _ in range(2))


def number(value):
    return base64.urlsafe_b64encode(value.to_bytes((value.bit_length() + 7) // 8, "big")).rstrip(b"=").decode()


asked = []
slow = threading.Event()


class Issuer(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        asked.append(self.path)
        if slow.is_set():
            time.sleep(0.5)
        public = key.public_key().public_numbers()
        jwk = {"kty": "RSA", "kid": "one", "alg": "RS256", "use": "sig", "n": number(public.n), "e": number(public.e)}
        told = {
            "/.well-known/openid-configuration": {"issuer": URL, "jwks_uri": f"{URL}/keys"},
            "/keys": {"keys": [jwk]},
        }.get(self.path)
        body = json.dumps(told).encode()
        self.send_response(200 if told else 404)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


issuer = ThreadingHTTPServer(("127.0.0.1", 0), Issuer)
URL = f"http://127.0.0.1:{issuer.server_port}"
threading.Thread(target=issuer.serve_forever, daemon=True).start()
with open(f"{FOLDER}/ibid.toml", "a") as config:
    config.write(f'\n[serve.oidc]\nissuer = "{URL}"\naudience = "desk"\n')
server = subprocess.Popen([BINARY, "serve", "--address", "127.0.0.1:0"], cwd=FOLDER, stderr=subprocess.PIPE, text=True)
try:
    for line in server.stderr:
        if found := re.search(r"listens on (http://\S+?);", line):
            break
    threading.Thread(target=server.stderr.read, daemon=True).start()
    client = httpx.Client(base_url=found[1], timeout=20)
    good = {"iss": URL, "aud": "desk", "sub": "ana", "tenant": "acme", "exp": time.time() + 600}

    def ask(claims, signer=key, kid="one", algorithm="RS256"):
        token = jwt.encode(claims, signer, algorithm=algorithm, headers={"kid": kid})
        return client.post("/threads", json={}, headers={"authorization": f"Bearer {token}"})

    # Those who come first all wait for one answer of the issuer, and none for each other.
    slow.set()
    with ThreadPoolExecutor(20) as many:
        first = list(many.map(lambda number: ask(good, kid=f"unknown-{number}" if number % 4 == 3 else "one"), range(20)))
    assert [answer.status_code for answer in first] == [200, 200, 200, 401] * 5, first
    slow.clear()

    made = ask(good)
    assert made.status_code == 200, made.text
    thread = made.json()["thread_id"]
    token = jwt.encode({**good, "tenant": "other"}, key, algorithm="RS256", headers={"kid": "one"})
    assert client.get(f"/threads/{thread}", headers={"authorization": f"Bearer {token}"}).status_code == 404

    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    confused = ".".join(
        [
            base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()
            for part in ({"alg": "none", "kid": "one"}, {**good, "exp": int(good["exp"])})
        ]
        + [""]
    )
    shared = jwt.api_jws.PyJWS().encode(json.dumps(good).encode(), number(int.from_bytes(public, "big")), algorithm="HS256", headers={"kid": "one"})
    refused = {
        "another audience": ask({**good, "aud": "else"}),
        "another issuer": ask({**good, "iss": "http://127.0.0.1:1"}),
        "not yet": ask({**good, "nbf": time.time() + 600}),
        "a strange role": ask({**good, "role": "king"}),
        "expired": ask({**good, "exp": time.time() - 600}),
        "without an end": ask({name: value for name, value in good.items() if name != "exp"}),
        "signed by a stranger": ask(good, signer=stranger),
        "an unknown key": ask(good, kid="two"),
        "no tenant": ask({name: value for name, value in good.items() if name != "tenant"}),
        "a strange tenant": ask({**good, "tenant": "a b"}),
        "not signed": client.post("/threads", json={}, headers={"authorization": f"Bearer {confused}"}),
        "signed with a shared secret": client.post("/threads", json={}, headers={"authorization": f"Bearer {shared}"}),
        "no token": client.post("/threads", json={}),
        "nonsense": client.post("/threads", json={}, headers={"authorization": "Bearer a.b.c"}),
    }
    for what, answer in refused.items():
        assert answer.status_code == 401, (what, answer.status_code, answer.text)
        assert answer.headers["www-authenticate"] == "Bearer" and answer.json()["trace_id"], what

    # Who the thread belongs to, and what a holder may do, stand in the token, too.
    def bearer(claims):
        token = jwt.encode({**good, **claims}, key, algorithm="RS256", headers={"kid": "one"})
        return {"authorization": f"Bearer {token}"}

    assert client.get(f"/threads/{thread}", headers=bearer({})).json()["owner"] == "user:ana"
    assert client.get(f"/threads/{thread}", headers=bearer({"sub": "eva"})).status_code == 404
    assert client.get(f"/threads/{thread}", headers=bearer({"sub": "eva", "role": "admin"})).status_code == 200
    for role, status in ((None, 403), ("reader", 403), ("editor", 403), ("admin", 200), (["staff", "admin"], 200), (["staff"], 403)):
        assert client.get("/insights", headers=bearer({"role": role})).status_code == status, role

    # Unknown keys do not make it ask the issuer again and again, nor wait for one that is down.
    before = len(asked)
    for number_of in range(50):
        assert ask(good, kid=f"unknown-{number_of}").status_code == 401
    assert len(asked) == before, asked
    issuer.shutdown()
    issuer.server_close()
    began = time.time()
    for number_of in range(50):
        assert ask(good, kid=f"down-{number_of}").status_code == 401
    assert ask(good).status_code == 200, "the keys that are known go on to work"
    assert time.time() - began < 10, time.time() - began
finally:
    server.kill()
print("ok")
