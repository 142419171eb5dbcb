"""A fake service whose answers a test chooses, and the real one where ENVWRIGHT_REWARD_URL names it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest


class Fake:
    """Scores every item by the length of its completion. `faults` are given first: a status, "cut", "garbage" or "short"."""

    def __init__(self) -> None:
        self.faults: list[int | str] = []
        self.bodies: list[dict[str, Any]] = []
        self.tokens: list[str | None] = []
        self.keys: list[str | None] = []
        self.broken: set[int] = set()
        self.url = ""


@pytest.fixture
def fake() -> Iterator[Fake]:
    state = Fake()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            state.bodies.append(body)
            state.tokens.append(self.headers.get("authorization"))
            state.keys.append(self.headers.get("idempotency-key"))
            fault = state.faults.pop(0) if state.faults else None
            if fault == "cut":
                self.connection.close()
                return
            results = [
                {
                    "id": item["id"],
                    "index": i,
                    "score": float(len(item["completion"])),
                    "valid": True,
                    "optimal": False,
                    "code": "valid",
                    "reason": "",
                    "accuracy": 1.0,
                    "length": 0.5,
                    "weight": 0.9,
                    "gap": 0.0,
                    "tokens": item.get("tokens", 1),
                    "error": None,
                }
                for i, item in enumerate(body["items"])
            ]
            for i in state.broken & set(range(len(results))):
                results[i].update(score=None, error={"code": "invalid-instance", "message": "no board"})
            if fault == "short":
                results = results[:-1]
            text = b"{" if fault == "garbage" else json.dumps({"results": results}).encode()
            self.send_response(fault if isinstance(fault, int) else 200)
            self.send_header("content-length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield state
    server.shutdown()
    thread.join()
    server.server_close()
