"""Records what PyTorch and transformers compute on two tiny Qwen3 models, for the tests of the embedded engine.

    .venv/bin/python python/record_fixtures.py            # writes src/nn/fixtures

Each model folder holds the checkpoint as transformers saves it, `recorded.json` (inputs, losses, settings) and
`recorded.safetensors`:

    logits/<i>      [T, V]   of sequence i, alone and unpadded
    nll/<name>               gradient of sum over completion tokens of weight * -log p
    policy/<name>            gradient of the clipped policy loss with a k3 KL term, at a temperature
    adamw/<name>             parameter after three AdamW steps on the nll loss, clipped gradient, scaled rates
    muon/<name>              parameter after three Muon steps (AdamW for embedding and norms), same loss and scales

Everything is float32 on one thread with eager attention. `tokenizer/` holds texts and the ids that AutoTokenizer gives.
"""

import json
import shutil
from pathlib import Path

import torch
import transformers
from safetensors.torch import save_file
from transformers import AutoTokenizer, Qwen3Config, Qwen3ForCausalLM

from byte_tokenizer import byte_tokenizer
from muon import Muon
from tokenizer_texts import MODEL_WORDS, TEXTS, TEXT_WORDS

FIXTURES = Path(__file__).resolve().parent.parent / "src" / "nn" / "fixtures"
SCALES = [1.0, 0.7, 0.4]
ADAMW = {"lr": 1e-3, "betas": (0.9, 0.95), "eps": 1e-8, "weight_decay": 0.1}
MUON = {"lr": 0.02, "momentum": 0.95, "weight_decay": 0.01}
POLICY = {"clipLow": 0.2, "clipHigh": 0.28, "klCoefficient": 0.1, "inverseTemperature": 1.25}

MODELS = {
    # One key head per query head; heads wider than the stream.
    "plain": dict(hidden_size=24, intermediate_size=40, num_attention_heads=2, num_key_value_heads=2, head_dim=16, theta=1e4),
    # Grouped queries; heads narrower than the stream.
    "grouped": dict(hidden_size=32, intermediate_size=48, num_attention_heads=6, num_key_value_heads=2, head_dim=8, theta=1e6),
}


def make_model(vocabulary: int, end: int, theta: float, **shape) -> Qwen3ForCausalLM:
    config = Qwen3Config(
        **shape,
        vocab_size=vocabulary,
        num_hidden_layers=2,
        max_position_embeddings=128,
        rms_norm_eps=1e-6,
        rope_parameters={"rope_type": "default", "rope_theta": theta},
        tie_word_embeddings=True,
        initializer_range=0.2,  # Far from uniform predictions, so that every part of the model matters.
        bos_token_id=None,
        eos_token_id=end,
        pad_token_id=end,
        attn_implementation="eager",
    )
    model = Qwen3ForCausalLM(config).to(torch.float32).train()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() == 1:
                parameter.add_(0.2 * torch.randn_like(parameter))
            elif "embed_tokens" not in name:
                parameter.mul_(1.5)
    return model


def make_sequences(vocabulary: int) -> list[dict]:
    sequences = []
    for length, prompt in [(24, 9), (17, 1), (6, 5), (24, 20), (3, 1)]:
        completion = length - prompt
        sequences.append(
            {
                "tokens": torch.randint(vocabulary, (length,)),
                "promptLength": prompt,
                # Some tokens do not count at all.
                "weights": torch.rand(completion) / 20 * (torch.rand(completion) > 0.2),
                "advantages": torch.randn(completion),
            }
        )
    return sequences


def completion_log_probs(model, sequence: dict, inverse_temperature: float = 1.0) -> tuple[torch.Tensor, torch.Tensor]:
    """Log-probability of each completion token, and the entropy of its distribution in nats."""
    tokens, start = sequence["tokens"], sequence["promptLength"]
    logits = model(tokens[None], use_cache=False).logits[0, start - 1 : -1]
    logs = torch.log_softmax(logits * inverse_temperature, dim=-1)
    return logs.gather(1, tokens[start:, None])[:, 0], -(logs.exp() * logs).sum(-1)


