"""The sentences of docs/quality.md that are the same for every run."""

from load_tests.quality.sizes import HEAD as BEGINNING
from load_tests.quality.sizes import RARE

HEAD = """# Quality on real inputs

Written by `make bench-quality`, which measures everything below in one run; no number is entered by hand. It needs the
corpora in the folder that the environment variable `SLUICE_DATA` names, and takes some 20 minutes on two cores
(`make bench-quality QUICK=1`: a few minutes with the beginning of each stream, which writes nothing). Every example is
scored before its label is learnt, in the order of the stream. Balanced: the mean of sensitivity and specificity."""

CAUTION = """The two classes of phishtank-lobsters and jpcert-lobsters come from different sites, so a learner may tell
the sites apart instead of the classes: no claim about production follows from them."""

CONTENDERS = f"""All learn the same features of the same examples, scaled to length 1, in the same order, and a score
above 0 says anomaly; only bogofilter reads the mails themselves, with tokens of its own, and says spam above a
probability of one half. **Sluice** runs with the settings that it ships with, the same on every stream. What is called
tuned has the best of several settings, chosen in hindsight on the stream itself or its beginning: this is to the
others' favour. At {RARE} all normal examples are kept and so few anomalies, at random, that they are 1 in 100: the mean
over samples, and the spread from the worst to the best of them."""

SPARSITY = """Sluice with `target_sparsity` 0.9 beside its default: how many of the features that it has met have the
weight 0 in the end, and what that costs."""

COLD = """Balanced accuracy over all examples so far, after so many labels, of learners that start at random places of a
stream and know nothing: the mean over starts and streams. Tuned ones have the settings that were best for the whole
stream."""

METHOD = f"""## How it was measured
- **Vowpal Wabbit** runs in its own loop over a cache, with as many bits as keep features from colliding; counted are
  its progressive predictions. Tuned: `--ftrl` with hinge loss, the best `--ftrl_alpha` on the whole stream by error (at
  {RARE}: by balanced accuracy, with or without a weight of 30 for anomalies).
- **scikit-learn**: `SGDClassifier.partial_fit` goes over all weights at every call, so on streams of more than 2,000
  examples it is tested on blocks of 50 before it learns them one after the other; in cold starts in single steps. Loss
  and penalty are chosen on the first 20,000 examples, at {RARE} with or without a weight of 30 for anomalies.
- **river** is given the first {BEGINNING:,} examples only, because it takes too long; beside its figures stands what
  Sluice has over the same. Its step is chosen on the first 5,000, since the one that it ships with is too small here.
- **bogofilter** tests each mail in a process and registers it in another one, under its defaults; there is no cold
  start at {RARE} for it, because that takes too long.
- **Features**: the time for a URL and a score is taken in turns with `urlsplit` and `tldextract` on the same URLs, and
  that for a mail in turns with `email.message_from_bytes`, `walk` and `get_payload(decode=True)`; no input comes twice.
  Peak memory is that of a fresh process above what it has before the mail is read: the mail itself is part of it."""
