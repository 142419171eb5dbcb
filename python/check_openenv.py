"""Plays episodes on a running `envwright serve --openenv` with OpenEnv's own client.

Reads {"url", "seed", "gold", "moves"} from standard input (an optimal answer to the seed's board, and the same plan as joint moves) and
prints what the client saw as JSON. Needs openenv==0.10.0.
"""

import asyncio
import json
import sys
from typing import Any

from openenv import GenericEnvClient


async def main() -> None:
    given = json.load(sys.stdin)
    seen: dict[str, Any] = {}

    def noted(result: Any) -> dict[str, Any]:
        return {"observation": result.observation, "reward": result.reward, "done": result.done}

    async with GenericEnvClient(base_url=given["url"]) as env:
        seen["reset"] = noted(await env.reset(seed=given["seed"]))
        seen["gold"] = noted(await env.step({"message": given["gold"]}))
        seen["state"] = await env.state()
        await env.reset(seed=given["seed"])
        seen["garbage"] = noted(await env.step({"message": "I would rather not."}))
        try:
            await env.step({"message": given["gold"]})
            seen["after_the_end"] = "no error"
        except RuntimeError as error:
            seen["after_the_end"] = str(error)

        seen["moves_reset"] = noted(await env.reset(seed=given["seed"], form="moves"))
        seen["moves"] = [noted(await env.step({"moves": moves})) for moves in given["moves"]]

    # Two clients at once, each with its own board.
    async with GenericEnvClient(base_url=given["url"]) as one, GenericEnvClient(base_url=given["url"]) as two:
        await one.reset(seed=given["seed"])
        await two.reset(seed=given["seed"] + 1)
        seen["other"] = noted(await two.step({"message": "nothing"}))
        seen["own"] = noted(await one.step({"message": given["gold"]}))
    json.dump(seen, sys.stdout)


if __name__ == "__main__":
    asyncio.run(main())
