"""Read the real parser of a vLLM release out of its wheel, without a GPU and without torch."""
