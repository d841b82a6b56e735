# How far the tests reach: unit tests of what speaks to cuDNN, and (below) mutants, faults, coverage, the long runs.

# --- unit tests over a cuDNN and a driver that are tables of the test's own -------------------------------------------
describers := $(call objects,$(addprefix src/intercept/graph/,describe_graph.c graph.c attributes.c shadow.c) \
              $(addprefix src/cudnn/plan/,fusion.c handle_number.c operation.c))

$(call objects,$(wildcard tests/unit/intercept/*.c tests/unit/cudnn/*.c)): INCLUDES := $(VENDOR) -Itests/unit -Itests/fuzz
$(B)/unit/test_describe_graph: $(describers)
$(B)/unit/test_attributes $(B)/unit/test_shadow: $(describers)
$(B)/unit/test_describe_legacy: $(describers) $(call objects,$(addprefix src/intercept/legacy/,describe_legacy.c legacy_call.c oversized_tensor.c))
$(B)/unit/test_oversized: $(call objects,src/intercept/legacy/oversized_tensor.c)
$(B)/unit/test_query_filter: $(call objects,src/intercept/legacy/query_filter.c)
$(B)/unit/test_entry_tensor: $(call objects,src/intercept/entry/entry_tensor.c src/intercept/legacy/oversized_tensor.c)
$(B)/unit/test_nvtx: $(call objects,src/intercept/nvtx.c)
$(B)/unit/test_graph: $(call objects,src/intercept/graph/graph.c)
$(B)/unit/test_plan_cache: $(describers) $(call objects,$(addprefix src/intercept/legacy/,dispatch.c plan_cache.c describe_legacy.c legacy_call.c \
                           oversized_tensor.c query_filter.c) src/intercept/entry/entry_legacy.c \
                           $(addprefix src/cudnn/plan/,kept_engine.c descriptors.c descriptor_builder.c))
$(B)/unit/test_engine_choice: $(call objects,$(filter-out %/execution_plan.c,$(wildcard src/cudnn/plan/*.c)) \
                              src/intercept/entry/entry_legacy.c)
$(B)/unit/test_late_plan: $(call objects,$(wildcard src/cudnn/plan/*.c) src/cudnn/run/launcher.c)
$(B)/unit/test_chosen_engine: $(call objects,$(filter-out %/execution_plan.c %/late_plan.c,$(wildcard src/cudnn/plan/*.c)))
$(B)/unit/test_engine_list: $(call objects,$(wildcard src/cudnn/plan/*.c) src/cudnn/standalone/engine_list.c)
$(B)/unit/test_device_profile: $(call objects,src/cudnn/plan/device_profile.c)
$(B)/unit/test_kept_engine: $(call objects,$(filter-out %/execution_plan.c %/late_plan.c,$(wildcard src/cudnn/plan/*.c)))
$(B)/unit/test_fusion: $(call objects,src/cudnn/plan/fusion.c)
$(B)/unit/test_timing: $(call objects,$(wildcard src/cudnn/plan/*.c) src/cudnn/run/timing.c src/cudnn/run/launcher.c)
$(B)/unit/test_descriptors: $(call objects,$(addprefix src/cudnn/plan/,descriptors.c descriptor_builder.c fusion.c operation.c))
$(B)/unit/test_execution_plan: $(call objects,$(wildcard src/cudnn/plan/*.c))
$(B)/unit/test_entry_backend: $(describers) $(call objects,src/intercept/entry/entry_backend.c)
$(B)/unit/test_populate: $(call objects,src/intercept/graph/populate.c)
$(B)/unit/test_plan_hooks: $(describers) $(call objects,src/intercept/graph/plan_hooks.c)
$(B)/unit/test_device_cuda: $(call objects,src/cudnn/run/device_cuda.c)
$(B)/unit/test_find_algorithm $(B)/unit/test_find_timed: $(describers) $(call objects,$(addprefix src/intercept/legacy/,find_algorithm.c describe_legacy.c legacy_call.c \
                               oversized_tensor.c))
$(B)/unit/test_capture_profile: $(call objects,src/cudnn/standalone/capture_profile.c)
$(B)/unit/test_intercept: $(call objects,src/intercept/intercept.c)
$(B)/unit/test_dlsym: $(call objects,src/intercept/loader/dlsym.c)
$(B)/unit/test_dlsym $(B)/unit/test_cudnn_host: UNITLIBS := -ldl
$(B)/unit/test_cudnn_host: $(call objects,src/intercept/cudnn_host.c)
$(B)/unit/test_ending: $(call objects,src/intercept/ending.c)
$(B)/unit/test_bypass: $(call objects,src/intercept/loader/object_range.c)

# --- faults: a library whose every allocation and every call to cuDNN and CUDA can be made to fail ---------------------
faultobj := $(patsubst %.c,$(B)/faults/obj/%.o,$(pure) $(vendor)) $(B)/faults/obj/tests/faults/faults.o

$(B)/faults/obj/tests/faults/faults.o: FAULTS :=
$(patsubst %.c,$(B)/faults/obj/%.o,$(pure)): FAULTS := $(PURE) -include tests/faults/faults.h
$(patsubst %.c,$(B)/faults/obj/%.o,$(vendor)): FAULTS := $(VENDOR) -DCS_FAULTS_VENDOR -include tests/faults/faults.h
$(B)/faults/obj/%.o: %.c tests/faults/faults.h $(B)/flags
	$(call say,CC)mkdir -p $(@D); $(CC) $(CFLAGS) $(LIBFLAGS) $(FAULTS) -MMD -MP -c -o $@ $<
$(B)/faults/libconvshim.so: $(faultobj) $(B)/obj/gen/policies.o $(doors:%=$(B)/obj/%.o) $(B)/gen/convshim.map
	$(call say,LD)$(CC) $(LDLIB) -Wl,-Bsymbolic -Wl,--version-script=$(B)/gen/convshim.map -o $@ $(filter %.o,$^) \
	-l:libinih.a -Wl,--exclude-libs,ALL -ldl

.PHONY: faults
#: faults       every allocation and every call to cuDNN and CUDA fails once; FAULTS_OPTIONS=--stacks
faults: $(B)/faults/libconvshim.so $(simdev) $(addprefix $(B)/apps/,conv_random plan_layers) \
        $(addprefix $(B)/clients/,plans reshape large frameworks/pytorch_v7)
	$(Q)tests/faults/run.py $(B) $(FAULTS_OPTIONS)

# --- fuzzers of more than the parts without cuDNN (the others and the rule: tests/fuzz.mk) ------------------------------
fuzzed_legacy  := $(addprefix src/intercept/,graph/describe_graph.c graph/graph.c graph/attributes.c graph/shadow.c \
                       legacy/describe_legacy.c legacy/legacy_call.c legacy/oversized_tensor.c) \
                       $(addprefix src/cudnn/plan/,fusion.c handle_number.c operation.c)
fuzzed_layers  := $(addprefix src/cli/,common/read_file.c common/command_line.c common/json_output.c common/table.c \
                  $(addprefix predict/,layers.c layers_csv.c layers_json.c layers_sites.c layer_reader.c shape.c))
fuzzed_summary := $(addprefix src/cli/,common/read_file.c $(addprefix report/,summary_reader.c summary_merge.c anatomy.c))

# --- long runs ---------------------------------------------------------------------------------------------------------
.PHONY: mutants soak coverage
MUTANTS     ?= 200
SEED        ?= 1
SOAK_PASSED ?= 100000000
#: mutants      which small changes of the sources the tests notice; MUTANTS=200 SEED=1
mutants: tests-built
	$(Q)scripts/mutants --build $(B) --count $(MUTANTS) --seed $(SEED) --quick

#: soak         calls by 64 threads, and the memory that stays: SOAK_PASSED=100000000
# 10^6 calls of ever new shapes and 10^8 that are passed on, by 64 threads each.
soak: SOAK_CALLS := 1000000
soak: lib $(simdev) $(B)/apps/soak $(idle)
	$(Q)$(TESTENV) SOAK_THREADS=64 SOAK_PASSED=$(SOAK_PASSED) bats tests/system/soak.bats

# What of src and policies the tests run: a build of its own, the unit tests, the fuzzers' seeds, and suites of whole programs.
#: coverage     the share of lines and branches that the tests run
coverage:
	$(Q)scripts/coverage
