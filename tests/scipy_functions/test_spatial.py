"""`scipy.spatial`: distances of every metric, and rotations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import spatial
from scipy.spatial import distance as ds
from scipy.spatial.transform import RigidTransform, Rotation, Slerp

from planned_ad.errors import PlannedADError, UnsupportedError
from planned_ad.python.versions import SCIPY
from planned_ad.trace import trace
from tests.tracing_oracle import check
from tests.verdicts import examine

from .orders import check_orders, mostly_long

rng = np.random.default_rng(0)
A, B = rng.normal(size=(4, 3)), rng.normal(size=(5, 3))
P, Q = rng.uniform(0.2, 1, size=(4, 3)), rng.uniform(0.2, 1, size=(5, 3))
W, U, V = np.array([0.5, 1.0, 2.0]), A[0], A[1]
SMOOTH = ("euclidean", "sqeuclidean", "cityblock", "chebyshev", "minkowski", "cosine", "correlation", "canberra",
          "braycurtis", "jensenshannon", "seuclidean", "mahalanobis")  # fmt: skip
WEIGHTED = SMOOTH[:9]


@pytest.mark.parametrize("metric", mostly_long(SMOOTH, "euclidean", "cosine", "mahalanobis"))
def test_metrics(metric: str) -> None:
    a, b = (P, Q) if metric == "jensenshannon" else (A, B)
    check_orders(lambda x, y: ds.cdist(x, y, metric), a, b)
    check(lambda x: ds.pdist(x, metric), b)
    if metric not in ("seuclidean", "mahalanobis"):
        check(lambda x, y: getattr(ds, metric)(x, y), a[0], a[1])
    if metric in WEIGHTED:
        check(lambda x, y: ds.cdist(x, y, metric, w=W), a, b)


CASES = {
    "kernel matrix": (lambda x: np.exp(-ds.cdist(x, x, "sqeuclidean") / 2), A),
    "pdist": (lambda x: ds.pdist(x), A),
    "minkowski": (lambda x, y: ds.cdist(x, y, "minkowski", p=3), A, B),
    "variances": (lambda x, y, s: ds.cdist(x, y, "seuclidean", V=s), A, B, W),
    "a function": (lambda x, y: ds.cdist(x, y, lambda a, b: np.sum(np.abs(a - b) ** 1.5)), A, B),
    "squareform": (lambda x: ds.squareform(ds.squareform(ds.pdist(x))), A),
    "distance_matrix": (lambda x, y: spatial.distance_matrix(x, y), A, B),
    "procrustes": (lambda x, y: spatial.procrustes(x, y)[2], A, B[:4]),
}


@pytest.mark.parametrize("name", mostly_long(CASES, "kernel matrix", "squareform"))
def test_distances(name: str) -> None:
    check_orders(*CASES[name], order=2 if name in ("kernel matrix", "pdist") else 1)


def test_what_has_no_rule_is_refused() -> None:
    for f in (lambda x: ds.cdist(x > 0, x > 0, "jaccard"), lambda x: x[spatial.ConvexHull(x).vertices]):
        with pytest.raises(PlannedADError, match="test_spatial"):
            trace(f, (A,))


TURN, TURNS = Rotation.from_rotvec([0.1, -0.4, 0.7]), Rotation.from_rotvec(B[:4])
ROTATIONS = {
    "rotvec": (
        lambda r: Rotation.from_rotvec(r).as_matrix() + Rotation.from_rotvec(30 * r, degrees=True).as_matrix(),
        U,
    ),
    "several": (lambda r: Rotation.from_rotvec(r).as_quat(), A),
    "quat": (lambda q: Rotation.from_quat(q).as_rotvec(), rng.normal(size=(3, 4))),
    "euler": (lambda e: Rotation.from_euler("xyz", e).as_matrix(), U),
    "degrees": (lambda e: Rotation.from_euler("ZYX", e, degrees=True).as_euler("zxz"), U * 30),
    "matrix": (lambda r: Rotation.from_matrix(Rotation.from_rotvec(r).as_matrix()).as_rotvec(), 0.4 * U),
    "apply": (lambda r, x: Rotation.from_rotvec(r).apply(x) + Rotation.from_rotvec(r).apply(x, inverse=True), U, B),
    "found outside": (lambda x: TURN.apply(x) + TURNS.apply(x) + TURN.as_matrix()[0], A),
    "product": (lambda r, s: (Rotation.from_rotvec(r) * TURN * Rotation.from_rotvec(s)).as_rotvec(), 0.5 * U, 0.5 * V),
    "inverse": (lambda r: Rotation.from_rotvec(r).inv().as_matrix(), U),
    "power": (lambda r: (Rotation.from_rotvec(r) ** 0.5).as_mrp(), U),
    "magnitude": (lambda r: Rotation.from_rotvec(r).magnitude(), 0.5 * A),
    "mean": (lambda r: Rotation.from_rotvec(r).mean().as_quat(), 0.3 * A),
    "item": (lambda r: Rotation.from_rotvec(r)[1].as_matrix(), A),
    "davenport": (lambda e: Rotation.from_davenport(np.eye(3), "extrinsic", e).as_matrix(), U),
    "align": (lambda a: Rotation.align_vectors(a, B[:4])[1], A),
    "Slerp": (lambda t: Slerp([0.0, 1.0, 2.0, 3.0], TURNS)(t).as_rotvec(), np.array([0.3, 1.4])),
    "rigid": (lambda r, t, x: RigidTransform.from_components(t, Rotation.from_rotvec(r)).apply(x), U, V, B),
}


@pytest.mark.skipif(SCIPY < (1, 17), reason="is all compiled there")
@pytest.mark.parametrize("name", mostly_long(ROTATIONS, "quat", "euler", "apply", "found outside", "product"))
def test_rotations(name: str) -> None:
    check_orders(*ROTATIONS[name], order=2 if name in ("rotvec", "apply") else 1)


def test_the_generic_code_that_does_something_else_is_refused() -> None:
    with pytest.raises(PlannedADError, match="reduce"):
        trace(lambda r: Rotation.from_rotvec(r).reduce(TURNS).as_quat(), (A,))


# Trees of points.

POINTS, ASKED = np.random.default_rng(5).normal(size=(9, 2)), np.random.default_rng(6).normal(size=(4, 2))
KNOWN_TREE = spatial.cKDTree(POINTS)
TREES = {
    "known": lambda p, q: KNOWN_TREE.query(q)[0],
    "several": lambda p, q: spatial.cKDTree(p).query(q, k=2)[0] + p[spatial.KDTree(p).query(q, k=2)[1], 0],
    "one point": lambda p, q: spatial.KDTree(p).query(q[0], p=1)[0] + p[spatial.KDTree(p).query(q[0])[1]],
    "bounded": lambda p, q: np.minimum(spatial.KDTree(p).query(q, k=3, distance_upper_bound=0.8)[0], 9),
    "largest": lambda p, q: spatial.KDTree(p).query(q, p=np.inf)[0],
}


@pytest.mark.parametrize("name", TREES)
def test_nearest_neighbours(name: str) -> None:
    found = examine(TREES[name], [(POINTS, ASKED)], unroll=16)
    assert found.kind == "right", found


def test_what_else_a_tree_can_do_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="query_ball_point of a tree"):
        trace(lambda p: spatial.KDTree(p).query_ball_point(p, 1.0), (POINTS,))
