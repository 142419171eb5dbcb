"""The peer of `npm run bench:trainer`: the same Qwen3 decoder in PyTorch eager, as lean as eager allows.

Fused q/k/v and gate/up products, scaled_dot_product_attention, rms_norm, logits only where a token is predicted, fused AdamW,
and sampling without gradients over a preallocated KV cache. Speaks JSON lines: one command in, one answer out.
"""

import json
import sys
import time

import numpy as np
import torch
import torch.nn.functional as F


class Model:
    def __init__(self, config, specs, flat):
        self.c = config
        self.p = {}
        for spec in specs:
            part = flat[spec["offset"] : spec["offset"] + spec["size"]]
            self.p[spec["name"]] = torch.tensor(part).reshape(spec["shape"]).requires_grad_(True)
        hd = config["head_dim"]
        inverse = config["rope_theta"] ** (-torch.arange(0, hd, 2, dtype=torch.float64) / hd)
        angles = torch.arange(config["max_position_embeddings"], dtype=torch.float64)[:, None] * inverse[None]
        self.cos = torch.cat([angles.cos(), angles.cos()], -1).float()
        self.sin = torch.cat([angles.sin(), angles.sin()], -1).float()

    def rotate(self, x, at):
        half = x.shape[-1] // 2
        turned = torch.cat([-x[..., half:], x[..., :half]], -1)
        length = x.shape[-2]
        return x * self.cos[at : at + length] + turned * self.sin[at : at + length]

    def states(self, tokens, at=0, cache=None):
        """tokens [B, T] → [B, T, d]; with a cache, T new positions from `at` on."""
        c, p, eps = self.c, self.p, self.c["rms_norm_eps"]
        heads, kv, hd, d = c["num_attention_heads"], c["num_key_value_heads"], c["head_dim"], c["hidden_size"]
        batch, length = tokens.shape
        x = F.embedding(tokens, p["model.embed_tokens.weight"])
        for n in range(c["num_hidden_layers"]):
            layer = f"model.layers.{n}."
            h = F.rms_norm(x, (d,), p[layer + "input_layernorm.weight"], eps)
            qkv = F.linear(h, p[layer + "self_attn.qkv_proj.weight"]).view(batch, length, heads + 2 * kv, hd).transpose(1, 2)
            q, k, v = qkv.split([heads, kv, kv], 1)
            q = self.rotate(F.rms_norm(q, (hd,), p[layer + "self_attn.q_norm.weight"], eps), at)
            k = self.rotate(F.rms_norm(k, (hd,), p[layer + "self_attn.k_norm.weight"], eps), at)
            if cache is not None:
                keys, values = cache[n]
                keys[:, :, at : at + length] = k
                values[:, :, at : at + length] = v
                k, v = keys[:, :, : at + length], values[:, :, : at + length]
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=length > 1, enable_gqa=heads != kv)
            mixed = mixed.transpose(1, 2).reshape(batch, length, heads * hd)
            x = x + F.linear(mixed, p[layer + "self_attn.o_proj.weight"])
            h = F.rms_norm(x, (d,), p[layer + "post_attention_layernorm.weight"], eps)
            gate, up = F.linear(h, p[layer + "mlp.gate_up_proj.weight"]).chunk(2, -1)
            x = x + F.linear(F.silu(gate) * up, p[layer + "mlp.down_proj.weight"])
        return x

    def logits(self, x):
        x = F.rms_norm(x, (self.c["hidden_size"],), self.p["model.norm.weight"], self.c["rms_norm_eps"])
        return F.linear(x, self.p["model.embed_tokens.weight"])


def train(model, optimiser, tokens, prompt, steps):
    losses = []
    started = time.perf_counter()
    for _ in range(steps):
        optimiser.zero_grad(set_to_none=True)
        states = model.states(tokens)[:, prompt - 1 : -1]
        loss = F.cross_entropy(model.logits(states).flatten(0, 1), tokens[:, prompt:].flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(list(model.p.values()), 1.0)
        optimiser.step()
        losses.append(loss.detach())
    return {"seconds": time.perf_counter() - started, "losses": [float(x) for x in losses]}


@torch.no_grad()
def sample(model, prompts, new):
    c = model.c
    started = time.perf_counter()
    batch, length = prompts.shape
    shape = (batch, c["num_key_value_heads"], length + new, c["head_dim"])
    cache = [(torch.empty(shape), torch.empty(shape)) for _ in range(c["num_hidden_layers"])]
    logits = model.logits(model.states(prompts, 0, cache)[:, -1])
    drawn, chosen = [], []
    for t in range(new):
        probabilities = torch.softmax(logits, -1)
        token = torch.multinomial(probabilities, 1)
        drawn.append(token)
        chosen.append(probabilities.gather(1, token).log())
        if t + 1 < new:
            logits = model.logits(model.states(token, length + t, cache)[:, 0])
    torch.cat(drawn, 1), torch.cat(chosen, 1)
    return {"seconds": time.perf_counter() - started}


def main():
    model = optimiser = None
    for line in sys.stdin:
        command = json.loads(line)
        if command["do"] == "load":
            torch.set_num_threads(command["threads"])
            flat = np.fromfile(command["parameters"], dtype=np.float32)
            model = Model(command["config"], command["specs"], flat)
            optimiser = torch.optim.AdamW(list(model.p.values()), lr=command["lr"], betas=(0.9, 0.999), weight_decay=0.0, fused=True)
            answer = {"torch": torch.__version__, "threads": torch.get_num_threads()}
        elif command["do"] == "train":
            answer = train(model, optimiser, torch.tensor(command["tokens"]), command["prompt"], command["steps"])
        elif command["do"] == "sample":
            answer = sample(model, torch.tensor(command["prompts"]), command["new"])
        else:
            raise ValueError(f"unknown command {command['do']}")
        print(json.dumps(answer), flush=True)


main()
