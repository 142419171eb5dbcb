"""Records what transformers and torch compute, for the tests of src/nn that need no Python.

    pip install -r python/requirements-fixtures.txt && python python/record_fixtures.py

Writes src/nn/fixtures/: tiny Qwen3 checkpoints saved by transformers, and the log-probabilities, losses, gradients, optimiser steps and
greedy continuations that torch gets from them in float32. The same versions on the same machine write the same bytes. Nothing here is
made to agree with the TypeScript code: models come from transformers, AdamW and clipping from torch, and Muon is written from its definition
and compared with torch's own.
"""

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoTokenizer, Qwen3Config, Qwen3ForCausalLM

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = ROOT / "src" / "nn" / "fixtures"
TOKENIZER = FIXTURES / "tokenizer"

MODELS = {
    # As many KV heads as heads.
    "multi-head": dict(
        vocab_size=64, hidden_size=32, intermediate_size=40, num_attention_heads=2, num_key_value_heads=2, head_dim=16,
        rms_norm_eps=1e-6, rope_parameters={"rope_type": "default", "rope_theta": 1_000_000.0},
    ),
    # Three query heads share a KV head, and the heads together are wider than the stream.
    "grouped-query": dict(
        vocab_size=61, hidden_size=32, intermediate_size=48, num_attention_heads=6, num_key_value_heads=2, head_dim=8,
        rms_norm_eps=1e-5, rope_parameters={"rope_type": "default", "rope_theta": 10_000.0},
    ),
}

POLICY = dict(clipLow=0.2, clipHigh=0.28, klCoefficient=0.1, inverseTemperature=1.25)
SCALES = [1.0, 0.7, 0.4]
ADAMW = dict(lr=3e-3, beta1=0.9, beta2=0.95, epsilon=1e-8, weightDecay=0.1, maxGradNorm=1.0)
MUON = dict(lr=0.02, momentum=0.95, weightDecay=0.05, maxGradNorm=1.0, adamw=dict(lr=3e-3, beta1=0.9, beta2=0.99, epsilon=1e-8, weightDecay=0.1))


@dataclass
class Sequence:
    tokens: list[int]
    prompt: int
    weights: torch.Tensor
    advantages: torch.Tensor
    old: torch.Tensor
    reference: torch.Tensor

    @property
    def completion(self) -> torch.Tensor:
        return torch.tensor(self.tokens[self.prompt :])


def build(shape: dict, seed: int, layers: int = 2, end: int | None = None) -> Qwen3ForCausalLM:
    """A model whose outputs are far from uniform and whose norms are not 1. Without a padding token, whose row torch would not train."""
    generator = torch.Generator().manual_seed(seed)
    config = Qwen3Config(
        **shape,
        num_hidden_layers=layers,
        max_position_embeddings=128,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=end,
        pad_token_id=end,
        attn_implementation="eager",
        dtype="float32",
    )
    model = Qwen3ForCausalLM(config).float().eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() == 1:
                parameter.copy_(0.5 + torch.rand(parameter.shape, generator=generator))
            else:
                deviation = 0.6 if "embed" in name else 1.4 * parameter.shape[1] ** -0.5
                parameter.copy_(deviation * torch.randn(parameter.shape, generator=generator))
    return model


def distribution(model, sequence: Sequence, inverse_temperature: float) -> torch.Tensor:
    """Log-probabilities of all tokens at the places that predict the completion, [completion, V]."""
    logits = model(torch.tensor([sequence.tokens])).logits[0, sequence.prompt - 1 : -1]
    return torch.log_softmax(logits * inverse_temperature, dim=-1)


def chosen(rows: torch.Tensor, sequence: Sequence) -> torch.Tensor:
    return rows.gather(1, sequence.completion[:, None])[:, 0]


