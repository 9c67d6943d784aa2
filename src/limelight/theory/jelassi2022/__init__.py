"""Theory of jelassi2022."""
