"""Plans in other packages: one file for each, imported when it is asked for."""

from typing import Any

HOMES = {
    "dask_sum": "dask",
    "executor_sum": "futures",
    "joblib_sum": "joblib",
}


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module 'planned_ad.interop' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"{__name__}.{HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(HOMES)
