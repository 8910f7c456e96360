#!/usr/bin/env python3
"""Inside the lab: every round runs every variant once, in turns. Called by contrib/bench with a plan (JSON); appends one line of JSON per
variant, round and size to the plan's output, or one with "error"."""
import json
import os
import re
import signal
import subprocess
import sys

STOP_S = 10


def run(words, environment, limit_s):
    """(status, output, errors); status None after the time limit."""
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, process_group=0) as process:
        try:
            output, errors = process.communicate(timeout=limit_s)
            return process.returncode, output, errors
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGTERM)
            try:
                output, errors = process.communicate(timeout=STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                output, errors = process.communicate()
            return None, output, errors


def measured(output):
    """The lines of the measuring program."""
    for line in output.splitlines():
        if line.startswith("{"):
            yield json.loads(line)


def osu_lines(output):
    """(bytes, average, minimum, maximum) of osu_allreduce -f, or what it has of these."""
    for line in output.splitlines():
        numbers = re.fullmatch(r"\s*(\d+)\s+([\d.]+)(?:\s+([\d.]+)\s+([\d.]+).*)?", line)
        if numbers:
            average = float(numbers[2])
            yield {"bytes": int(numbers[1]), "median_us": average, "min_us": float(numbers[3] or average), "max_us": float(numbers[4] or average)}


def jobs_of_round(plan):
    """(variant's name, words, how its output is read)."""
    for variant in plan["variants"]:
        mpirun = ["mpirun", "-np", str(plan["ranks"]), *variant["arguments"]]
        yield variant["name"], [*mpirun, *plan["measure"], *variant["measure"]], measured
        if plan["osu"]:
            yield "osu-" + variant["name"], [*mpirun, *plan["osu"]], osu_lines


def main():
    with open(sys.argv[1]) as file:
        plan = json.load(file)
    environment = dict(os.environ, **plan["environment"])
    with open(plan["output"], "a") as results:
        for number in range(plan["repeats"]):
            jobs = list(jobs_of_round(plan))
            # What drifts during a round is not always at the expense of the same ones.
            for name, words, read in reversed(jobs) if number % 2 else jobs:
                print(f"round {number + 1} of {plan['repeats']}: {name}", file=sys.stderr, flush=True)
                status, output, errors = run(words, environment, plan["limit_s"])
                for line in read(output):
                    results.write(json.dumps({"variant": name, "round": number, **line}) + "\n")
                if status != 0:
                    why = f"took more than {plan['limit_s']} s" if status is None else f"status {status}"
                    results.write(json.dumps({"variant": name, "round": number, "error": f"{why}: {(errors or output).strip()[-1500:]}"}) + "\n")
                results.flush()


if __name__ == "__main__":
    main()
