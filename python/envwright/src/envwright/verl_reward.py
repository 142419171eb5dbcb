"""`compute_score` for verl: `reward.custom_reward_function.path` names this file, `.name` is compute_score.

verl calls it once per completion, concurrently on one event loop; calls that meet within `linger` seconds share one request.
"""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any
from weakref import WeakKeyDictionary

from envwright.client import Item, Result, RewardClient, one_rendering, refuse_unknown


class _Batcher:
    """Gathers items for `linger` seconds, or until `batch` of them, and scores them in one request on a thread."""

    def __init__(self, client: RewardClient, linger: float) -> None:
        self.client = client
        self.linger = linger
        self.waiting: list[tuple[Item, asyncio.Future[Result]]] = []
        self.timer: asyncio.TimerHandle | None = None
        self.tasks: set[asyncio.Task[None]] = set()

    def score(self, item: Item) -> asyncio.Future[Result]:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Result] = loop.create_future()
        self.waiting.append((item, future))
        if len(self.waiting) >= self.client.batch:
            self._flush()
        elif self.timer is None:
            self.timer = loop.call_later(self.linger, self._flush)
        return future

    def _flush(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None
        batch, self.waiting = self.waiting, []
        if batch:
            task = asyncio.get_running_loop().create_task(self._send(batch))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)

    async def _send(self, batch: list[tuple[Item, asyncio.Future[Result]]]) -> None:
        try:
            results = await asyncio.to_thread(self.client.score, [item for item, _ in batch])
        except BaseException as error:  # noqa: BLE001 (whoever waits has to hear of it)
            for _, future in batch:
                if not future.done():
                    future.set_exception(error)
            return
        for (_, future), result in zip(batch, results, strict=True):
            if not future.done():
                future.set_result(result)


_batchers: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, _Batcher]] = WeakKeyDictionary()
_tokenizers: dict[str, Any] = {}


async def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: str,
    extra_info: dict[str, Any] | None = None,
    *,
    url: str,
    token: str | None = None,
    token_env: str = "ENVWRIGHT_REWARD_TOKEN",
    timeout: float = 60.0,
    retry_for: float = 600.0,
    retries: int | None = None,
    batch: int = 256,
    linger: float = 0.02,
    family: str | None = None,
    rendering: str | None = None,
    objective: str | None = None,
    reward: dict[str, Any] | None = None,
    tokenizer: str | None = None,
    max_tokens: int | None = None,
    response_length: int | None = None,
    reward_router_address: str | None = None,
    reward_model_tokenizer: Any = None,
    **unknown: Any,
) -> dict[str, float]:
    """The score of one completion: `score` and a constant set of numbers beside it.

    `ground_truth` is the instance as JSON text, `extra_info["rendering"]`, where exported rows have it, how the answer is read. `family`,
    `objective` and `reward` (as in a recipe) are the service's: without `reward` the stand-alone service pays the accuracy term alone, and 0
    for whatever is not valid. `retry_for` is how many seconds an outage is waited out. verl's managers also pass `reward_router_address` and
    `reward_model_tokenizer` where a reward model runs; they are not used. Any other option raises TypeError.

    The completion's length is `response_length`, as an argument or in `extra_info`, where verl's reward manager gives one. Those of 0.9.1
    give the decoded text alone: then, with `tokenizer` (a folder or hub name), the text is tokenised again and the end token added, which is
    off by some tokens where the policy did not sample the tokeniser's own pieces. Without either the service estimates it. `max_tokens`
    tokens or more count as truncated, so an answer that ends with the very last token does as well where its length is given. The token is
    best given by environment.
    """
    if unknown:
        refuse_unknown(compute_score, unknown)
    read_as = one_rendering(rendering, (extra_info or {}).get("rendering"))
    options = {"family": family, "rendering": read_as, "objective": objective, "reward": _plain(reward)}
    secret = token or os.environ.get(token_env)
    key = json.dumps([url, secret, timeout, retry_for, retries, batch, linger, options], sort_keys=True)
    mine = _batchers.setdefault(asyncio.get_running_loop(), {})
    if key not in mine:
        client = RewardClient(url, secret, timeout=timeout, retry_for=retry_for, retries=retries, batch=batch, options=options)
        mine[key] = _Batcher(client, linger)
    item: Item = {"instance": ground_truth, "completion": solution_str}
    sampled = response_length if response_length is not None else (extra_info or {}).get("response_length")
    if sampled is not None or tokenizer is not None:
        # What was decoded has lost its end token: an answer that did not fill the limit had one.
        length = int(sampled) if sampled is not None else _count(tokenizer or "", solution_str)
        truncated = max_tokens is not None and length >= max_tokens
        item["tokens"] = length if sampled is not None or truncated else length + 1
        if truncated:
            item["finish_reason"] = "length"
    result = await mine[key].score(item)
    return {
        "score": float(result["score"]),
        "valid": float(result["valid"]),
        "optimal": float(result["optimal"]),
        "accuracy": float(result["accuracy"]),
        "length": float(result["length"]),
        "accuracy_weight": float(result["weight"]),
        "tokens": float(result["tokens"]),
    }


def _count(tokenizer: str, text: str) -> int:
    if tokenizer not in _tokenizers:
        from transformers import AutoTokenizer

        _tokenizers[tokenizer] = AutoTokenizer.from_pretrained(tokenizer)
    return len(_tokenizers[tokenizer].encode(text, add_special_tokens=False))


def _plain(value: Any) -> Any:
    """Hydra hands over its own containers; JSON wants plain ones."""
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    return {str(key): value[key] for key in value}
