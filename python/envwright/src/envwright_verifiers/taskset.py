"""MAPF-FrozenLake as a verifiers v1 taskset: boards, prompts and verdicts come from `envwright serve --openenv`.

The server's HTTP half keeps nothing: a task is the options of the reset that makes its board, and scoring sends them again with the answer.
A server that cannot be reached or refuses raises; it never scores zero.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import verifiers.v1 as vf
from pydantic import Field

_RETRIED = frozenset({408, 429, 500, 502, 503, 504})


class EnvwrightServerError(RuntimeError):
    """The server could not be reached, or refused the request."""


class EnvwrightData(vf.TaskData):
    base_url: str
    """Address of the server, e.g. http://127.0.0.1:8000."""
    reset: dict[str, Any]
    """What makes the board again."""
    instance: str
    """Id of the board."""


class EnvwrightTaskConfig(vf.TaskConfig):
    token_env: str = "ENVWRIGHT_TOKEN"
    """Environment variable with the server's bearer token, where it asks for one."""
    timeout: float = Field(60.0, gt=0)
    """Seconds that one request may take."""
    retries: int = Field(4, ge=0)
    """Further attempts after a failure that may pass."""


class EnvwrightConfig(vf.TasksetConfig):
    task: EnvwrightTaskConfig = EnvwrightTaskConfig()
    base_url: str = "http://127.0.0.1:8000"
    """Address of `envwright serve --openenv`."""
    num_tasks: int = Field(100, ge=1)
    """How many boards."""
    seed: int = Field(0, ge=0)
    """The first board's seed (or index, with `benchmark`); the others follow."""
    benchmark: str | None = None
    """A frozen set (bench-3, bench-4, bench-5) in place of generated boards."""
    generator: dict[str, Any] | None = None
    """The generator's config: agents, objective, sizes."""
    agents: int | None = None
    """Number of agents on generated boards."""
    rendering: str = "chat"


class EnvwrightTask(vf.Task[EnvwrightData, vf.State, EnvwrightTaskConfig]):
    @vf.reward
    async def accuracy(self, trace: vf.Trace[EnvwrightData]) -> float:
        """1 for an optimal plan, less for a longer one, 0 for one that breaks a rule."""
        return float((await self.judge(trace))["reward"])

    @vf.metric
    async def verdict(self, trace: vf.Trace[EnvwrightData]) -> dict[str, float]:
        observation = (await self.judge(trace))["observation"]
        return {"valid": float(observation["valid"]), "optimal": float(observation["optimal"])}

    async def judge(self, trace: vf.Trace[EnvwrightData]) -> dict[str, Any]:
        """The server's answer to the trace's last reply; asked once and kept in `trace.info`."""
        if "envwright" not in trace.info:
            finish_reason = "length" if trace.is_truncated else "stop"
            body = {"action": {"message": trace.last_reply, "finish_reason": finish_reason}, "reset": self.data.reset}
            trace.info["envwright"] = await asyncio.to_thread(post, self.data.base_url, "/step", body, self.config)
        judged: dict[str, Any] = trace.info["envwright"]
        return judged


class EnvwrightTaskset(vf.Taskset[EnvwrightTask, EnvwrightConfig]):
    def load(self) -> Iterator[EnvwrightTask]:
        config = self.config
        for number in range(config.seed, config.seed + config.num_tasks):
            options: dict[str, Any] = {"rendering": config.rendering}
            if config.benchmark is not None:
                options |= {"set": config.benchmark, "index": number}
            else:
                options |= {"seed": number, "config": config.generator, "agents": config.agents}
            reset = {key: value for key, value in options.items() if value is not None}
            observation = post(config.base_url, "/reset", reset, config.task)["observation"]
            instance = observation["metadata"]["instance"]
            yield EnvwrightTask(
                EnvwrightData(
                    id=instance,
                    name=instance,
                    prompt=observation["prompt"],
                    base_url=config.base_url,
                    reset=reset,
                    instance=instance,
                ),
                config.task,
            )


def post(base_url: str, path: str, body: dict[str, Any], config: EnvwrightTaskConfig) -> dict[str, Any]:
    """A JSON answer. Raises EnvwrightServerError once the attempts are used up, or at once for a refusal."""
    headers = {"content-type": "application/json"}
    if token := os.environ.get(config.token_env):
        headers["authorization"] = f"Bearer {token}"
    request = urllib.request.Request(base_url.rstrip("/") + path, json.dumps(body).encode(), headers)
    failure = ""
    for attempt in range(config.retries + 1):
        if attempt > 0:
            time.sleep(0.25 * 2 ** (attempt - 1))
        try:
            with urllib.request.urlopen(request, timeout=config.timeout) as response:
                answer = json.load(response)
        except urllib.error.HTTPError as error:
            failure = f"status {error.code}: {error.read()[:300].decode(errors='replace')}"
            if error.code not in _RETRIED:
                break
        except (OSError, ValueError) as error:
            failure = f"{type(error).__name__}: {error}"
        else:
            if isinstance(answer, dict):
                return answer
            failure = "the answer is no object"
    raise EnvwrightServerError(f"{base_url}{path}: {failure}")
