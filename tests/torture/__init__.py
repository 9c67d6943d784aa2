"""What a run must survive: kills, full disks, lost files. `make torture` does it at length.

`study` the run that is tortured, `walks` how it is done, `workers` processes at work on it, `crews`
workers that another process starts and replaces, `suite` rounds of it with a count of what
survived, `fuzz` inputs that nobody should send. All of it is drawn from one seed.
"""
