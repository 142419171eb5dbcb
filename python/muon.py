"""Muon (Jordan et al., 2024) in plain PyTorch and float32: the reference that the TypeScript optimiser is compared with.

No fused kernels, no bfloat16, one matrix at a time; slow and easy to check against the description.
"""

import torch

A, B, C = 3.4445, -4.7750, 2.0315


def orthogonalised(matrix: torch.Tensor, iterations: int = 5) -> torch.Tensor:
    """Newton-Schulz with the quintic a x + b x^3 + c x^5: singular values go to about 1, singular vectors stay."""
    tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.T if tall else matrix
    x = x / (x.norm() + 1e-7)
    for _ in range(iterations):
        gram = x @ x.T
        x = A * x + (B * gram + C * (gram @ gram)) @ x
    return x.T if tall else x


class Muon:
    """Momentum as a running mean, Nesterov look-ahead, decoupled decay, update times sqrt(max(1, rows / columns))."""

    def __init__(self, matrices: list[torch.nn.Parameter], lr: float, momentum: float, weight_decay: float):
        self.matrices, self.lr, self.momentum, self.weight_decay = matrices, lr, momentum, weight_decay
        self.means = [torch.zeros_like(m) for m in matrices]

    @torch.no_grad()
    def step(self, scale: float) -> None:
        rate = self.lr * scale
        for matrix, mean in zip(self.matrices, self.means):
            mean.mul_(self.momentum).add_(matrix.grad, alpha=1 - self.momentum)
            ahead = (1 - self.momentum) * matrix.grad + self.momentum * mean
            rows, columns = matrix.shape
            matrix.mul_(1 - rate * self.weight_decay)
            matrix.add_(orthogonalised(ahead), alpha=-rate * max(1, rows / columns) ** 0.5)
