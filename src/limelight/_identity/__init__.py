"""What a study is: everything its numbers depend on, as plain JSON.

`description` puts an experiment into words and compares two; `code` digests what is not ours;
`objects` says what an object holds and `origin` whose it is; `inputs` digests files that it reads.
"""
