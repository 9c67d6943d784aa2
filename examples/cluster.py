"""Work on one run folder with many SLURM jobs. Needs `pip install 'limelight[cluster]'`.

python examples/cluster.py /shared/fig1a 16
"""

import subprocess
import sys


def work(store: str) -> int:
    """One worker: compute chunks that nobody holds until none is left."""
    return subprocess.run(["limelight", "resume", store], check=False).returncode


def main(store: str, workers: str) -> None:
    import submitit

    executor = submitit.AutoExecutor(folder=f"{store}/jobs")
    executor.update_parameters(timeout_min=240, gpus_per_node=1, name="limelight")
    jobs = [executor.submit(work, store) for _ in range(int(workers))]
    print([job.result() for job in jobs])


if __name__ == "__main__":
    main(*sys.argv[1:])