def draw_sequences(model, vocabulary: int, seed: int) -> list[Sequence]:
    generator = np.random.default_rng(seed)
    sequences = []
    for prompt, completion in [(1, 9), (5, 1), (3, 14), (12, 4), (7, 26), (2, 2), (20, 13), (4, 12)]:
        tokens = generator.integers(0, vocabulary, prompt + completion).tolist()
        weights = generator.uniform(0.2, 1.0, completion) / 80
        weights[generator.uniform(size=completion) < 0.2] = 0.0
        normal = lambda: torch.tensor(generator.normal(size=completion), dtype=torch.float32)
        sequence = Sequence(tokens, prompt, torch.tensor(weights, dtype=torch.float32), normal(), normal(), normal())
        with torch.no_grad():
            now = chosen(distribution(model, sequence, POLICY["inverseTemperature"]), sequence)
        # Ratios on both sides of both clip bounds, none within 0.01 of a bound, where the gradient jumps.
        old = now - torch.tensor(generator.normal(size=completion) * 0.35, dtype=torch.float32)
        ratio = (now - old).exp()
        for bound in (1 - POLICY["clipLow"], 1 + POLICY["clipHigh"]):
            old = torch.where((ratio - bound).abs() < 0.01, old + 0.05, old)
        sequence.old = old
        sequence.reference = now + torch.tensor(generator.normal(size=completion) * 0.4, dtype=torch.float32)
        sequences.append(sequence)
    return sequences


def nll_loss(model, sequences: list[Sequence]) -> torch.Tensor:
    return sum(-(chosen(distribution(model, s, 1.0), s) * s.weights).sum() for s in sequences)


def policy_loss(model, sequences: list[Sequence]) -> torch.Tensor:
    """PPO's clipped surrogate (arXiv 1707.06347, eq. 7) plus the k3 estimate of KL (arXiv 2402.03300, eq. 4)."""
    low, high = 1 - POLICY["clipLow"], 1 + POLICY["clipHigh"]
    total = torch.zeros(())
    for s in sequences:
        now = chosen(distribution(model, s, POLICY["inverseTemperature"]), s)
        ratio = torch.exp(now - s.old)
        surrogate = torch.minimum(ratio * s.advantages, ratio.clamp(low, high) * s.advantages)
        kl = torch.exp(s.reference - now) - (s.reference - now) - 1
        total = total + ((-surrogate + POLICY["klCoefficient"] * kl) * s.weights).sum()
    return total


def gradients_of(model, loss) -> tuple[float, dict[str, torch.Tensor]]:
    model.zero_grad()
    value = loss()
    value.backward()
    return value.item(), {name: p.grad.clone() for name, p in model.named_parameters()}


def hidden_matrix(name: str, parameter: torch.Tensor) -> bool:
    return parameter.dim() == 2 and "embed_tokens" not in name


def orthogonalised(update: torch.Tensor) -> torch.Tensor:
    """Newton–Schulz: pushes the singular values of `update` towards 1 (Jordan et al. 2024)."""
    x = update / (update.norm() + 1e-7)
    wide = x.shape[0] <= x.shape[1]
    x = x if wide else x.T
    for _ in range(5):
        gram = x @ x.T
        x = 3.4445 * x + (-4.775 * gram + 2.0315 * (gram @ gram)) @ x
    return x if wide else x.T


class PlainMuon:
    """Nesterov momentum as a running mean, orthogonalised, scaled by √max(1, out/in); decay decoupled. In float32."""

    def __init__(self, parameters, lr: float, momentum: float, weight_decay: float):
        self.parameters, self.momentum, self.weight_decay = list(parameters), momentum, weight_decay
        self.lr = lr
        self.means = [torch.zeros_like(p) for p in self.parameters]

    @torch.no_grad()
    def step(self) -> None:
        for p, mean in zip(self.parameters, self.means, strict=True):
            mean.lerp_(p.grad, 1 - self.momentum)
            direction = orthogonalised(torch.lerp(p.grad, mean, self.momentum))
            p.mul_(1 - self.lr * self.weight_decay).sub_(self.lr * max(1.0, p.shape[0] / p.shape[1]) ** 0.5 * direction)


