"""Holds our verl stage against verl itself: `python check_verl.py CHECK.json`.

CHECK.json: {"overrides": [...], "tokenizer": folder, "completions": [...]} with the overrides of the composed command line. verl's own
Hydra config takes them (an unknown key raises), verl's own data set class reads the training file, and the reward function that verl's own
loader returns scores the completions against the running service. Prints one JSON document.
"""

import asyncio
import json
import os
import sys
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import verl
from hydra import compose, initialize_config_dir
from verl.trainer.ppo.reward import get_custom_reward_fn
from verl.utils.dataset.rl_dataset import RLHFDataset

check = json.loads(Path(sys.argv[1]).read_text())
with initialize_config_dir(config_dir=str(Path(verl.__file__).parent / "trainer" / "config"), version_base=None):
    config = compose("ppo_trainer", overrides=check["overrides"])

from transformers import AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained(check["tokenizer"])
tokenizer.chat_template = "{% for m in messages %}{{ m['content'] }}{% endfor %}"
data = RLHFDataset(data_files=config.data.train_files, tokenizer=tokenizer, config=config.data)
row = data[0]
compute_score = get_custom_reward_fn(config)


async def score() -> list[dict[str, float]]:
    truth = row["reward_model"]["ground_truth"]
    calls = [compute_score(row["data_source"], text, truth, row["extra_info"]) for text in check["completions"]]
    return await asyncio.gather(*calls)


print(
    json.dumps(
        {
            "verl": verl.__version__,
            "rows": len(data),
            "prompt": row["raw_prompt"],
            "data_source": row["data_source"],
            "total_training_steps": config.trainer.total_training_steps,
            "adv_estimator": config.algorithm.adv_estimator,
            "url": config.reward.custom_reward_function.reward_kwargs.url,
            "model": config.actor_rollout_ref.model.path,
            "logger": list(config.trainer.logger),
            "scores": asyncio.run(score()),
        }
    )
)
