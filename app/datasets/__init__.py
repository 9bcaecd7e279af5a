"""Labelled examples from files: LIBSVM, Vowpal Wabbit, JSON lines, URLs, texts and mails, plain or compressed."""
