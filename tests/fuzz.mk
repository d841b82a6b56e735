# Fuzzers, by libFuzzer.

FUZZCC    ?= clang
FUZZFLAGS := -std=c17 -D_GNU_SOURCE -pthread -O1 -g $(WARN) -fsanitize=fuzzer,address,undefined \
             -fno-sanitize-recover=undefined
fuzzers   := $(patsubst tests/fuzz/%.c,$(B)/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
described := $(addprefix src/cudnn/plan/,fusion.c handle_number.c operation.c) $(addprefix src/intercept/graph/,describe_graph.c graph.c attributes.c shadow.c) \
             $(addprefix src/flow/,flow.c decisions.c build.c refusal.c scoped_limit.c budget.c peak.c built_plans.c measure.c traced_gpu.c)

$(B)/fuzz/fuzz_describe: fuzzed := $(described)
$(B)/fuzz/fuzz_%: tests/fuzz/fuzz_%.c $(wildcard tests/fuzz/*.h) $(pure) $(described) $(B)/gen/policies.c
	$(call say,FUZZ)mkdir -p $(@D); $(FUZZCC) $(FUZZFLAGS) $(VENDOR) -Itests/fuzz -o $@ $< $(fuzzed) $(pure) \
	$(B)/gen/policies.c -l:libinih.a -lm

#: fuzz         FUZZ_SECONDS of each fuzzer; needs clang
fuzz: $(fuzzers)
	$(Q)tests/fuzz/run.sh $(B)/fuzz $(FUZZ_SECONDS)
