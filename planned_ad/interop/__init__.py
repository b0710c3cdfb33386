"""Plans in other packages: one file for each, imported when it is asked for."""

from typing import Any

HOMES = {
    "casadi_function": "casadi",
    "dask_sum": "dask",
    "executor_sum": "futures",
    "jax_function": "jax",
    "joblib_sum": "joblib",
    "least_squares": "scipy",
    "LossClassifier": "sklearn",
    "LossRegressor": "sklearn",
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

    try:
        home = importlib.import_module(f"{__name__}.{HOMES[name]}")
    except ModuleNotFoundError as error:
        why = (
            f"planned_ad.interop.{name} needs {error.name!r}, which is not installed here (the extra `interop` has it)"
        )
        raise ModuleNotFoundError(why, name=error.name) from error
    return getattr(home, name)


def __dir__() -> list[str]:
    return sorted(HOMES)
