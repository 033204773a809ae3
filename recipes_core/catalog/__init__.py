"""Floor 1: from YAML files to frozen, validated documents."""
