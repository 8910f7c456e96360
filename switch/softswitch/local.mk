# switch/softswitch
