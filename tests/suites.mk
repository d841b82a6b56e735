# The suites of each make target.

# A sanitizer's runtime must come before the library when both are preloaded.
SAN_RT   := $(if $(findstring thread,$(SAN)),$(shell $(CC) -print-file-name=libtsan.so),$(if \
            $(findstring address,$(SAN)),$(shell $(CC) -print-file-name=libasan.so)))
TESTENV   = CONVSHIM_TEST_LOAD=$(LOAD) SOAK_CALLS=$(SOAK_CALLS) CONVSHIM_BUILD=$(B) CONVSHIM_SAN_RT=$(SAN_RT) SIMDEV_DIR=$(CURDIR)/$(B)/simdev
ifneq ($(SAN),)
TESTENV  += LSAN_OPTIONS=suppressions=$(CURDIR)/tests/lsan.supp:print_suppressions=0 UBSAN_OPTIONS=print_stacktrace=1:exitcode=77 \
            TSAN_OPTIONS=suppressions=$(CURDIR)/tests/tsan.supp:print_suppressions=0
endif
JOBS     ?= $(shell nproc)

# Suite `tsan_threads` always uses a TSan build.
tsan     := $(if $(findstring address,$(SAN)),,tsan)
hash     := \#
short     = source_rules='scripts/check-rules.sh $(B)' conf='tests/sweeps/conf.sh' \
            $(foreach t,$(unit),$(notdir $t)='$t') \
            $(foreach t,$(selftest),$(notdir $t)='scripts/with-simdev $(if $(findstring cuda12,$t),--cuda 12) -- $t') accounts='tests/sweeps/accounts.py $(B)' times='tests/gpu/times.py $(B)' \
            $(foreach f,$(fuzzseeds),seeds_$(notdir $f)='$f $(filter %/$(notdir $f),$(fuzzdirs))') \
            described_plans='SIMDEV_PLANNING=described scripts/with-simdev -- $(B)/simdev/selftest_cudnn'
long_only = $(if $(tsan),tsan_threads='tests/sweeps/threads.sh') fit_cost='tests/gpu/test_fit_cost.py $(B)' \
            gpu_suite='$(if $(SAN),echo "1..0 $(hash) SKIP preloads into programs without a sanitizer",tests/gpu/test_suite.py $(B))' \
            $(if $(WHOLE),faults='tests/faults/run.py $(B) --stacks' fuzzers='tests/fuzz/run.sh $(B)/fuzz 60')
batsfiles := $(wildcard tests/system/*.bats tests/simdev/*.bats)
bats      = $(foreach t,$(1),$(basename $(notdir $t))='bats --formatter tap $(2) $t')
run_tests = $(Q)$(TESTENV) scripts/run-tests -j $(JOBS) $(B)/log --

.PHONY: tests-built test test-full test-all tsan
#: tests-built  everything that the tests run
tests-built: all installable $(B)/policies/libconvshim.so $(unit) $(selftest) $(fuzzseeds) $(clients) $(frameworks) $(idle) $(benches) $(B)/gpu/predict

#: test         rules, unit tests, some random cases and the tests tagged `quick` of each bats suite: a few minutes
test: LOAD := 5
# The real cuDNN takes longer to load than a few cases to run.
test: PLANNING := SIMDEV_PLANNING=rule
test: tests-built
	$(run_tests) $(sweeps) $(short) $(call bats,$(shell grep -l '^\# bats test_tags=quick' $(batsfiles)),--filter-tags quick)

#: golden       writes tests/golden again; read the difference
.PHONY: golden
golden_tests := $(addprefix $(B)/unit/,$(notdir $(basename $(shell grep -l -e golden_check -e golden_end -e golden_file $(unitsrc)))))
golden: $(golden_tests)
	$(Q)for t in $^; do CONVSHIM_UPDATE_GOLDEN=1 $$t >$(B)/golden.log 2>&1 || { echo "$$t fails in other ways:"; grep '^#' $(B)/golden.log; }; done
	$(Q)git --no-pager diff --stat tests/golden

#: test-full    every test; with a quarter of the random cases and fixed lists; LOAD=100 runs all
test-full: tests-built $(tsan)
	$(run_tests) $(short) $(sweeps) $(long_only) $(call bats,$(batsfiles))

#: test-all     the same with the whole sweep of patch_conv and many more random problems, faults, fuzzers; hours
test-all: LOAD := 100
test-all: RANDOM_N := 5000
test-all: EVERY := 1
test-all: SEEDS := 10000
test-all: WHOLE := $(if $(SAN),,1)
test-all: $(if $(SAN),,$(B)/faults/libconvshim.so $(fuzzers))
test-all: test-full

#: tsan         TSan build for the suite `tsan_threads`, in any build
tsan:
	$(Q)$(MAKE) --no-print-directory SAN=thread lib $(patsubst $(B)/%,build/san-thread/%,$(simdev)) build/san-thread/apps/threads
