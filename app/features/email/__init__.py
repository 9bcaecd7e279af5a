"""The features of an e-mail."""
