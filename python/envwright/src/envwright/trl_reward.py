"""The reward function for TRL: one HTTP call for a batch of completions, in micro-batches of `batch` items."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from .client import Item, Result, RewardClient, one_rendering, refuse_unknown

RewardFunction = Callable[..., list[float]]


def reward_function(
    url: str,
    token: str | None = None,
    *,
    family: str | None = None,
    rendering: str | None = None,
    objective: str | None = None,
    reward: dict[str, Any] | None = None,
    ema_valid: float | None = None,
    max_tokens: int | None = None,
    eos_token_id: int | None = None,
    column: str = "instance",
    timeout: float = 60.0,
    retry_for: float = 600.0,
    retries: int | None = None,
    backoff: float = 0.25,
    batch: int = 256,
    **unknown: Any,
) -> RewardFunction:
    """A function for `GRPOTrainer(reward_funcs=...)`.

    The data set's `column` holds the instance, as JSON text or as an object. Its column `rendering`, where it has one as exported sets do, says
    how answers are read. `family`, `objective`, `reward` (as in a recipe) and `ema_valid` are the service's: without `reward` the stand-alone
    service pays the accuracy term alone, and 0 for whatever is not valid. A completion of `max_tokens` tokens that does not end in
    `eos_token_id` counts as truncated. The rest is RewardClient's, `retry_for` among it: how many seconds an outage is waited out.

    The function raises RewardServiceError rather than guess a score, and TypeError here for an option that is none.
    """
    if unknown:
        refuse_unknown(reward_function, unknown)
    shared = {"family": family, "objective": objective, "reward": reward, "ema_valid": ema_valid}
    connection: dict[str, Any] = {"timeout": timeout, "retry_for": retry_for, "retries": retries, "backoff": backoff, "batch": batch}
    services: dict[str | None, RewardClient] = {}

    def service(read_as: str | None) -> RewardClient:
        if read_as not in services:
            services[read_as] = RewardClient(url, token, options={**shared, "rendering": read_as}, **connection)
        return services[read_as]

    # What is wrong with url or batch is said here, before training.
    service(rendering)

    def envwright_reward(
        prompts: Sequence[Any],
        completions: Sequence[Any],
        completion_ids: Sequence[Sequence[int]] | None = None,
        log_metric: Callable[[str, float], None] | None = None,
        **columns: Any,
    ) -> list[float]:
        if column not in columns:
            raise ValueError(f"the data set has no column {column!r}; set remove_unused_columns=False")
        renderings = columns.get("rendering")
        # A request has one rendering; a data set has one as well, unless it was put together from several.
        rows: dict[str | None, list[int]] = {}
        items: list[Item] = []
        for i, completion in enumerate(completions):
            rows.setdefault(one_rendering(rendering, None if renderings is None else renderings[i]), []).append(i)
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
        scored: dict[int, Result] = {}
        for read_as, indices in rows.items():
            scored.update(zip(indices, service(read_as).score([items[i] for i in indices]), strict=True))
        results = [scored[i] for i in range(len(items))]
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
