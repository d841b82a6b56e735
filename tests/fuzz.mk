# Fuzzers, by libFuzzer.

FUZZCC    ?= clang
FUZZFLAGS := -std=c17 -D_GNU_SOURCE -pthread -O1 -g $(WARN) -fsanitize=fuzzer,address,undefined \
             -fno-sanitize-recover=undefined
fuzzers   := $(patsubst tests/fuzz/%.c,$(B)/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
described := $(addprefix src/cudnn/plan/,fusion.c handle_id.c operation.c) $(addprefix src/intercept/graph/,describe_graph.c attributes.c json_note.c shadow.c) \
             $(addprefix src/flow/,flow.c decisions.c build.c refusal.c scoped_limit.c built_plans.c ways.c)

# Sources that a fuzzer needs in addition to the parts without cuDNN: fuzzed_NAME, here and in reliability.mk.
fuzzed_describe := $(described)
fuzzed_note     := $(described)
fuzzed_config   := src/cli/common/rule_text.c
$(B)/fuzz/fuzz_%: tests/fuzz/fuzz_%.c $(wildcard tests/fuzz/*.h) $(pure) $(described) $(B)/gen/policies.c
	$(call say,FUZZ)mkdir -p $(@D); $(FUZZCC) $(FUZZFLAGS) $(VENDOR) -Itests/fuzz -Itests/unit -o $@ $< $(fuzzed_$*) $(pure) \
	$(B)/gen/policies.c $(INIH) -lcjson -lm

# The same without clang, with the seeds and some inputs derived from them. Each must link and find no error.
fuzzseeds := $(patsubst tests/fuzz/%.c,$(B)/fuzz_seeds/%,$(wildcard tests/fuzz/fuzz_*.c))
fuzzdirs  := $(wildcard tests/fuzz/seeds/*)
$(call objects,$(wildcard tests/fuzz/*.c)): INCLUDES := $(VENDOR) -Itests/fuzz -Itests/unit
$(foreach f,$(fuzzseeds),$(eval $f: $$(call objects,tests/fuzz/$(notdir $f).c tests/fuzz/feed.c $$(fuzzed_$(patsubst fuzz_%,%,$(notdir $f))))))
$(fuzzseeds): $(pureobj)
	$(call say,LD)mkdir -p $(@D); $(CC) -pthread $(SANFLAGS) -o $@ $^ $(INIH) -lcjson -lm

#: fuzz         FUZZ_SECONDS of each fuzzer; needs clang
fuzz: $(fuzzers)
	$(Q)tests/fuzz/run.sh $(B)/fuzz $(FUZZ_SECONDS)
