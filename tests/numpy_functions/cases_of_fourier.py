"""Uses of `numpy.fft` and `scipy.fft`, in the table of cases. Complex results are seen as real and imaginary parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.fft
import scipy.fftpack

from .cases import case

generator = np.random.default_rng(10)
MODULES = {"numpy.fft": np.fft, "scipy.fft": scipy.fft}


def floats(*shape: int) -> np.ndarray:
    return np.asarray(generator.normal(size=shape))


def parts(z: Any) -> Any:
    return np.stack([np.real(z), np.imag(z)]) if np.iscomplexobj(z) else z


def listed(function: Any, *options: dict[str, Any]) -> Any:
    """What a function gives with each of the options."""
    return lambda x: [parts(function(x, **each)) for each in options]


def of_complex(function: Any) -> Any:
    """Of the complex array of which `x[0]` and `x[1]` are the parts."""
    return lambda x, **options: function(x[0] + 1j * x[1], **options)


ALONG = [{"axis": 0, "norm": "ortho"}, {"n": 3, "norm": "forward"}, {"n": 7}]
ACROSS = [{"s": (2, 5), "axes": (0, 1), "norm": "ortho"}, {"axes": (1, 0)}]

for _label, _module in MODULES.items():
    for _name in ("fft", "ifft", "rfft", "ihfft"):
        case(listed(getattr(_module, _name), *ALONG), floats(4, 5), name=f"{_label}.{_name}")
    for _name in ("fft", "ifft", "irfft", "hfft"):
        case(listed(of_complex(getattr(_module, _name)), *ALONG), floats(2, 4, 5), name=f"{_label}.{_name}")
    for _name in ("fft2", "ifftn", "rfft2", "rfftn"):
        case(listed(getattr(_module, _name), *ACROSS), floats(3, 4), name=f"{_label}.{_name}")
    for _name in ("fftn", "ifft2", "irfft2", "irfftn"):
        case(listed(of_complex(getattr(_module, _name)), *ACROSS), floats(2, 3, 4), name=f"{_label}.{_name}")
    case(lambda x, m=_module: [m.fftshift(x), m.ifftshift(x, 1)], floats(3, 4), name=f"{_label}.fftshift")
    case(lambda x, m=_module: x[:3] * m.rfftfreq(5, x[0]) + m.fftfreq(3), floats(5), name=f"{_label}.rfftfreq")
for _name in ("hfft2", "hfftn"):
    case(listed(of_complex(getattr(scipy.fft, _name)), *ACROSS), floats(2, 3, 4), name=f"scipy.fft.{_name}")
case(listed(scipy.fft.ihfftn, *ACROSS), floats(3, 4), name="scipy.fft.ihfftn")
case(lambda x: scipy.fft.irfft(scipy.fft.rfft(x, scipy.fft.next_fast_len(11)))[:9], floats(9), name="scipy.fft.sized")

for _name in ("dct", "idct", "dst", "idst"):
    for _type in (1, 2, 3, 4):
        _norms = [{"type": _type, "norm": norm} for norm in ("ortho", "forward")]
        case(
            listed(getattr(scipy.fft, _name), *_norms, {"type": _type, "n": 5}), floats(2, 6), name=f"scipy.fft.{_name}"
        )
case(listed(scipy.fft.dct, {"orthogonalize": True, "axis": 0}), floats(4, 2), name="scipy.fft.dct")
case(listed(of_complex(scipy.fft.dct), {}), floats(2, 3), name="scipy.fft.dct")
case(listed(scipy.fft.dctn, {"norm": "ortho"}, {"s": (2, 5)}), floats(3, 4), name="scipy.fft.dctn")
case(listed(scipy.fft.idstn, {"norm": "ortho"}, {"axes": (0,)}), floats(3, 4), name="scipy.fft.idstn")
case(lambda x: parts(scipy.fftpack.fft(x)) + scipy.fftpack.dct(x), floats(3, 4), name="scipy.fftpack.fft")
case(
    lambda x: np.zeros(3, np.result_type(x, np.complex64)).real + x + x.astype(np.result_type(x, "f8")),
    floats(3),
    name="result_type",
)
