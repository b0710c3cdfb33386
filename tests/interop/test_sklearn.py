"""Estimators of scikit-learn whose loss is a function."""

from __future__ import annotations

import numpy as np
import pytest

import planned_ad

pytest.importorskip("sklearn")
from sklearn import linear_model, model_selection, pipeline, preprocessing

LossClassifier, LossRegressor = planned_ad.interop.LossClassifier, planned_ad.interop.LossRegressor

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(60, 3))
Y = X @ [1.0, -2.0, 0.5] + 0.1 * RANDOM.normal(size=60)


def ridge(p, X, y, alpha):
    return np.sum((X @ p - y) ** 2) + alpha * np.sum(p**2)


def linear(p, X, alpha):
    return X @ p


def start(X, y):
    return np.zeros(X.shape[1])


def softmax_loss(p, X, y):
    scores = X @ p
    return np.sum(np.log(np.sum(np.exp(scores), axis=1)) - scores[np.arange(len(y)), y.astype(int)]) + np.sum(p**2) / 2


def scores(p, X):
    return X @ p


def test_a_regressor_is_the_ridge() -> None:
    own = LossRegressor(ridge, linear, start, (0.7,), options={"gtol": 1e-10, "ftol": 1e-14}).fit(X, Y)
    other = linear_model.Ridge(0.7, fit_intercept=False).fit(X, Y)
    np.testing.assert_allclose(own.parameters_, other.coef_, rtol=1e-6)


def test_search_in_a_pipeline() -> None:
    steps = pipeline.make_pipeline(preprocessing.StandardScaler(with_mean=False), LossRegressor(ridge, linear, start))
    grid = {"lossregressor__args": [(0.01,), (1000.0,)]}
    search = model_selection.GridSearchCV(steps, grid, cv=3).fit(X, Y)
    assert search.best_params_["lossregressor__args"] == (0.01,)
    assert search.best_score_ > 0.98


def test_a_classifier_of_labels() -> None:
    labels = np.array(["a", "b", "c"])[np.argmax(X, axis=1)]
    own = LossClassifier(softmax_loss, scores, np.zeros((3, 3))).fit(X, labels)
    assert own.score(X, labels) > 0.95
    assert set(own.predict(X)) == {"a", "b", "c"}
    two = LossClassifier(lambda p, X, y: np.sum(np.log1p(np.exp(-(2 * y - 1) * (X @ p)))), scores, np.zeros(3))
    assert two.fit(X, X[:, 0] > 0).score(X, X[:, 0] > 0) > 0.95
