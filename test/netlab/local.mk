# Several hosts on one machine, for labs and by hand; installed nowhere.
EXTRA_DIST += test/netlab/netlab test/netlab/inside test/netlab/bin/launch-agent test/netlab/bin/mpirun test/netlab/bin/on test/netlab/bin/switch
