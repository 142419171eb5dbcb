"""Rewards of a running Envwright service, for Python trainers."""

from .client import Item, Result, RewardClient, RewardServiceError
from .trl_reward import reward_function
from .verl_reward import compute_score

__all__ = ["Item", "Result", "RewardClient", "RewardServiceError", "compute_score", "reward_function"]