def nll_loss(model, sequences: list[dict]) -> torch.Tensor:
    return sum(-(s["weights"] * completion_log_probs(model, s)[0]).sum() for s in sequences)


def policy_loss(model, sequences: list[dict]) -> torch.Tensor:
    total = torch.zeros(())
    for s in sequences:
        logs, _ = completion_log_probs(model, s, POLICY["inverseTemperature"])
        ratio = (logs - s["oldLogProbs"]).exp()
        bounded = ratio.clamp(1 - POLICY["clipLow"], 1 + POLICY["clipHigh"])
        surrogate = torch.minimum(ratio * s["advantages"], bounded * s["advantages"])
        q = s["referenceLogProbs"] - logs
        total = total + (s["weights"] * (-surrogate + POLICY["klCoefficient"] * (q.exp() - q - 1))).sum()
    return total


def gradients(model, loss: torch.Tensor) -> dict[str, torch.Tensor]:
    model.zero_grad(set_to_none=True)
    loss.backward()
    return {name: p.grad.clone() for name, p in model.named_parameters()}


def hidden_matrix(name: str, parameter: torch.Tensor) -> bool:
    return parameter.dim() == 2 and "embed_tokens" not in name


def three_steps(model, sequences: list[dict], max_norm: float, step) -> tuple[dict[str, torch.Tensor], list[float]]:
    norms = []
    for scale in SCALES:
        gradients(model, nll_loss(model, sequences))
        norms.append(float(torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)))
        step(scale)
    return {name: p.detach().clone() for name, p in model.named_parameters()}, norms


def adamw_stepper(groups: list[dict], **settings):
    optimiser = torch.optim.AdamW(groups, **settings)

    def step(scale: float) -> None:
        for group in optimiser.param_groups:
            group["lr"] = settings["lr"] * scale
        optimiser.step()

    return step


def after_adamw(model, sequences: list[dict], max_norm: float):
    named = list(model.named_parameters())
    decayed = [p for n, p in named if hidden_matrix(n, p)]
    plain = [p for n, p in named if not hidden_matrix(n, p)]
    step = adamw_stepper([{"params": decayed}, {"params": plain, "weight_decay": 0.0}], **ADAMW)
    return three_steps(model, sequences, max_norm, step)


def after_muon(model, sequences: list[dict]):
    named = list(model.named_parameters())
    muon = Muon([p for n, p in named if hidden_matrix(n, p)], **MUON)
    adamw = adamw_stepper([{"params": [p for n, p in named if not hidden_matrix(n, p)]}], **{**ADAMW, "weight_decay": 0.0})

    def step(scale: float) -> None:
        muon.step(scale)
        adamw(scale)

    return three_steps(model, sequences, float("inf"), step)


@torch.no_grad()
def greedy(model, vocabulary: int) -> list[dict]:
    """Greedy continuations by `generate`; refuses prompts where two tokens are so close that rounding could decide."""
    model.generation_config.eos_token_id = None  # Else it would end there.
    found = []
    while len(found) < 6:
        prompt = torch.randint(vocabulary, (int(torch.randint(1, 40, ())),))
        everything = torch.ones_like(prompt)[None]  # Else token 0 would be taken for padding.
        out = model.generate(prompt[None], attention_mask=everything, do_sample=False, max_new_tokens=20, pad_token_id=0)[0]
        sequence = {"tokens": out, "promptLength": len(prompt)}
        logits = model(out[None], use_cache=False).logits[0, len(prompt) - 1 : -1]
        top = logits.topk(2).values
        if float((top[:, 0] - top[:, 1]).min()) < 5e-3:
            continue
        completion = out[len(prompt) :]
        assert torch.equal(logits.argmax(-1), completion)
        logs, _ = completion_log_probs(model, sequence)
        found.append({"prompt": prompt.tolist(), "completion": completion.tolist(), "logProbs": logs.tolist()})
    return found


