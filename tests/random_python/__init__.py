"""Random programs that write Python, not only arrays: state, iterators, views, exits and derivatives, as source text.

`python -m tests.random_python` judges any number of them by the function itself and by finite differences.
"""
