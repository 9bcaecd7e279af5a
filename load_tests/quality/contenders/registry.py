"""All who take part, in the order of the tables."""

from app.features.featurizer import Kind
from load_tests.quality.contenders import names
from load_tests.quality.contenders.bogofilter import Bogofilter
from load_tests.quality.contenders.contender import Contender
from load_tests.quality.contenders.ours import Sluice
from load_tests.quality.contenders.river_models import river_ftrl, river_sgd
from load_tests.quality.contenders.sgd import Sgd
from load_tests.quality.contenders.vw import vw_default, vw_ftrl

SPARSITY = 0.9


def contenders(kind: Kind, *, raw: bool) -> list[Contender]:
    """Those for a kind of input; with `raw` those that read inputs as they are."""
    if raw:
        return [Bogofilter()] if kind == "email" else []
    return [
        Sluice(),
        Sluice(names.SPARSE, {"target_sparsity": SPARSITY}),
        *(Sluice(f"Sluice, {algorithm}", {"algorithm": algorithm}) for algorithm in ("cs-fsol", "ftrl", "arow")),
        vw_default(),
        vw_ftrl(),
        Sgd(),
        river_sgd(),
        river_ftrl(),
    ]
