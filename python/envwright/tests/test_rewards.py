from __future__ import annotations

import asyncio
import json
import os
import socket
from typing import Any

import pytest
from conftest import Fake
from envwright.train_trl import metrics_line

from envwright import Item, RewardClient, RewardServiceError, compute_score, reward_function, verl_reward


def client(fake: Fake, **options: Any) -> RewardClient:
    return RewardClient(fake.url, backoff=0.01, **options)


def test_items_come_back_in_order_over_several_batches(fake: Fake) -> None:
    results = client(fake, batch=4).score([{"instance": "{}", "completion": "x" * n} for n in range(10)])
    assert [r["score"] for r in results] == list(range(10))
    assert [len(body["items"]) for body in fake.bodies] == [4, 4, 2]


@pytest.mark.parametrize("fault", [503, 500, 429, "cut", "garbage"])
def test_a_passing_fault_is_retried(fake: Fake, fault: int | str) -> None:
    fake.faults = [fault, fault]
    assert client(fake).score([{"instance": "{}", "completion": "abc"}])[0]["score"] == 3
    assert len(fake.bodies) == 3


def test_a_batch_keeps_its_key_when_it_is_sent_again_and_shares_it_with_no_other(fake: Fake) -> None:
    fake.faults = ["cut", 503]
    client(fake, batch=1).score([{"instance": "{}", "completion": "a"}] * 2)
    assert len(fake.keys) == 4
    assert fake.keys[0] is not None
    assert fake.keys[0] == fake.keys[1] == fake.keys[2]
    assert fake.keys[3] not in (None, fake.keys[0])


@pytest.mark.parametrize("fault", [400, 401, 413])
def test_a_refusal_raises_at_once(fake: Fake, fault: int) -> None:
    fake.faults = [fault]
    with pytest.raises(RewardServiceError, match=str(fault)):
        client(fake).score([{"instance": "{}", "completion": ""}])
    assert len(fake.bodies) == 1


def test_an_item_that_could_not_be_judged_raises(fake: Fake) -> None:
    fake.broken = {1}
    with pytest.raises(RewardServiceError, match="no board"):
        client(fake).score([{"instance": "{}", "completion": ""}] * 3)


def test_an_answer_that_leaves_an_item_out_raises(fake: Fake) -> None:
    fake.faults = ["short"]
    with pytest.raises(RewardServiceError, match="one result per item"):
        client(fake).score([{"instance": "{}", "completion": ""}] * 3)


def test_an_unreachable_service_raises_and_scores_nothing() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
    with pytest.raises(RewardServiceError, match="2 attempts"):
        reward_function(url, retries=1, backoff=0.01)(prompts=["p"], completions=["c"], instance=["{}"])
    with pytest.raises(RewardServiceError):
        asyncio.run(compute_score("d", "c", "{}", url=url, retries=0))


