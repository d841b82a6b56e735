# The number of test cases, and the sweeps.

# Percentage of random problems, fixed lists, seeds, repetitions and attempts that run, also in the bats suites. test-all: all.
# Sanitizers are slow.
LOAD     ?= $(if $(SAN),20,25)
percent   = $(shell echo $$(($(1) * $(LOAD) / 100)))
RANDOM_N ?= $(call percent,700)
EVERY    ?= $(shell echo $$((2500 / $(LOAD))))
SEEDS    ?= $(call percent,240)
SOAK_CALLS ?= $(call percent,1000000)

sweeps    = random='$(PLANNING) tests/sweeps/random.sh $(B) $(RANDOM_N) $(EVERY)' traffic='$(PLANNING) tests/sweeps/traffic.sh $(B) $(SEEDS) $(B)/traffic'
