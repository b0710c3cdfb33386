"""Plans in other packages: one file for each, imported when it is asked for."""

from typing import Any

HOMES = {
    "LossClassifier": "sklearn",
    "LossRegressor": "sklearn",
    "casadi_function": "casadi",
    "jax_function": "jax",
    "least_squares": "scipy",
    "minimize": "scipy",
    "pytensor_function": "pytensor",
    "root": "scipy",
    "solve_ivp": "odes",
    "torch_function": "torch",
}


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module 'planned_ad.interop' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"{__name__}.{HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(HOMES)
