"""`scipy.spatial.distance`: `cdist` and `pdist` with a metric of a name, for points whose coordinates are traced.

Each metric is a function of two arrays of points, their coordinates along the last axis. As in SciPy everything is
computed in float64.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial import distance
from scipy.special import rel_entr

from ..numpy_functions.support import FLOAT, deliver, unsupported
from ..record.dispatch import implements
from ..record.recorder import Recorder
from .intervals import traced_arrays

Metric = Callable[..., Any]


def total(values: Any, w: Any = None) -> Any:
    return np.sum(values if w is None else values * w, axis=-1)


def minkowski(a: Any, b: Any, p: Any = 2.0, w: Any = None) -> Any:
    size = np.abs(a - b)
    if not hasattr(p, "recorder") and np.isinf(p):
        return chebyshev(a, b, w)
    return total(size**p, w) ** (1 / p)


def chebyshev(a: Any, b: Any, w: Any = None) -> Any:
    size = np.abs(a - b)
    return np.max(size if w is None else np.where(np.asarray(w) > 0, size, 0.0), axis=-1)


def cosine(a: Any, b: Any, w: Any = None) -> Any:
    return 1 - total(a * b, w) / np.sqrt(total(a * a, w) * total(b * b, w))


def correlation(a: Any, b: Any, w: Any = None) -> Any:
    count = a.shape[-1] if w is None else np.sum(w)
    return cosine(a - (total(a, w) / count)[..., None], b - (total(b, w) / count)[..., None], w)


def canberra(a: Any, b: Any, w: Any = None) -> Any:
    size = np.abs(a) + np.abs(b)
    return total(np.where(size == 0, 0.0, np.abs(a - b) / np.where(size == 0, 1.0, size)), w)


def jensenshannon(a: Any, b: Any) -> Any:
    a, b = a / np.sum(a, axis=-1, keepdims=True), b / np.sum(b, axis=-1, keepdims=True)
    middle = (a + b) / 2
    return np.sqrt(np.maximum(total(rel_entr(a, middle) + rel_entr(b, middle)) / 2, 0.0))


def mahalanobis(a: Any, b: Any, VI: Any) -> Any:
    apart = a - b
    return np.sqrt(total((apart @ VI) * apart))


METRICS: dict[str, Metric] = {
    "euclidean": lambda a, b, w=None: np.sqrt(total((a - b) ** 2, w)),
    "sqeuclidean": lambda a, b, w=None: total((a - b) ** 2, w),
    "seuclidean": lambda a, b, V: np.sqrt(total((a - b) ** 2 / V)),
    "cityblock": lambda a, b, w=None: total(np.abs(a - b), w),
    "chebyshev": chebyshev,
    "minkowski": minkowski,
    "cosine": cosine,
    "correlation": correlation,
    "canberra": canberra,
    "braycurtis": lambda a, b, w=None: total(np.abs(a - b), w) / total(np.abs(a + b), w),
    "jensenshannon": jensenshannon,
    "mahalanobis": mahalanobis,
    "hamming": lambda a, b, w=None: total((a != b) * 1.0, w) / (a.shape[-1] if w is None else np.sum(w)),
}


def metric_of(metric: Any) -> Metric:
    name = metric.lower() if isinstance(metric, str) else getattr(metric, "__name__", "")
    known = distance._METRIC_ALIAS.get(name)
    if known is None:
        raise ValueError(f"Unknown Distance Metric: {metric}")
    if known.canonical_name not in METRICS:
        raise unsupported(f"the metric {name} between traced points", f"use one of {', '.join(METRICS)}")
    return METRICS[known.canonical_name]


def with_defaults(metric: Metric, points: Any, options: dict[str, Any]) -> dict[str, Any]:
    """What SciPy takes from all points where it is not given: variances, and the inverse of the covariance."""
    options = {key: value for key, value in options.items() if value is not None}
    if metric is METRICS["seuclidean"] and "V" not in options:
        options["V"] = np.var(points, axis=0, ddof=1)
    if metric is mahalanobis and "VI" not in options:
        options["VI"] = np.linalg.inv(np.cov(points.T)).T
    return options


def is_own(metric: Any) -> bool:
    """Whether it is a function of the user's."""
    return callable(metric) and not getattr(metric, "__module__", "").startswith("scipy.spatial")


@implements(distance.cdist)
def cdist(recorder, XA, XB, metric="euclidean", *, out=None, **options):
    a, b = points_of(recorder, XA, "XA"), points_of(recorder, XB, "XB")
    if a.shape[1] != b.shape[1]:
        raise ValueError("XA and XB must have the same number of columns (i.e. feature dimension.)")
    if is_own(metric):
        own = functools.partial(metric, **options)
        rows = [np.stack([own(a[i], b[j]) for j in range(b.shape[0])]) for i in range(a.shape[0])]
        return deliver(recorder, recorder.value_of(np.stack(rows), FLOAT), out)
    function = metric_of(metric)
    options = with_defaults(function, np.concatenate([a, b]), options)
    return deliver(recorder, recorder.value_of(function(a[:, None, :], b[None, :, :], **options), FLOAT), out)


@implements(distance.pdist)
def pdist(recorder, X, metric="euclidean", *, out=None, **options):
    x = points_of(recorder, X, "X")
    i, j = np.triu_indices(x.shape[0], 1)
    if is_own(metric):
        own = functools.partial(metric, **options)
        found = np.stack([own(x[p], x[q]) for p, q in zip(i.tolist(), j.tolist())])
    else:
        function = metric_of(metric)
        found = function(x[i], x[j], **with_defaults(function, x, options))
    return deliver(recorder, recorder.value_of(found, FLOAT), out)


def points_of(recorder: Recorder, points: Any, name: str) -> Any:
    (found,) = traced_arrays(recorder, points)
    if found.ndim != 2:
        raise ValueError(f"{name} must be a 2-dimensional array.")
    return found.astype(FLOAT)


# Between vectors of all pairs and square matrices.


@implements(distance._distance_wrap.to_squareform_from_vector_wrap)
def to_square(recorder, matrix, vector):
    (vector,) = traced_arrays(recorder, vector)
    i, j = np.triu_indices(matrix.shape[0], 1)
    matrix[i, j] = vector
    matrix[j, i] = vector


@implements(distance._distance_wrap.to_vector_from_squareform_wrap)
def to_vector(recorder, matrix, vector):
    (matrix,) = traced_arrays(recorder, matrix)
    vector[...] = matrix[np.triu_indices(matrix.shape[0], 1)]
