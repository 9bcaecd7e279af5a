"""The sentences of the page that are the same for every run."""

HEAD = """# The paper, reproduced

Wang, Wu, Zhao, Hoi: *A Framework of Sparse Online Learning and Its Applications*, its experiments run on the
kernels that Sluice serves with. Written by `make reproduce`; no number and no verdict is entered by hand. The sets
are read from the folder that the environment variable `SLUICE_DATA` names; those of the paper that are not there
are run like the others once they are given: `make reproduce GIVEN="webspam=webspam.svm.xz rcv1=train.svm,test.svm"`
(LIBSVM; they are stored on the disk and read from there, so they may be larger than the memory). `make reproduce
QUICK=1` is a trial in minutes. A run that was stopped goes on where it was."""

CLAIMS = """## What the paper claims, and what was measured

Each claim has a rule that decides, set by set, whether it holds. All is done twice: with the settings that the
paper's grid leads to, and with those that are found by going on beyond its edges, from neighbour to neighbour,
until none is better."""

PROTOCOL = """## Protocol

As in the paper: hinge loss; settings by 5-fold cross-validation at lambda 0, learning rates from 2^-1 to 2^9 and
all others (delta, r) from 2^-5 to 2^5; then five permutations of the training set, one pass each, and a test. Mean
and standard deviation over the five. The lambdas are those whose sparsity, on the first permutation, comes closest
to given levels. What the paper leaves open, and what was done:
- Examples are scaled to length 1, since the paper's grid is useless otherwise (the options below have the other
  case).
- Cross-validation tries the whole grid on the first fold and the best fifth of it on all five; of a set with more
  than 60 million non-zeros it takes as many examples as have these.
- lambda_t is constant for SSOL (the theorem's lambda / t makes weights dense again), eta lambda for FSOL, lambda t
  for Ada-RDA; STG truncates every 10 examples, all weights; FOBOS has the rate eta / sqrt(t).
- Sparsity counts features that were met in training: those that never occur would only add zeros.
- FTRL (logistic loss, with costs: CS-FTRL) and AROW are not in the paper. AROW, CS-OGD, CPA and PAUM have no
  lambda."""

SYNTHETIC = """## The synthetic set

100 features that decide and, in each example, 200 of 900 that are noise. Error bars are one standard deviation."""

REAL = """## Real sets

Test error against sparsity; the tables are those of the wider grid."""

TIME = """## Time

One pass over the training set by one process on an otherwise idle machine, all algorithms in turns; the table has
the median over sparsities of the median over rounds, and how many examples still had a loss, at the lowest and at
the highest sparsity. All run in the same table of hashed features, so that they differ in the bytes of a row and in
arithmetic, not in their programmer."""

RARE = """## Anomaly detection

Anomalies are drawn at random, with another seed in each repeat, so that they are 1 in 100 of what is learnt. The
test keeps all of its anomalies: balanced accuracy does not depend on their share, and is less of a lottery. Costs
are the paper's, 99 and 1. Filled markers: algorithms with costs."""

OPTIONS = """## What the paper leaves open

SSOL on balanced sets (test error %) and CS-SSOL at 1:99 (balanced accuracy %), one option changed at a time and
tuned anew, wider grid. The first line is what was used above."""

REGRET = """## Regret"""

DRIFT = """## Drift"""

SETS = """## Sets"""

SETTINGS = """## Settings that were chosen

Loss: error rate in cross-validation, at 1:99 that of balanced accuracy (100 less it). (edge): at the edge of the
grid."""

RUN = """## This run"""
