"""The client of the reward service: batches over HTTP, with a time limit and retries. Standard library only.

Failures are never scores: what cannot be scored raises RewardServiceError.
"""

from __future__ import annotations

import http.client
import json
import random
import time
import uuid
from collections.abc import Sequence
from typing import Any, TypedDict
from urllib.parse import urlsplit

MAX_BATCH = 4096
_RETRIED = frozenset({408, 429, 500, 502, 503, 504})


class _RequiredItem(TypedDict):
    instance: str | dict[str, Any]
    completion: str


class Item(_RequiredItem, total=False):
    """One completion to score; `tokens` is its length in the policy's tokens."""

    tokens: int
    finish_reason: str


class Result(TypedDict):
    """A scored item; `gap` is None unless the plan is valid."""

    id: int
    index: int
    score: float
    valid: bool
    optimal: bool
    code: str
    reason: str
    accuracy: float
    length: float
    weight: float
    gap: float | None
    tokens: int
    error: None


class RewardServiceError(RuntimeError):
    """The service could not be reached, refused the batch, or could not judge an item."""


class RewardClient:
    """Scores batches. `options` are sent with every request: family, rendering, objective, reward, ema_valid.

    Safe to share between threads: every request has a connection of its own.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        timeout: float = 60.0,
        retries: int = 4,
        backoff: float = 0.25,
        batch: int = 256,
        options: dict[str, Any] | None = None,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"the service's url is {url!r}, expected http://host:port")
        if not 1 <= batch <= MAX_BATCH:
            raise ValueError(f"batch is {batch}, expected 1 to {MAX_BATCH}")
        self.url = url.rstrip("/")
        self.token = token
        self.timeout = timeout
        self.retries = retries
        self.backoff = backoff
        self.batch = batch
        self.options = {key: value for key, value in (options or {}).items() if value is not None}

    def score(self, items: Sequence[Item]) -> list[Result]:
        """One result per item, in order. Raises RewardServiceError if any could not be judged."""
        results: list[Result] = []
        for start in range(0, len(items), self.batch):
            results.extend(self._score_batch(items[start : start + self.batch]))
        return results

    def _score_batch(self, items: Sequence[Item]) -> list[Result]:
        body = json.dumps({**self.options, "items": [{"id": i, **item} for i, item in enumerate(items)]}).encode()
        answer = self._post(body)
        results = answer.get("results") if isinstance(answer, dict) else None
        if not isinstance(results, list) or len(results) != len(items):
            raise RewardServiceError(f"{self.url} answered without one result per item")
        for i, result in enumerate(results):
            if not isinstance(result, dict) or result.get("id") != i:
                raise RewardServiceError(f"{self.url} answered out of order at item {i}")
            if result.get("error") is not None or not isinstance(result.get("score"), (int, float)):
                raise RewardServiceError(f"item {i} could not be judged: {result.get('error')}")
        return results

    def _post(self, body: bytes) -> Any:
        # A batch whose answer was lost may have been counted: the service answers a key that it knows without judging again.
        key = uuid.uuid4().hex
        failure = ""
        for attempt in range(self.retries + 1):
            if attempt > 0:
                time.sleep(self.backoff * 2 ** (attempt - 1) * (0.5 + random.random()))
            try:
                status, text = self._request(body, key)
            except (OSError, http.client.HTTPException) as error:
                failure = f"{type(error).__name__}: {error}"
                continue
            if status == 200:
                try:
                    return json.loads(text)
                except ValueError:
                    failure = "the answer is not JSON"
                    continue
            failure = f"status {status}: {text[:300].decode(errors='replace')}"
            if status not in _RETRIED:
                break
        raise RewardServiceError(f"{self.url}: {failure} ({attempt + 1} attempts)")

    def _request(self, body: bytes, key: str) -> tuple[int, bytes]:
        parts = urlsplit(self.url)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        connection = kind(parts.hostname or "", parts.port, timeout=self.timeout)
        try:
            headers = {"content-type": "application/json", "idempotency-key": key}
            if self.token:
                headers["authorization"] = f"Bearer {self.token}"
            connection.request("POST", f"{parts.path}/v1/score", body, headers)
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()
