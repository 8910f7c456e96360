# Checks of the tree itself.
tree_checks = test/tree/arrows test/tree/text test/tree/exports test/tree/scripts test/tree/manuals test/tree/knobs \
	test/tree/environment
TESTS += $(tree_checks)
EXTRA_DIST += $(tree_checks) test/tree/files
