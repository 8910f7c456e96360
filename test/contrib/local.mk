# Tests of what contrib offers.
contrib_tests = test/contrib/options
TESTS += $(contrib_tests)
EXTRA_DIST += $(contrib_tests)
