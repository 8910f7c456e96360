# switch/manager
