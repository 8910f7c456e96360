# switch/aggregator