def test_an_outage_is_waited_out_for_minutes_or_for_the_time_that_is_given(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0

    def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds

    monkeypatch.setattr("time.sleep", sleep)
    monkeypatch.setattr("time.monotonic", lambda: now)
    item: Item = {"instance": "{}", "completion": "abc"}
    # Minutes of a service that is started anew.
    fake.faults = [503] * 20
    assert RewardClient(fake.url).score([item])[0]["score"] == 3
    assert 120 < now < 600
    now = 0.0
    fake.faults = [503] * 1000
    with pytest.raises(RewardServiceError, match="attempts in 600 s"):
        RewardClient(fake.url).score([item])
    assert len(fake.bodies) < 150
    for retry_for in (0.0, 30.0):
        now = 0.0
        with pytest.raises(RewardServiceError, match="503"):
            reward_function(fake.url, retry_for=retry_for)(prompts=["p"], completions=["c"], instance=["{}"])
        assert now == pytest.approx(retry_for)


def test_a_silent_service_times_out() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(RewardServiceError, match="imeout"):
            RewardClient(url, timeout=0.2, retries=0).score([{"instance": "{}", "completion": ""}])


def test_trl_gives_lengths_and_marks_truncation(fake: Fake) -> None:
    logged: dict[str, float] = {}
    reward = reward_function(fake.url, "secret", max_tokens=3, eos_token_id=9)
    scores = reward(
        prompts=["p"] * 3,
        completions=["a", [{"role": "assistant", "content": "bb"}], "ccc"],
        completion_ids=[[1, 9], [1, 2, 9], [1, 2, 3]],
        instance=['{"a": 1}', {"a": 2}, "{}"],
        log_metric=logged.__setitem__,
        trainer_state=None,
    )
    assert scores == [1, 2, 3]
    items = fake.bodies[0]["items"]
    assert [item["tokens"] for item in items] == [2, 3, 3]
    assert [item.get("finish_reason") for item in items] == [None, None, "length"]
    assert json.loads(items[1]["instance"]) == {"a": 2}
    assert fake.tokens == ["Bearer secret"]
    assert logged["valid"] == 1


def test_options_of_the_service_go_with_every_request(fake: Fake) -> None:
    reward = {"length_min": 10, "length_max": 300}
    function = reward_function(fake.url, family="f", rendering="compact", objective="makespan", reward=reward, ema_valid=0.5)
    function(prompts=["p"], completions=["c"], instance=["{}"])
    asyncio.run(compute_score("d", "c", "{}", url=fake.url, family="f", rendering="compact", objective="makespan", reward=reward))
    sent = {"family": "f", "rendering": "compact", "objective": "makespan", "reward": reward}
    assert [{k: v for k, v in body.items() if k != "items"} for body in fake.bodies] == [{**sent, "ema_valid": 0.5}, sent]


def test_a_misspelt_option_is_refused_by_name_and_what_verl_passes_is_not(fake: Fake) -> None:
    with pytest.raises(TypeError, match="reward_function has no option 'objectiv', did you mean 'objective'"):
        reward_function(fake.url, objectiv="makespan")
    with pytest.raises(TypeError, match="compute_score has no option 'max_token', did you mean 'max_tokens'"):
        asyncio.run(compute_score("d", "c", "{}", url=fake.url, max_token=5))
    with pytest.raises(TypeError, match="compute_score has no option 'rewards', did you mean 'reward'"):
        asyncio.run(compute_score("d", "c", "{}", url=fake.url, rewards={}))
    assert fake.bodies == []
    passed: dict[str, Any] = {"reward_router_address": "127.0.0.1:1", "reward_model_tokenizer": object()}
    call = compute_score(data_source="d", solution_str="c", ground_truth="{}", extra_info={"num_turns": None}, url=fake.url, **passed)
    assert asyncio.run(call)["score"] == 1


def test_answers_are_read_in_the_rendering_of_their_row_and_never_in_another(fake: Fake) -> None:
    columns = {"prompts": ["p"] * 3, "completions": ["a", "bb", "ccc"], "instance": ["{}"] * 3}
    scores = reward_function(fake.url)(**columns, rendering=["chat", "compact", "chat"])
    assert scores == [1, 2, 3]
    assert [(body["rendering"], len(body["items"])) for body in fake.bodies] == [("chat", 2), ("compact", 1)]
    with pytest.raises(ValueError, match="rendering is 'chat', but the row was exported with 'compact'"):
        reward_function(fake.url, rendering="chat")(**columns, rendering=["compact"] * 3)
    asyncio.run(compute_score("d", "c", "{}", {"rendering": "compact"}, url=fake.url))
    assert fake.bodies[-1]["rendering"] == "compact"
    with pytest.raises(ValueError, match="exported with 'compact'"):
        asyncio.run(compute_score("d", "c", "{}", {"rendering": "compact"}, url=fake.url, rendering="chat"))


def test_verl_calls_share_requests(fake: Fake) -> None:
    async def all_of_them() -> list[dict[str, float]]:
        return await asyncio.gather(*(compute_score("d", "x" * n, "{}", url=fake.url, batch=64) for n in range(200)))

    results = asyncio.run(all_of_them())
    assert [r["score"] for r in results] == list(range(200))
    assert sum(len(body["items"]) for body in fake.bodies) == 200
    assert len(fake.bodies) <= 5
    assert len({tuple(sorted(r)) for r in results}) == 1
    # Another event loop starts afresh.
    assert asyncio.run(compute_score("d", "xx", "{}", url=fake.url))["score"] == 2


def test_verl_lengths_are_the_sampled_ones_or_counted_again_with_the_end_token(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    class Words:
        def encode(self, text: str, add_special_tokens: bool) -> list[int]:
            assert not add_special_tokens
            return [0] * len(text.split())

    monkeypatch.setitem(verl_reward._tokenizers, "words", Words())

    async def all_of_them() -> None:
        calls: list[tuple[str, dict[str, Any]]] = [
            ("a b", {}),
            ("a b c", {}),
            ("a b c d", {}),
            ("a b", {"response_length": 4}),
            ("a b", {"extra_info": {"response_length": 2}}),
        ]
        for text, more in calls:
            await compute_score("d", text, "{}", url=fake.url, tokenizer="words", max_tokens=4, linger=0, **more)
        await compute_score("d", "a b", "{}", {"index": 3}, url=fake.url)

    asyncio.run(all_of_them())
    items = [body["items"][0] for body in fake.bodies]
    assert [item.get("tokens") for item in items] == [3, 4, 4, 4, 2, None]
    assert [item.get("finish_reason") for item in items] == [None, None, "length", "length", None, None]


def test_verl_failures_reach_every_call_of_the_batch(fake: Fake) -> None:
    fake.broken = {0}

    async def all_of_them() -> list[Any]:
        calls = (compute_score("d", "x", "{}", url=fake.url) for _ in range(5))
        return await asyncio.gather(*calls, return_exceptions=True)

    assert all(isinstance(r, RewardServiceError) for r in asyncio.run(all_of_them()))


def test_a_number_that_is_none_is_null_in_the_metrics() -> None:
    line = metrics_line({"step": 2, "reward": 0.5, "grad_norm": float("nan"), "kl": float("-inf"), "note": "NaN"})
    assert line.endswith("\n")
    assert json.loads(line) == {"step": 2, "reward": 0.5, "grad_norm": None, "kl": None, "note": "NaN"}


BOARD = {
    "size": 3,
    "holes": [[1, 1]],
    "agents": [{"start": [0, 0], "goal": [0, 2]}, {"start": [2, 0], "goal": [2, 1]}],
}
GOLD = "<cell:0,1> <cell:0,2> <next> <cell:2,1>"


@pytest.mark.skipif("ENVWRIGHT_REWARD_URL" not in os.environ, reason="ENVWRIGHT_REWARD_URL names no running service")
def test_the_real_service_scores_a_gold_answer_and_a_wrong_one() -> None:
    url = os.environ["ENVWRIGHT_REWARD_URL"]
    token = os.environ.get("ENVWRIGHT_REWARD_TOKEN")
    real = RewardClient(url, token, options={"rendering": "compact"})
    gold, wrong = real.score([{"instance": BOARD, "completion": GOLD, "tokens": 5}, {"instance": BOARD, "completion": "<cell:1,1>"}])
    assert (gold["code"], gold["optimal"]) == ("valid", True)
    assert (wrong["valid"], wrong["code"]) == (False, "parse-error")
    # Without reward options: the accuracy alone.
    assert (gold["score"], wrong["score"]) == (1, 0)
    score = asyncio.run(compute_score("d", GOLD, json.dumps(BOARD), url=url, token=token, rendering="compact"))
    assert score["valid"] == 1
    with pytest.raises(RewardServiceError, match="invalid-instance"):
        real.score([{"instance": {"size": 1}, "completion": ""}])
