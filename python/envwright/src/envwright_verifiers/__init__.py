"""A verifiers taskset over a running Envwright OpenEnv server: `vf-eval envwright-verifiers`."""

from .taskset import EnvwrightConfig, EnvwrightData, EnvwrightTask, EnvwrightTaskset

__all__ = ["EnvwrightConfig", "EnvwrightData", "EnvwrightTask", "EnvwrightTaskset"]
