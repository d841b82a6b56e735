# Unit tests, and the simulated device's tests of itself: one program each.

unitsrc  := $(wildcard tests/unit/*/test_*.c)
unit     := $(addprefix $(B)/unit/,$(notdir $(basename $(unitsrc))))
selftest := $(patsubst tests/simdev/%.c,$(B)/simdev/%,$(wildcard tests/simdev/selftest_*.c))

$(call objects,$(unitsrc)): INCLUDES := $(PURE) -Itests/unit
$(B)/unit/test_measure: $(B)/obj/src/flow/measure.o
$(B)/unit/test_budget: $(B)/obj/src/flow/budget.o
$(B)/unit/test_built_plans: $(B)/obj/src/flow/built_plans.o
$(B)/unit/test_flow $(B)/unit/test_flow_rules: $(addprefix $(B)/obj/src/flow/,flow.o budget.o built_plans.o measure.o traced_gpu.o)
$(B)/unit/test_anatomy: $(B)/obj/src/cli/report/anatomy.o
include tests/reliability.mk
$(B)/unit/test_nonsense: $(B)/obj/tests/unit/decide/test_nonsense.o $(call withtest,$(pureobj))
	$(call say,LD)mkdir -p $(@D); $(CC) -pthread $(SANFLAGS) -o $@ $(filter %.o,$^) -l:libinih.a -lm
cliunit := $(addprefix $(B)/unit/test_,shape layers table)
$(cliunit): $(call objects,$(addprefix src/cli/,common/read_file.c common/command_line.c common/table.c) \
           $(addprefix src/cli/predict/,layers.c layers_csv.c layers_json.c layers_sites.c layer_reader.c shape.c))
$(cliunit) $(addprefix $(B)/unit/test_,summary_json trace): UNITLIBS := -lcjson
$(foreach t,$(unitsrc),$(eval $(B)/unit/$(notdir $(basename $(t))): $(call objects,$(t))))
$(B)/unit/%: $(pureobj)
	$(call say,LD)mkdir -p $(@D); $(CC) -pthread $(SANFLAGS) -o $@ $(filter %.o,$^) -l:libinih.a -lm $(UNITLIBS)

$(B)/simdev/selftest_%: $(B)/obj/tests/simdev/selftest_%.o $(simdev)
	$(call say,LD)$(CC) -pthread $(SANFLAGS) -o $@ $< -L$(@D) -lcudnn -lcudart -lcjson -lm
