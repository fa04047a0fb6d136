"""The program: the options of `init`, what it sets up and `reset` drops."""
