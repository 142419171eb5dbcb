"""The reward function for TRL: one HTTP call for a batch of completions, in micro-batches of `batch` items."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from .client import Item, RewardClient

RewardFunction = Callable[..., list[float]]


def reward_function(
    url: str,
    token: str | None = None,
    *,
    max_tokens: int | None = None,
    eos_token_id: int | None = None,
    column: str = "instance",
    **client: Any,
) -> RewardFunction:
    """A function for `GRPOTrainer(reward_funcs=...)`.

    The data set's `column` holds the instance, as JSON text or as an object. A completion of `max_tokens` tokens that does not end in
    `eos_token_id` counts as truncated. Further arguments are RewardClient's. Raises RewardServiceError rather than guess a score.
    """
    service = RewardClient(url, token, **client)

    def envwright_reward(
        prompts: Sequence[Any],
        completions: Sequence[Any],
        completion_ids: Sequence[Sequence[int]] | None = None,
        log_metric: Callable[[str, float], None] | None = None,
        **columns: Any,
    ) -> list[float]:
        if column not in columns:
            raise ValueError(f"the data set has no column {column!r}; set remove_unused_columns=False")
        items: list[Item] = []
        for i, completion in enumerate(completions):
            instance = columns[column][i]
            item: Item = {
                "instance": instance if isinstance(instance, str) else json.dumps(instance),
                "completion": _text(completion),
            }
            if completion_ids is not None:
                ids = completion_ids[i]
                item["tokens"] = len(ids)
                cut = max_tokens is not None and len(ids) >= max_tokens
                if cut and (eos_token_id is None or ids[-1] != eos_token_id):
                    item["finish_reason"] = "length"
            items.append(item)
        results = service.score(items)
        if log_metric is not None and results:
            log_metric("valid", sum(r["valid"] for r in results) / len(results))
            log_metric("optimal", sum(r["optimal"] for r in results) / len(results))
            log_metric("rewards/accuracy", sum(r["accuracy"] for r in results) / len(results))
            log_metric("rewards/length", sum(r["length"] for r in results) / len(results))
            log_metric("accuracy_weight", results[0]["weight"])
        return [float(r["score"]) for r in results]

    return envwright_reward


def _text(completion: Any) -> str:
    """A completion is text, or in conversational data a list of messages."""
    if isinstance(completion, str):
        return completion
    return "".join(str(message.get("content") or "") for message in completion)
