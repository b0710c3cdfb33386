"""`scipy.spatial.transform` (from SciPy 1.17 on): what `Rotation` and `RigidTransform` do with their numbers."""

from .generic_code import by_generic_code

by_generic_code("spatial.transform._rotation_cy", "spatial.transform._rotation_xp", without=("reduce",))
by_generic_code("spatial.transform._rigid_transform_cy", "spatial.transform._rigid_transform_xp")
