# test/aggregator
