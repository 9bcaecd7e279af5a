"""One file per algorithm; `kernels.registry` lists them.

Every file has the same entries:
    score(rows, dense, tally, keys, values, settings, weights) -> score      reads only; leaves w of each feature
    scores(rows, dense, tally, keys, values, starts, settings, results)      the same scores for a batch in CSR form
    learn(rows, dense, tally, keys, values, label, settings) -> score        test, then train, one example
    stream(rows, dense, tally, keys, values, starts, labels, settings, scores, first) -> next
                                                                             test, then train, a batch in CSR form
    survey(rows, dense, tally, settings, weights, sizes, evidence)           w of the first rows of the table
and says what a row holds (STATE, FRESH), which options it knows (OPTIONS) and which of them differ from the
common defaults (DEFAULTS). Examples are canonical: keys ascending and unique, values finite and not 0.
"""
