"""The parts of `sluice demo`: its own service, the replay of a stream, the tally, the display and the summary."""
