"""The parts of the screen; each knows one thing and is built once."""
