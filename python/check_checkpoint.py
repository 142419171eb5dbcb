"""Opens a checkpoint folder as the transformers family does and says what it computes, as one JSON document on standard output.

    python python/check_checkpoint.py FOLDER [QUESTIONS.json]

QUESTIONS.json: {"sequences": [[token id, …], …], "texts": ["…", …]}; standard input when it is left out. The answer:
{"logits": [[[…] per position] per sequence], "ids": [[…] per text], "texts": [decoded ids per text], "versions": {…}}.
"""

import json
import os
import sys

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
import transformers
from transformers import AutoModelForCausalLM, AutoTokenizer


def main() -> None:
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    folder = sys.argv[1]
    if len(sys.argv) == 3:
        with open(sys.argv[2], encoding="utf-8") as file:
            questions = json.load(file)
    else:
        questions = json.load(sys.stdin)

    torch.set_num_threads(1)
    model, loading = AutoModelForCausalLM.from_pretrained(folder, dtype="float32", attn_implementation="eager", output_loading_info=True)
    wrong = {what: sorted(map(str, names)) for what, names in loading.items() if names}
    if wrong:
        sys.exit(f"{folder}: weights and model disagree: {wrong}")
    tokenizer = AutoTokenizer.from_pretrained(folder)
    with torch.no_grad():
        logits = [model.eval()(torch.tensor([tokens])).logits[0].tolist() for tokens in questions.get("sequences", [])]
    ids = [tokenizer(text)["input_ids"] for text in questions.get("texts", [])]
    answer = {
        "logits": logits,
        "ids": ids,
        "texts": [tokenizer.decode(i) for i in ids],
        "eos": [tokenizer.eos_token_id, model.config.eos_token_id, model.generation_config.eos_token_id],
        "architecture": type(model).__name__,
        "versions": {"torch": torch.__version__, "transformers": transformers.__version__},
    }
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
