# test/engine
