"""The other learners, with grids so wide that the best points lie inside."""

from dataclasses import replace
from functools import partial
from importlib.metadata import version

from river import optim

from experiments.quality.contenders import WEIGHTS, Contender, Options, ours
from experiments.quality.rivals import bogofilter, libraries
from experiments.tasks import code

CUTOFFS = (1e-6, 1e-4, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 0.9999)
RATES = tuple(2.0**k for k in range(-10, 10))
ALPHAS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0)
PENALTIES = (1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9)
SEARCHED, NONZEROS = 8_000, 1_500_000  # of the beginning of a stream
SEARCHED_BY_RIVER, PLAYED_BY_RIVER = 2_000, 1_500_000  # river takes 5 to 20 times as long as the others
PLAYED_BY_BOGOFILTER = 5_000_000
VW = {  # by name: fixed options, the name of the step, steps, the start
    "VW logistic": (("--loss_function", "logistic"), "learning_rate", RATES, 12),
    "VW squared": (("--loss_function", "squared"), "learning_rate", RATES, 9),
    "VW hinge": (("--loss_function", "hinge"), "learning_rate", RATES, 10),
    "VW ftrl, hinge": (("--ftrl", "--loss_function", "hinge"), "ftrl_alpha", ALPHAS, 7),
    "VW ftrl, logistic": (("--ftrl", "--loss_function", "logistic"), "ftrl_alpha", ALPHAS, 7),
}


def contenders(*, with_raws: bool) -> list[Contender]:
    """All contenders in the order of the tables; bogofilter only where there are mails and it is installed."""
    own = code(("experiments/quality/rivals/libraries.py",))
    vw, sklearn, river = (f"{name} {version(name)} {own}" for name in ("vowpalwabbit", "scikit-learn", "river"))
    found = ours()
    for name, (fixed, step, steps, start) in VW.items():
        play, online = partial(libraries.play_vw, fixed), partial(libraries.vw_online, fixed)
        grid: tuple[Options, ...] = tuple({step: value} for value in steps)
        found.append(
            Contender(
                name,
                play,
                f"{vw} {name}",
                grid,
                start,
                WEIGHTS,
                online,
                beginning=SEARCHED,
                nonzeros=NONZEROS,
                climbs=True,
            )
        )
    for loss in ("hinge", "log_loss"):
        grid = tuple({"loss": loss, "alpha": value} for value in PENALTIES)
        name = f"scikit-learn SGD, {loss}"
        found.append(
            Contender(
                name, libraries.play_sgd, f"{sklearn} {name}", grid, 5, WEIGHTS, beginning=SEARCHED, nonzeros=NONZEROS
            )
        )
    for name, kind, step in (("logistic", optim.SGD, "lr"), ("FTRL", optim.FTRLProximal, "alpha")):
        grid = tuple({step: value} for value in ALPHAS)
        play, online = partial(libraries.play_river, kind), partial(libraries.river_online, kind)
        few = Contender(f"river {name}", play, f"{river} {name}", grid, 8, WEIGHTS, online, longest=PLAYED_BY_RIVER)
        found.append(replace(few, beginning=SEARCHED_BY_RIVER))
    if with_raws and bogofilter.is_installed():
        grid = tuple({bogofilter.CUTOFF: value} for value in CUTOFFS)
        named = ("bogofilter", bogofilter.play_bogofilter, code(("experiments/quality/rivals/bogofilter.py",)))
        found.append(Contender(*named, grid, 5, takes_raw=True, longest=PLAYED_BY_BOGOFILTER))
    return found