def record(name: str, shape: dict) -> None:
    folder = FIXTURES / name
    torch.manual_seed(len(name))
    tokenizer = byte_tokenizer(MODEL_WORDS)
    vocabulary = len(tokenizer)
    model = make_model(vocabulary, tokenizer.eos_token_id, **shape)
    start = {n: p.detach().clone() for n, p in model.named_parameters()}
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)

    sequences = make_sequences(vocabulary)
    tensors: dict[str, torch.Tensor] = {}
    with torch.no_grad():
        for i, s in enumerate(sequences):
            tensors[f"logits/{i}"] = model(s["tokens"][None], use_cache=False).logits[0]
            logs, _ = completion_log_probs(model, s, POLICY["inverseTemperature"])
            # Far enough from the present policy that the clip acts on some tokens.
            s["oldLogProbs"] = logs + 0.3 * torch.randn_like(logs)
            s["referenceLogProbs"] = logs + 0.5 * torch.randn_like(logs)
            s["logProbs"], s["entropies"] = completion_log_probs(model, s)

    nll = nll_loss(model, sequences)
    nll_gradient = gradients(model, nll)
    norm = float(torch.stack([g.norm() for g in nll_gradient.values()]).norm())
    policy = policy_loss(model, sequences)
    policy_gradient = gradients(model, policy)
    max_norm = round(0.6 * norm, 3)
    adamw, adamw_norms = after_adamw(model, sequences, max_norm)
    model.load_state_dict(start, strict=False)
    muon, muon_norms = after_muon(model, sequences)
    model.load_state_dict(start, strict=False)

    for group, values in {"nll": nll_gradient, "policy": policy_gradient, "adamw": adamw, "muon": muon}.items():
        for parameter, value in values.items():
            tensors[f"{group}/{parameter}"] = value
    save_file({k: v.contiguous() for k, v in tensors.items()}, folder / "recorded.safetensors")
    recorded = {
        "versions": {"torch": torch.__version__, "transformers": transformers.__version__},
        "sequences": [{k: v.tolist() if isinstance(v, torch.Tensor) else v for k, v in s.items()} for s in sequences],
        "nllLoss": nll.item(),
        "policy": {**POLICY, "loss": policy.item()},
        "scales": SCALES,
        "adamw": {
            "lr": ADAMW["lr"],
            "beta1": ADAMW["betas"][0],
            "beta2": ADAMW["betas"][1],
            "epsilon": ADAMW["eps"],
            "weightDecay": ADAMW["weight_decay"],
            "maxGradNorm": max_norm,
            "gradNorms": adamw_norms,
        },
        "muon": {"lr": MUON["lr"], "momentum": MUON["momentum"], "weightDecay": MUON["weight_decay"], "gradNorms": muon_norms},
        "greedy": greedy(model.eval(), vocabulary),
    }
    write_json(folder / "recorded.json", recorded)
    for file in folder.glob("*.safetensors"):
        file.chmod(0o644)


def record_tokenizer() -> None:
    """Ids as `AutoTokenizer` gives them after saving and loading, and what it decodes them to."""
    folder = FIXTURES / "tokenizer"
    byte_tokenizer(TEXT_WORDS).save_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    cases = []
    for text in TEXTS:
        ids = tokenizer.encode(text)
        assert tokenizer.decode(ids) == text, text
        cases.append({"text": text, "ids": ids, "withoutSpecial": tokenizer.decode(ids, skip_special_tokens=True)})
    write_json(folder / "recorded.json", {"words": TEXT_WORDS, "cases": cases})


def write_json(path: Path, value) -> None:
    """One line per entry of the outermost lists and objects: compact, and still readable in a diff."""
    rows = ",\n".join(
        f" {json.dumps(key)}: "
        + ("[\n" + ",\n".join("  " + json.dumps(v) for v in entry) + "\n ]" if isinstance(entry, list) else json.dumps(entry))
        for key, entry in value.items()
    )
    path.write_text("{\n" + rows + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    for old in [*MODELS, "tokenizer"]:
        shutil.rmtree(FIXTURES / old, ignore_errors=True)
    for model_name, model_shape in MODELS.items():
        record(model_name, model_shape)
    record_tokenizer()
