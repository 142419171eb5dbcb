"""Trains one stage with TRL's GRPOTrainer: `python -m envwright.train_trl CONFIG.json`, alone or under `accelerate launch`.

CONFIG.json is written by the trainer `trl`; it holds the paths, the reward service and the arguments of GRPOConfig. Metrics go to a JSON
lines file as they come; the checkpoint is a Hugging Face folder. Nothing is sent anywhere but to the reward service.
"""

from __future__ import annotations

import json
import math
import os
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


def metrics_line(logs: dict[str, Any]) -> str:
    """One line of JSON, which has no NaN and no infinity: they become null."""
    finite = {key: None if isinstance(value, float) and not math.isfinite(value) else value for key, value in logs.items()}
    return json.dumps(finite, allow_nan=False) + "\n"


def main(path: str) -> None:
    config = json.loads(Path(path).read_text())

    from datasets import Dataset
    from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback
    from trl import GRPOConfig, GRPOTrainer

    from envwright.trl_reward import reward_function

    tokenizer = AutoTokenizer.from_pretrained(config["model"], padding_side="left")
    # GRPOTrainer passes these on only where it loads the model itself.
    loading = {"dtype": config["dtype"], **(config["grpo"].pop("model_init_kwargs", None) or {})}
    model = AutoModelForCausalLM.from_pretrained(config["model"], **loading)
    rows = [json.loads(line) for line in Path(config["data"]).read_text().splitlines()]
    arguments = GRPOConfig(**config["grpo"])
    reward = reward_function(
        config["reward"]["url"],
        os.environ.get("ENVWRIGHT_REWARD_TOKEN"),
        max_tokens=arguments.max_completion_length,
        eos_token_id=tokenizer.eos_token_id,
        batch=config["reward"]["batch"],
    )

    class Lines(TrainerCallback):  # type: ignore[misc]
        """Appends what the trainer logs to the metrics file, one object a line."""

        def __init__(self) -> None:
            self.file = Path(config["metrics"]).open("a", buffering=1)  # noqa: SIM115 (open as long as training)

        def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **_: Any) -> None:
            if state.is_world_process_zero and logs is not None:
                self.file.write(metrics_line({"step": state.global_step, **logs}))

    trainer = GRPOTrainer(
        model=model,
        args=arguments,
        reward_funcs=reward,
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
        callbacks=[Lines()],
    )
    trainer.train()
    trainer.save_model(config["output"])
    if trainer.accelerator.is_main_process:
        tokenizer.save_pretrained(config["output"])


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m envwright.train_trl CONFIG.json")
    main(sys.argv[1])
