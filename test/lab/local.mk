# What make check-lab runs.
LAB_TESTS += test/lab/bench.lab test/lab/capture.lab test/lab/congestion.lab test/lab/netlab.lab test/lab/paths.lab test/lab/quickstart.lab test/lab/ucx.lab test/lab/wire-xdp.lab test/lab/xdp.lab
EXTRA_DIST += test/lab/hosts
