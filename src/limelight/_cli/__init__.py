"""The command line: `app` and one small module a command; `common` is what they share."""
