"""Text of every kind: shell, Docker, Markdown, JSON, HTML (floor 5)."""
