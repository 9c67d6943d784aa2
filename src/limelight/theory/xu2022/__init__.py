"""How much noise one attention layer removes: xu2022 as printed, and repaired."""
