"""Loads the taskset of envwright_verifiers by its id and scores answers to a running `envwright serve --openenv`.

Reads {"url", "seed", "count", "answers"} from standard input, one list of answers per board, and prints prompts and scores as JSON.
Needs verifiers==0.4.0 and this package on the path.
"""

import asyncio
import json
import sys
import urllib.request
from typing import Any

import verifiers.v1 as vf
from verifiers.v1.tasksets.openenv.taskset import parse_action


def trace_of(task: vf.Task, reply: str) -> vf.Trace:
    """The trace of a policy that answered the task's prompt with `reply`."""
    agent = vf.AgentInfo(name="agent", config=vf.AgentConfig())
    trace = vf.Trace(task=vf.TraceTask(type=type(task).__name__, data=task.data, key=task.key, hash=task.hash), agent=agent)
    trace.root_reply = reply
    return trace


def action_schema(url: str) -> dict[str, Any]:
    """What the server says that an action is."""
    with urllib.request.urlopen(f"{url}/schema", timeout=30) as response:
        schema: dict[str, Any] = json.load(response)["action"]
    return schema


async def main() -> None:
    given = json.load(sys.stdin)
    config_type = vf.taskset_config_type("envwright-verifiers")
    taskset = vf.load_taskset(config_type(id="envwright-verifiers", base_url=given["url"], seed=given["seed"], num_tasks=given["count"]))
    scored: list[dict[str, Any]] = []
    for task, answers in zip(taskset, given["answers"], strict=True):
        for answer in answers:
            trace = trace_of(task, answer)
            await task.score(trace)
            scored.append({"instance": task.data.instance, "reward": trace.reward, "metrics": trace.metrics, "prompt": task.data.prompt})

    dead = vf.load_taskset(config_type(id="envwright-verifiers", base_url="http://127.0.0.1:9", task={"retries": 1, "timeout": 2}))
    try:
        next(iter(dead))
        unreachable = "no error"
    except Exception as error:  # noqa: BLE001 - what is raised is what is told
        unreachable = type(error).__name__

    # An unreachable server while scoring is an error, never a zero.
    task = next(iter(taskset))
    lost = task.with_data(base_url="http://127.0.0.1:9")
    lost.config = task.config.model_copy(update={"retries": 0})
    trace = trace_of(lost, given["answers"][0][0])
    try:
        await lost.score(trace)
        lost_score = str(trace.rewards)
    except vf.TaskError as error:
        lost_score = f"TaskError {trace.rewards} {error}"[:200]
    # verifiers' own OpenEnv taskset: where it puts what a model wrote.
    action = parse_action(given["answers"][0][0], await asyncio.to_thread(action_schema, given["url"]))
    json.dump({"action": action, "scored": scored, "unreachable": unreachable, "lost": lost_score}, sys.stdout)


if __name__ == "__main__":
    asyncio.run(main())
