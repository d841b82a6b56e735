# Unit tests, and the simulated device's tests of itself: one program each.

unitsrc  := $(wildcard tests/unit/*/test_*.c)
unit     := $(addprefix $(B)/unit/,$(notdir $(basename $(unitsrc))))
selftest := $(patsubst tests/simdev/%.c,$(B)/simdev/%,$(wildcard tests/simdev/selftest_*.c))
# One more where there is a compiler for it. Sanitizers are not for what it compiles.
NVCC     ?= $(firstword $(shell command -v nvcc) $(wildcard /usr/local/cuda/bin/nvcc))
selftest += $(if $(NVCC),$(if $(SAN),,$(B)/simdev/selftest_nvcc))

$(call objects,$(unitsrc)): INCLUDES := $(PURE) -Itests/unit
$(B)/unit/test_file: UNITLIBS := -Wl,--wrap=write
$(B)/unit/test_arena_traffic: UNITLIBS := -Wl,--wrap=cs_lock_condition_wait
$(B)/unit/test_measure: $(B)/obj/src/flow/measure.o
$(B)/unit/test_budget: $(B)/obj/src/flow/budget.o
$(B)/unit/test_peak: $(B)/obj/src/flow/peak.o
$(B)/unit/test_built_plans: $(B)/obj/src/flow/built_plans.o
$(B)/unit/test_flow $(B)/unit/test_flow_rules $(B)/unit/test_flow_policies: $(addprefix $(B)/obj/src/flow/,flow.o decisions.o build.o refusal.o budget.o peak.o built_plans.o measure.o traced_gpu.o scoped_limit.o)
$(B)/unit/test_flow_calls: $(addprefix $(B)/obj/src/flow/,decisions.o build.o refusal.o budget.o peak.o built_plans.o measure.o traced_gpu.o scoped_limit.o)
$(B)/unit/test_simulated_pair: $(call objects,src/cli/simulate/simulated_pair.c)
$(B)/unit/test_instance $(B)/unit/test_options_taken $(B)/unit/test_process_end: $(call objects,$(wildcard src/flow/*.c))
$(B)/unit/test_instance_start: $(call objects,$(filter-out src/flow/instance.c,$(wildcard src/flow/*.c)))
$(B)/unit/test_caller: $(B)/obj/src/intercept/loader/object_range.o
$(B)/unit/test_anatomy: $(B)/obj/src/cli/report/anatomy.o
include tests/reliability.mk
$(B)/unit/test_nonsense: $(B)/obj/tests/unit/decide/test_nonsense.o $(call withtest,$(pureobj))
	$(call say,LD)mkdir -p $(@D); $(CC) -pthread $(SANFLAGS) -o $@ $(filter %.o,$^) -l:libinih.a -lm
$(B)/unit/test_timeline: $(call objects,$(addprefix src/cli/,$(addprefix simulate/,timeline.c timeline_record.c simulated_result.c) \
	$(addprefix tune/,exposure.c rule_keys.c) $(addprefix common/,json_output.c json_value.c read_file.c command_line.c data_files.c table.c table_markup.c)))
$(B)/unit/test_simulate_advice: $(filter-out %/cli/main.o,$(cliobj))
$(B)/unit/test_simulate_advice: UNITLIBS := -lcjson -ldl
$(B)/unit/test_fork_server: $(call objects,$(addprefix src/cli/simulate/,fork_server.c child_variables.c))
$(B)/unit/test_find_cudnn: $(call objects,src/cli/predict/find_cudnn.c)
$(B)/unit/test_simulated_program: $(call objects,src/cli/simulate/simulated_program.c)
$(B)/unit/test_simulate_runs: $(call objects,$(addprefix src/cli/simulate/,simulate_runs.c child_variables.c))
$(B)/unit/test_simulation: $(call objects,$(addprefix src/cli/,$(addprefix simulate/,simulation.c child_variables.c) common/environment.c \
                           doctor/subprocess.c doctor/subprocess_line.c))
$(B)/unit/test_tune_search: $(call objects,src/cli/tune/tune_search.c)
$(B)/unit/test_tune_outputs: $(filter-out %/cli/main.o %/tune/tune_search.o,$(cliobj))
$(B)/unit/test_tune_outputs: UNITLIBS := -lcjson -ldl
$(B)/unit/test_status: $(filter-out %/cli/main.o %/status/status.o,$(cliobj))
$(B)/unit/test_status: UNITLIBS := -lcjson -ldl
$(B)/unit/test_predict_results: $(filter-out %/cli/main.o %/predict/why_workspace.o %/standalone/open_driver.o,$(cliobj))
$(B)/unit/test_predict_results: UNITLIBS := -lcjson -ldl
$(B)/unit/test_doctor_checks: $(filter-out %/cli/main.o %/doctor/subprocess.o,$(cliobj))
$(B)/unit/test_doctor_checks: UNITLIBS := -lcjson -ldl
$(B)/unit/test_clients: $(filter-out %/cli/main.o %/doctor/clients.o,$(cliobj))
$(B)/unit/test_clients: UNITLIBS := -lcjson -ldl
$(B)/unit/test_answers: $(filter-out %/cli/main.o %/doctor/loader.o %/doctor/packages.o,$(cliobj))
$(B)/unit/test_answers: UNITLIBS := -lcjson -ldl
$(B)/unit/test_doctor_machine: $(filter-out %/cli/main.o %/doctor/doctor_machine.o,$(cliobj))
$(B)/unit/test_doctor_machine: UNITLIBS := -lcjson -ldl
$(B)/unit/test_simulation_commands: $(filter-out $(addprefix %/cli/,main.o tune/tune_search.o tune/tune_print.o $(addprefix simulate/,simulated_program.o \
	simulation.o simulated_pair.o simulate_print.o simulate_devices.o simulate_html.o simulate_runs.o fork_server.o)),$(cliobj))
$(B)/unit/test_simulation_commands: UNITLIBS := -lcjson -ldl
$(B)/unit/test_subprocess: $(call objects,$(addprefix src/cli/doctor/,subprocess.c subprocess_line.c))
$(B)/unit/test_report_conclusion: UNITLIBS := -lcjson
$(B)/unit/test_report_conclusion: $(call objects,$(addprefix src/cli/,report/report_conclusion.c $(addprefix common/,json_output.c table.c command_line.c)))
$(B)/unit/test_report_diff: $(filter-out %/cli/main.o %/report/report_diff.o,$(cliobj))
$(B)/unit/test_report_diff: UNITLIBS := -lcjson -ldl
$(B)/unit/test_plan_layers: $(call objects,src/cli/predict/plan_layers.c src/cli/predict/estimate.c)
$(B)/unit/test_command_line: $(call objects,$(addprefix src/cli/common/,json_output.c command_line.c data_files.c table.c table_markup.c))
cliunit := $(addprefix $(B)/unit/test_,shape layers table)
$(cliunit): $(call objects,$(addprefix src/cli/,$(addprefix common/,json_output.c read_file.c command_line.c table.c)) \
           $(addprefix src/cli/predict/,layers.c layers_csv.c layers_json.c layers_sites.c layer_reader.c shape.c shape_text.c))
# Those that run whole commands.
clicommands := $(addprefix $(B)/unit/test_,predict_command predict_options predict_outputs report_outputs simulate_outputs simulate_options simulation_variables doctor_outputs simulated doctor_parts summary_merge process_files process_outputs run_outputs)
$(B)/unit/test_predict_engines: UNITLIBS := -lcjson
$(B)/unit/test_predict_engines: $(call objects,$(addprefix src/cli/,predict/predict_engines.c predict/why_workspace.c $(addprefix common/,json_output.c table.c table_markup.c command_line.c)))
$(clicommands): $(filter-out %/cli/main.o,$(cliobj))
$(clicommands): UNITLIBS := -lcjson -ldl
# Commands look for conf from the folder of the program, which has one more above it there.
ifneq ($(SAN),)
$(clicommands): | build/conf
build/conf:
	$(Q)mkdir -p $(@D) && ln -sfn ../conf $@
endif
$(cliunit) $(addprefix $(B)/unit/test_,command_line timeline) $(addprefix $(B)/unit/test_,summary_json trace): UNITLIBS := -lcjson
$(foreach t,$(unitsrc),$(eval $(B)/unit/$(notdir $(basename $(t))): $(call objects,$(t))))
$(B)/unit/%: $(pureobj)
	$(call say,LD)mkdir -p $(@D); $(CC) -pthread $(SANFLAGS) -o $@ $(filter %.o,$^) -l:libinih.a -lm $(UNITLIBS)

$(B)/simdev/selftest_cuda12: $(B)/obj/tests/simdev/selftest_cuda12.o $(simdev12)
	$(call say,LD)$(CC) -pthread $(SANFLAGS) -o $@ $< -L$(B)/simdev/cuda12 -lcudart -lcjson -ldl
$(B)/simdev/selftest_account: $(B)/obj/tests/simdev/selftest_account.o $(B)/obj/tests/simdev/fat_image.o $(simdev)
	$(call say,LD)$(CC) -pthread $(SANFLAGS) -o $@ $(filter %.o,$^) -L$(@D) -lcudart -lcjson
$(B)/simdev/selftest_nvcc: tests/simdev/selftest_nvcc.cu $(simdev)
	$(call say,NVCC)$(NVCC) -cudart shared -gencode arch=compute_90,code=sm_90 -o $@ $<
$(B)/simdev/selftest_%: $(B)/obj/tests/simdev/selftest_%.o $(simdev)
	$(call say,LD)$(CC) -pthread $(SANFLAGS) -o $@ $< -L$(@D) -lcudnn -lcudart -lcjson -lm
