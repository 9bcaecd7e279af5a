"""How good the verdicts are on real inputs, beside other learners on the same features, and what features cost."""
