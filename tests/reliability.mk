# How far the tests reach: unit tests of what speaks to cuDNN, and (below) mutants, faults, coverage, the long runs.

# --- unit tests over a cuDNN and a driver that are tables of the test's own -------------------------------------------
describers := $(call objects,$(addprefix src/intercept/graph/,describe_graph.c graph.c attributes.c shadow.c) \
              $(addprefix src/cudnn/plan/,fusion.c handle_number.c operation.c))

$(call objects,$(wildcard tests/unit/intercept/*.c tests/unit/cudnn/*.c)): INCLUDES := $(VENDOR) -Itests/unit -Itests/fuzz
$(B)/unit/test_describe_graph: $(describers)
$(B)/unit/test_describe_legacy: $(describers) $(call objects,$(addprefix src/intercept/legacy/,describe_legacy.c legacy_call.c oversized_tensor.c))
$(B)/unit/test_plan_cache: $(describers) $(call objects,$(addprefix src/intercept/legacy/,dispatch.c plan_cache.c describe_legacy.c legacy_call.c \
                           oversized_tensor.c query_filter.c) src/intercept/entry/entry_legacy.c)
$(B)/unit/test_engine_choice: $(call objects,$(filter-out %/execution_plan.c,$(wildcard src/cudnn/plan/*.c)) \
                              src/intercept/entry/entry_legacy.c)
$(B)/unit/test_entry_backend: $(describers) $(call objects,src/intercept/entry/entry_backend.c)
$(B)/unit/test_device_cuda: $(call objects,src/cudnn/run/device_cuda.c)
