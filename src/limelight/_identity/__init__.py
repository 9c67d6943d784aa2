"""What a study is: everything its numbers depend on, as plain JSON.

`description` puts an experiment into words and compares two; `code` digests what is not ours;
`inputs` digests files that a study reads; `objects` says what an object holds, `origin` whose it is.
"""
