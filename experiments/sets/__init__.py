"""The sets that the study is made on, each a source of batches: the paper's where they can be had, else their like."""
