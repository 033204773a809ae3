"""GPU memory of one engine, figure by figure."""
