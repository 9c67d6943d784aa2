"""The command line: `app`, a module per command; `options`, `text`, `progress` are shared."""
