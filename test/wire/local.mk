# test/wire
