# test/manager
