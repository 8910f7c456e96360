include switch/aggregator/local.mk
include switch/softswitch/local.mk
include switch/manager/local.mk
