# Tests of what contrib offers.
contrib_tests = test/contrib/dissector test/contrib/captures test/contrib/options
TESTS += $(contrib_tests)
EXTRA_DIST += $(contrib_tests) test/support/verify_icrc.py