def adamw(named, options: dict) -> torch.optim.AdamW:
    """Decay on the matrices inside of the layers only."""
    named = list(named)
    common = dict(lr=options["lr"], betas=(options["beta1"], options["beta2"]), eps=options["epsilon"])
    groups = [
        dict(params=[p for n, p in named if hidden_matrix(n, p)], weight_decay=options["weightDecay"]),
        dict(params=[p for n, p in named if not hidden_matrix(n, p)], weight_decay=0.0),
    ]
    return torch.optim.AdamW([g for g in groups if g["params"]], **common)


def train(folder: Path, sequences: list[Sequence], optimiser: str) -> tuple[dict[str, torch.Tensor], list[float]]:
    """Three steps down the masked likelihood; what the parameters are then, and the norms before clipping."""
    model = Qwen3ForCausalLM.from_pretrained(folder, attn_implementation="eager", dtype="float32").eval()
    named = list(model.named_parameters())
    if optimiser == "adamw":
        options, rates = ADAMW, [(adamw(named, ADAMW), ADAMW["lr"])]
    else:
        options = MUON
        muon = PlainMuon([p for n, p in named if hidden_matrix(n, p)], MUON["lr"], MUON["momentum"], MUON["weightDecay"])
        rest = adamw([(n, p) for n, p in named if not hidden_matrix(n, p)], MUON["adamw"])
        rates = [(muon, MUON["lr"]), (rest, MUON["adamw"]["lr"])]
    norms = []
    for scale in SCALES:
        model.zero_grad()
        nll_loss(model, sequences).backward()
        norms.append(torch.nn.utils.clip_grad_norm_([p for _, p in named], options["maxGradNorm"]).item())
        for part, rate in rates:
            if isinstance(part, PlainMuon):
                part.lr = rate * scale
            else:
                for group in part.param_groups:
                    group["lr"] = rate * scale
            part.step()
    return {name: p.detach().clone() for name, p in named}, norms


def check_muon() -> None:
    """The plain Muon against torch's own, which iterates in bfloat16: the same direction, up to that rounding."""
    generator = torch.Generator().manual_seed(7)
    for shape in [(48, 32), (32, 48), (32, 32)]:
        start = torch.randn(shape, generator=generator)
        ours, theirs = (torch.nn.Parameter(start.clone()) for _ in range(2))
        plain = PlainMuon([ours], lr=0.1, momentum=0.95, weight_decay=0.05)
        reference = torch.optim.Muon([theirs], lr=0.1, momentum=0.95, weight_decay=0.05, nesterov=True)
        for _ in range(3):
            gradient = torch.randn(shape, generator=generator)
            ours.grad, theirs.grad = gradient.clone(), gradient.clone()
            plain.step()
            reference.step()
        moved, expected = (ours - start).detach(), (theirs - start).detach()
        error = ((moved - expected).norm() / expected.norm()).item()
        assert error < 0.02, f"Muon on {shape} differs from torch.optim.Muon by {error:.3f} of its step"


@torch.no_grad()
def greedy(model, prompts: list[list[int]], new_tokens: int, stop: int | None) -> list[dict]:
    out = []
    for prompt in prompts:
        answer = model.generate(
            torch.tensor([prompt]), attention_mask=torch.ones(1, len(prompt), dtype=torch.long), do_sample=False,
            max_new_tokens=new_tokens, eos_token_id=stop, pad_token_id=0, return_dict_in_generate=True, output_logits=True,
        )
        tokens = answer.sequences[0, len(prompt) :]
        rows = torch.cat(answer.logits)
        top = rows.topk(2, dim=-1).values
        assert (top[:, 0] - top[:, 1]).min() > 1e-3, "two tokens are too close to call: choose other prompts"
        log_probs = torch.log_softmax(rows, dim=-1).gather(1, tokens[:, None])[:, 0]
        out.append(dict(prompt=prompt, tokens=tokens.tolist(), logProbs=[float(x) for x in log_probs]))
    return out


