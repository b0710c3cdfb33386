"""Estimators of scikit-learn whose loss is a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_array, check_is_fitted, check_X_y

from .scipy import minimize


class LossEstimator(BaseEstimator):
    """The minimum of a loss over parameters.

    Parameters
    ----------
    loss : callable
        `loss(p, X, y, *args)`, a number; traced and compiled once for each shape of `X` and `y`.
    predict_from : callable
        `predict_from(p, X, *args)`: predictions of a regressor; scores of a classifier, `(n,)` for two classes, or
        `(n, classes)`.
    initial : array or callable
        The parameters to begin with, or `initial(X, y)`, which gives them.
    args : tuple
        Hyperparameters, to be searched over.
    method : str
        Of `scipy.optimize.minimize`.
    options : dict, optional
        Of that method.

    Attributes
    ----------
    parameters_ : array
    result_ : scipy.optimize.OptimizeResult
    """

    _target: type = float  # the numbers that a loss is given for `y`

    def __init__(
        self,
        loss: Callable[..., Any],
        predict_from: Callable[..., Any],
        initial: Any,
        args: tuple = (),
        method: str = "L-BFGS-B",
        options: dict[str, Any] | None = None,
    ):
        self.loss, self.predict_from, self.initial = loss, predict_from, initial
        self.args, self.method, self.options = args, method, options

    def fit(self, X: Any, y: Any) -> LossEstimator:
        X, y = check_X_y(X, y, dtype=float, order="C", y_numeric=True, multi_output=True)
        self.n_features_in_ = X.shape[1]
        begin = np.array(self.initial(X, y) if callable(self.initial) else self.initial, float)
        y = np.ascontiguousarray(y, self._target)
        self.result_ = minimize(self.loss, begin, (X, y, *self.args), self.method, options=self.options)
        self.parameters_ = self.result_.x.reshape(begin.shape)
        return self

    def _predicted(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return np.asarray(self.predict_from(self.parameters_, check_array(X, dtype=float, order="C"), *self.args))


class LossRegressor(RegressorMixin, LossEstimator):
    """A regressor; parameters as of `LossEstimator`."""

    def predict(self, X: Any) -> np.ndarray:
        return self._predicted(X)


class LossClassifier(ClassifierMixin, LossEstimator):
    """A classifier, whose loss is given the number of each row's class, an int; parameters as of `LossEstimator`."""

    _target = int

    def fit(self, X: Any, y: Any) -> LossClassifier:
        self.classes_, numbers = np.unique(y, return_inverse=True)
        super().fit(X, numbers)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        return self._predicted(X)

    def predict(self, X: Any) -> np.ndarray:
        scores = self._predicted(X)
        return self.classes_[scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0).astype(int)]
