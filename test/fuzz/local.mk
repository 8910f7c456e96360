# test/fuzz