def record_model(name: str, shape: dict, seed: int) -> None:
    folder = FIXTURES / name
    model = build(shape, seed)
    model.save_pretrained(folder)
    sequences = draw_sequences(model, shape["vocab_size"], seed)
    values: dict[str, torch.Tensor] = {}
    for i, s in enumerate(sequences):
        values |= {f"{i}.weights": s.weights, f"{i}.advantages": s.advantages, f"{i}.oldLogProbs": s.old, f"{i}.referenceLogProbs": s.reference}
        for label, inverse in [("1", 1.0), ("policy", POLICY["inverseTemperature"])]:
            with torch.no_grad():
                rows = distribution(model, s, inverse)
            values[f"{i}.logProbs.{label}"] = chosen(rows, s).contiguous()
            values[f"{i}.entropies.{label}"] = -(rows.exp() * rows).sum(-1)
    with torch.no_grad():
        values["logits"] = model(torch.tensor([sequences[0].tokens])).logits[0].contiguous()

    nll, nll_gradients = gradients_of(model, lambda: nll_loss(model, sequences))
    policy, policy_gradients = gradients_of(model, lambda: policy_loss(model, sequences))
    after_adamw, adamw_norms = train(folder, sequences, "adamw")
    after_muon, muon_norms = train(folder, sequences, "muon")
    for label, tensors in [("nll", nll_gradients), ("policy", policy_gradients), ("adamw", after_adamw), ("muon", after_muon)]:
        values |= {f"{label}/{n}": t.contiguous() for n, t in tensors.items()}
    ratios = torch.cat([torch.exp(values[f"{i}.logProbs.policy"] - s.old) for i, s in enumerate(sequences)])
    signs = torch.cat([s.advantages for s in sequences]) > 0
    for sign in (True, False):
        assert (ratios[signs == sign] < 0.8).any() and (ratios[signs == sign] > 1.28).any(), "every branch of the clip must occur"

    generator = np.random.default_rng(seed + 100)
    prompts = [generator.integers(1, shape["vocab_size"], n).tolist() for n in (1, 2, 5, 9, 9, 17, 30, 3)]
    varied = max((c["tokens"] for c in greedy(model, prompts, 40, None)), key=lambda tokens: len(set(tokens)))
    stop = varied[5]
    continuations = greedy(model, prompts, 40, stop)
    assert 0 < sum(c["tokens"][-1] == stop for c in continuations) < len(prompts), "some end at the stop token, some do not"
    record = dict(
        sequences=[dict(tokens=s.tokens, promptLength=s.prompt) for s in sequences],
        nll=nll,
        policy=dict(**POLICY, loss=policy),
        scales=SCALES,
        adamw=dict(**ADAMW, norms=adamw_norms),
        muon=dict(**MUON, norms=muon_norms),
        greedy=dict(maxNewTokens=40, stopToken=stop, continuations=continuations),
    )
    save_file(values, folder / "values.safetensors")
    write_json(folder / "values.json", record)


def write_json(path: Path, value) -> None:
    path.write_text(json.dumps(value, ensure_ascii=True, separators=(",", ":")) + "\n")


WORDS = [
    "<size:3>", "<agents:2>", "<hole:0,1>", "<hole:0,10>", "<start:2,2>", "<goal:0,0>", "<cell:1,1>", "<cell:1,11>", "<sep>", "<propose>", "<level:1>", "<level:10>",
    "ab", "abc", "bcd", "<<", "é日", "日本", "日本語", "🙂", "🙂🙃", " x", "\n\n", "The",
]  # fmt: skip


