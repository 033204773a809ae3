"""A whole catalog as a static site with a JSON API in the peer's paths and shape."""
