"""What Weft says while it runs: levels and the logger, the topics that can be asked for, compilations as a topic."""