def texts() -> list[str]:
    generator = np.random.default_rng(11)
    pieces = [
        *WORDS, "<|endoftext|>", "<|endoftext", "<hole:0,", "<hole:0,1", "<cell:1,1", "<", "é", "a", "abd", "abcd", "bc", "e\u0301", "日", "語", "🙃", "👩‍👩‍👧", "🇩🇪", " ", "  ", "\t",
        "\n", "\r\n", "\u00a0", "\u3000", "x", "don't", "'LL", "12345", "٣", "ß", "ﬁ", "Ω", "İ", "\ufeff", "\u200d", "\x00", "\x7f", "\u0085", "ÿ", "\ufffd", "𝔘", "{\"a\": 1}", "!?", "Straße",
    ]  # fmt: skip
    singles = ["", *pieces, *WORDS, "".join(WORDS), " ".join(WORDS), "".join(map(chr, range(1, 256)))]
    joined = ["".join(generator.choice(np.array(pieces, dtype=object), generator.integers(2, 9))) for _ in range(120)]
    return list(dict.fromkeys(singles + joined))


def record_tokenizer() -> None:
    """Our own `Tokenizer.save` writes the folder; transformers says what it means by it."""
    TOKENIZER.mkdir(parents=True)
    script = f"""
      import {{ Tokenizer }} from "./src/nn/tokenizer.ts";
      await Tokenizer.create({json.dumps(WORDS)}).save({json.dumps(str(TOKENIZER))});"""
    subprocess.run(["node", "--import", "tsx", "--input-type=module", "-e", script], cwd=ROOT, check=True)
    tokenizer = AutoTokenizer.from_pretrained(TOKENIZER)
    cases = [dict(text=text, ids=tokenizer(text)["input_ids"]) for text in texts()]
    for case in cases:
        assert tokenizer.decode(case["ids"]) == case["text"], case
    write_json(TOKENIZER / "ids.json", dict(words=WORDS, size=len(tokenizer), eos=tokenizer.eos_token_id, cases=cases))


def record_checkpoint() -> None:
    """A whole folder as a trainer of the transformers family leaves it behind."""
    tokenizer = AutoTokenizer.from_pretrained(TOKENIZER)
    shape = dict(
        vocab_size=len(tokenizer), hidden_size=8, intermediate_size=12, num_attention_heads=2, num_key_value_heads=1, head_dim=4,
        rms_norm_eps=1e-6, rope_parameters={"rope_type": "default", "rope_theta": 50_000.0},
    )  # fmt: skip
    model = build(shape, 5, layers=1, end=tokenizer.eos_token_id)
    model.save_pretrained(FIXTURES / "saved-by-transformers")
    tokenizer.save_pretrained(FIXTURES / "saved-by-transformers")


def record_halves() -> None:
    """Sixteen-bit numbers of every kind, and what they are in float32."""
    generator = np.random.default_rng(3)
    special = [0x0000, 0x8000, 0x0001, 0x8001, 0x03FF, 0x0400, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E00, 0x3C00, 0xBC00, 0x3555, 0x7F80, 0xFF80, 0x0080, 0x007F]
    bits = np.concatenate([np.array(special, dtype=np.uint16), generator.integers(0, 2**16, 494).astype(np.uint16)])
    raw = torch.from_numpy(bits.view(np.int16).copy())
    halves, brains = raw.view(torch.float16).reshape(16, 32), raw.view(torch.bfloat16).reshape(32, 16)
    halves, brains = halves.clone(), brains.clone()
    tensors = {"half": halves, "brain": brains, "half.expected": halves.float(), "brain.expected": brains.float()}
    save_file(tensors, FIXTURES / "halves.safetensors")


def main() -> None:
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    shutil.rmtree(FIXTURES, ignore_errors=True)
    FIXTURES.mkdir(parents=True)
    check_muon()
    for seed, (name, shape) in enumerate(MODELS.items(), start=1):
        record_model(name, shape, seed)
    record_tokenizer()
    record_checkpoint()
    record_halves()
    for path in sorted(FIXTURES.rglob("*")):
        if path.is_file():
            print(f"{path.stat().st_size:9d}  {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
