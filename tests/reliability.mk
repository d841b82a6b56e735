# Measures of the tests themselves: faults, fuzzers, mutants, coverage, long runs.

# --- faults: a library in which every allocation and every call to cuDNN and CUDA can be made to fail
# ------------------
faultobj := $(patsubst %.c,$(B)/faults/obj/%.o,$(pure) $(vendor)) $(B)/faults/obj/tests/faults/faults.o

$(B)/faults/obj/tests/faults/faults.o: FAULTS :=
$(patsubst %.c,$(B)/faults/obj/%.o,$(pure)): FAULTS := $(PURE) -include tests/faults/faults.h
$(patsubst %.c,$(B)/faults/obj/%.o,$(vendor)): FAULTS := $(VENDOR) -DCS_FAULTS_VENDOR -include tests/faults/faults.h
$(B)/faults/obj/%.o: %.c tests/faults/faults.h $(B)/flags
	$(call say,CC)mkdir -p $(@D); $(CC) $(CFLAGS) $(LIBFLAGS) $(FAULTS) -MMD -MP -c -o $@ $<
$(B)/faults/libconvshim.so: $(faultobj) $(B)/obj/gen/policies.o $(doors:%=$(B)/obj/%.o) $(B)/gen/convshim.map
	$(call say,LD)$(CC) $(LDLIB) -Wl,-Bsymbolic -Wl,--version-script=$(B)/gen/convshim.map -o $@ $(filter %.o,$^) \
	$(INIH) -Wl,--exclude-libs,ALL -ldl

.PHONY: faults
#: faults       every allocation and every call to cuDNN and CUDA fails once; FAULTS_OPTIONS=--stacks
faults: $(B)/faults/libconvshim.so $(simdev) $(addprefix $(B)/apps/,conv_random plan_layers) \
        $(addprefix $(B)/clients/,plans reshape frameworks/pytorch_v7)
	$(Q)tests/faults/run.py $(B) $(FAULTS_OPTIONS)

# --- fuzzers of more than the parts without cuDNN (the others and the rule: tests/fuzz.mk) ------------------------------
fuzzed_legacy  := $(addprefix src/intercept/,graph/describe_graph.c graph/attributes.c graph/json_note.c graph/shadow.c \
                       legacy/describe_legacy.c) \
                       $(addprefix src/cudnn/plan/,fusion.c legacy_call.c handle_id.c operation.c)
fuzzed_lists   := $(addprefix src/cli/,layers/summary.c common/variables.c \
                  $(addprefix common/,read_file.c command_line.c json_tree.c table.c))
fuzzed_layers  := $(fuzzed_lists) $(addprefix src/cli/layers/,layers.c layers_list.c shape.c)
fuzzed_summary := $(fuzzed_lists) src/cli/report/report_tables.c

# --- long runs ---------------------------------------------------------------------------------------------------------
.PHONY: mutants soak coverage
MUTANTS     ?= 200
SEED        ?= 1
SOAK_PASSED ?= 100000000
#: mutants      small changes of the sources that no test notices, to be read; MUTANTS=200 SEED=1
mutants:
	$(Q)scripts/mutants --build $(B) --count $(MUTANTS) --seed $(SEED)

#: soak         calls by 64 threads, and the memory that remains: SOAK_PASSED=100000000
# 10^6 calls with new shapes and 10^8 calls that pass through, each on 64 threads.
soak: SOAK_CALLS := 1000000
soak: lib $(simdev) $(B)/apps/soak $(idle)
	$(Q)$(TESTENV) SOAK_THREADS=64 SOAK_PASSED=$(SOAK_PASSED) bats tests/system/soak.bats

# Coverage of src and policies by `make test-full`, in a separate build. gcovr is a package of Python.
#: coverage     percentage of lines and branches that the tests run; needs gcovr
coverage:
	-$(Q)$(MAKE) --no-print-directory B=build/coverage SANFLAGS='--coverage -fprofile-update=atomic' OPT='-O0 -g' LOAD=10 test-full
	$(Q)gcovr --root . --filter src/ --filter policies/ --exclude src/simdev/ --txt build/coverage/report.txt --print-summary \
	--html-details build/coverage/report.html --fail-under-line 95 build/coverage/obj
