"""What a run must survive: kills, full disks, lost files. `python -m tests.torture` does it at length.

`study` the run that is tortured, `workers` processes at work on it, `torments` what is done to them,
`suite` rounds of it with a count of what survived. All of it is drawn from one seed.
"""
