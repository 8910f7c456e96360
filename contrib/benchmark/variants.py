"""What is measured beside each other: ina, and coll/tuned's algorithms over both of Open MPI's ways to use TCP.

Each variant is a name and what it adds to the command line of mpirun, and of the measuring program. Baselines come twice: as they are, and at settings that suit a slow
link. As they are, a large message waits for its receiver (rendezvous), and pairs that exchange vectors take turns instead of sending at once.
"""
import collections
import shutil
import subprocess

Variant = collections.namedtuple("Variant", "name arguments is_ina measure", defaults=[()])

# Of each host in test/netlab.
DEVICE = "eth0"
# Of coll/tuned; none is its own choice.
ALGORITHMS = {"default": None, "recursive_doubling": 3, "ring": 4, "ring_segmented": 5, "rabenseifner": 6}
SEGMENT_BYTES = 65536
# The half of the largest vector that Rabenseifner's first step sends is to go without rendezvous, with its header.
EAGER_HEADROOM = 65536
LEAST_EAGER_BYTES = 32 << 20


def mca(**values):
    return [word for name, value in values.items() for word in ("--mca", name, str(value))]


def transports(largest_bytes):
    """Arguments for each transport of the baselines."""
    eager = max(LEAST_EAGER_BYTES, largest_bytes // 2 + EAGER_HEADROOM)
    tcp = mca(pml="ob1", btl="tcp,self", coll="^ina")
    # pml/ucx takes plain TCP only when told that anything will do.
    ucx = mca(pml="ucx", coll="^ina", opal_common_ucx_tls="any", opal_common_ucx_devices="any") + ["-x", "UCX_TLS=tcp,self", "-x", f"UCX_NET_DEVICES={DEVICE}"]
    return {
        "tcp": tcp,
        "tcp-eager": tcp + mca(btl_tcp_eager_limit=eager, btl_tcp_rndv_eager_limit=eager, btl_tcp_max_send_size=eager),
        "ucx": ucx,
        "ucx-eager": ucx + ["-x", "UCX_RNDV_THRESH=inf"],
    }


def algorithm_arguments(number):
    if number is None:
        return []
    return mca(coll_tuned_use_dynamic_rules=1, coll_tuned_allreduce_algorithm=number,
               coll_tuned_allreduce_algorithm_segmentsize=SEGMENT_BYTES if number == ALGORITHMS["ring_segmented"] else 0)


def ina_arguments(select):
    return mca(pml="ob1", btl="tcp,self", coll_ina_select=select)


def has_han():
    """coll/han came with Open MPI 5."""
    if not shutil.which("ompi_info"):
        return False
    listed = subprocess.run(["ompi_info", "--parsable"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    return "mca:coll:han:" in listed


def all_variants(largest_bytes):
    """Every variant that there is here, by name, ina first."""
    with_han = has_han()
    variants = [Variant("ina", ina_arguments("always"), True), Variant("ina-auto", ina_arguments("auto"), True, ["--settle"])]
    for transport, arguments in transports(largest_bytes).items():
        for algorithm, number in ALGORITHMS.items():
            variants.append(Variant(f"{transport}-{algorithm}", arguments + algorithm_arguments(number), False))
        if with_han and transport.startswith("tcp"):
            variants.append(Variant(f"{transport}-han", arguments + mca(coll_han_priority=100), False))
    return {variant.name: variant for variant in variants}


def choose(variants, wanted):
    """Those that fit one of the shell patterns in `wanted`, in order; raises KeyError with a pattern that fits none."""
    import fnmatch
    chosen = {}
    for pattern in wanted:
        names = [name for name in variants if fnmatch.fnmatchcase(name, pattern)]
        if not names:
            raise KeyError(pattern)
        chosen.update((name, variants[name]) for name in names)
    return list(chosen.values())
