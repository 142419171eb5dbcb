"""The client of the reward service: batches over HTTP, with a time limit, and tried again while an outage lasts. Standard library only.

Failures are never scores: what cannot be scored raises RewardServiceError.
"""

from __future__ import annotations

import difflib
import http.client
import inspect
import json
import logging
import random
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypedDict
from urllib.parse import urlsplit

MAX_BATCH = 4096
_RETRIED = frozenset({408, 429, 500, 502, 503, 504})
# Longest pause between two attempts, in seconds.
_LONGEST_PAUSE = 15.0
_log = logging.getLogger("envwright")


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

    Without `reward` (as in a recipe) the stand-alone service pays the accuracy term alone, and 0 for whatever is not valid.

    A batch that fails in a way that may pass is sent again for `retry_for` seconds, ten minutes unless given, so that a service that is
    started anew does not end a training job; each attempt may take `timeout` seconds. `retries`, where given, bounds the attempts after
    the first as well. A refusal (a wrong token, a request that the service does not understand) raises at once.

    Safe to share between threads: every request has a connection of its own.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        timeout: float = 60.0,
        retry_for: float = 600.0,
        retries: int | None = None,
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
        self.retry_for = retry_for
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
        started = time.monotonic()
        pause = self.backoff
        attempts = 0
        while True:
            attempts += 1
            try:
                status, text = self._request(body, key)
                if status == 200:
                    return json.loads(text)
                failure = f"status {status}: {text[:300].decode(errors='replace')}"
                passing = status in _RETRIED
            except (OSError, http.client.HTTPException) as error:
                failure, passing = f"{type(error).__name__}: {error}", True
            except ValueError:
                failure, passing = "the answer is not JSON", True
            elapsed = time.monotonic() - started
            left = self.retry_for - elapsed
            if not passing or left <= 0 or (self.retries is not None and attempts > self.retries):
                raise RewardServiceError(f"{self.url}: {failure} ({attempts} attempts in {elapsed:.0f} s)")
            _log.warning("%s: %s; trying again for up to %.0f s", self.url, failure, left)
            time.sleep(min(left, pause * (0.5 + random.random())))
            pause = min(2 * pause, _LONGEST_PAUSE)

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


def refuse_unknown(function: Callable[..., Any], unknown: Iterable[str]) -> None:
    """Raises TypeError for an option that is none: a misspelt one would be passed over, and the scores be others than were asked for."""
    parameters = inspect.signature(function).parameters.values()
    options = sorted(p.name for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY)
    for name in unknown:
        close = difflib.get_close_matches(name, options, n=1)
        meant = f", did you mean {close[0]!r}?" if close else ""
        raise TypeError(f"{function.__name__} has no option {name!r}{meant} (options: {', '.join(options)})")


def one_rendering(given: str | None, recorded: str | None) -> str | None:
    """The rendering of a row: what the data set records, or else what the caller says. Raises ValueError where they differ."""
    if given is not None and recorded is not None and given != recorded:
        raise ValueError(f"rendering is {given!r}, but the row was exported with {recorded!r}: leave it out, or export the set again")
    return recorded if given is None else given
