"""The command line: `app`, and one small module per command.

`options`, `images`, `crew`, `progress` and `text` are what they share.
"""
