"""The program: the options of `init`, and the state that `init` creates and `reset` drops."""
