"""`scipy.interpolate.RBFInterpolator`."""

from .generic_code import by_generic_code

by_generic_code("interpolate._rbfinterp_np", "interpolate._rbfinterp_xp")
