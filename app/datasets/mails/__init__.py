"""Labelled mails from tar archives and folders: raw messages, with an index or in folders named spam and ham."""
