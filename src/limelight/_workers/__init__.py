"""Workers on one machine or many: started, watched and replaced until a run folder is whole.

`crew` watches; `work` is what one worker does, `share` how it takes its part; `status` says how far
a run is, `jobs` which jobs it has; `launcher` is the contract of a scheduler: `local`, `slurm` and
`ray` start workers and say which of them are there; `layout` fits a study to its workers before any
is started.

Work is claimed and kept in the run folder alone. Nothing here decides who computes what.
"""
