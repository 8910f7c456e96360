"""The lab of test/netlab: what it needs, and running a plan in it."""
import json
import os
import subprocess

# What a test says that cannot run here.
SKIPPED = 77
BUILT = ["contrib/benchmark/measure", "ompi_coll_ina/.libs/mca_coll_ina.so", "ina-softswitch"]


class Refused(Exception):
    """What is wrong with the arguments, or missing on the machine."""

    def __init__(self, text, status=2):
        super().__init__(text)
        self.status = status


def find_build(source, builddir, needed):
    candidates = [builddir] if builddir else [os.environ.get("INA_BUILDDIR", "."), ".", source, os.path.join(source, "build")]
    for candidate in candidates:
        if all(os.path.exists(os.path.join(candidate, path)) for path in needed):
            return os.path.abspath(candidate)
    raise Refused(f"{', '.join(needed)} are not all built in {' or '.join(dict.fromkeys(candidates))}: run make there, or say where with --builddir", SKIPPED)


def netlab(source):
    return os.path.join(source, "test", "netlab", "netlab")


def check(source, builddir, more=()):
    """The build folder; raises Refused."""
    if os.geteuid() != 0:
        raise Refused("needs root, to make network namespaces", SKIPPED)
    if not os.access(netlab(source), os.X_OK):
        raise Refused(f"{netlab(source)} is missing: run this from the source tree", SKIPPED)
    return find_build(source, builddir, [*BUILT, *more])


# For mpirun: ranks that share cores yield, and daemons stay in the session whose share of the cores is the same for all.
MPI_ENVIRONMENT = {"OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_orte_leave_session_attached": "1"}


def go_first():
    """On a machine that does other things as well, all of what is compared goes first. Runs in the child, before the lab."""
    try:
        os.setsid()
        with open("/proc/self/autogroup", "w") as autogroup:
            autogroup.write("-20")
    except OSError:
        pass


def run(source, builddir, setting, plan, words):
    """Runs `words` and the name of a file with the plan in a lab of this setting; returns the lines of JSON in plan["output"]."""
    plan_file = plan["output"] + ".plan"
    with open(plan_file, "w") as file:
        json.dump(plan, file)
    open(plan["output"], "w").close()
    options = [word for name, value in setting.items() for word in ("--" + name, str(value))]
    command = [netlab(source), *options, "--build", builddir, "--", *words, plan_file]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, preexec_fn=go_first) as lab:
        try:
            status = lab.wait()
        except BaseException:
            lab.terminate()
            lab.wait()
            raise
    if status != 0:
        raise Refused(f"the lab ended with status {status}", SKIPPED if status == SKIPPED else 1)
    with open(plan["output"]) as file:
        return [json.loads(line) for line in file]
