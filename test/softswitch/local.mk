# test/softswitch
