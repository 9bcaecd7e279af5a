"""The slow, dense twin of every algorithm, written from the paper: the kernels must agree with them."""

from .ada_fobos import AdaFobos
from .ada_rda import AdaRda
from .arow import Arow
from .cpa import Cpa
from .cs_fsol import CsFsol
from .cs_ogd import CsOgd
from .cs_ssol import CsSsol
from .cs_ssol_full import CsSsolFull
from .dense import Reference
from .fobos import Fobos
from .fsol import Fsol
from .ftrl import Ftrl
from .paum import Paum
from .ssol import Ssol
from .ssol_full import SsolFull
from .stg import Stg

__all__ = ["REFERENCES", "Reference"]

REFERENCES: dict[str, type[Reference]] = {
    "stg": Stg,
    "fobos": Fobos,
    "ada-fobos": AdaFobos,
    "ada-rda": AdaRda,
    "fsol": Fsol,
    "ssol": Ssol,
    "ssol-full": SsolFull,
    "cs-ogd": CsOgd,
    "cpa": Cpa,
    "paum": Paum,
    "cs-fsol": CsFsol,
    "cs-ssol": CsSsol,
    "cs-ssol-full": CsSsolFull,
    "ftrl": Ftrl,
    "arow": Arow,
}
