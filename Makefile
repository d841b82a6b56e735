# convshim: make, make demo, make test, make test-all, make bench, make lint.
# SAN=address,undefined or SAN=thread builds everything into a folder of its own; V=1 shows commands.

MAKEFLAGS += --no-builtin-rules
.SUFFIXES:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := all

# --- settings ---------------------------------------------------------------------------------------------------------
CC      ?= gcc
ifeq ($(origin CC),default)
CC      := gcc
endif
SAN     ?=
V       ?= 0
comma   := ,
B       := build$(if $(SAN),/san-$(subst $(comma),-,$(SAN)))
PREFIX  ?= /usr/local
Q       := $(if $(filter 1,$(V)),,@)
say      = $(if $(filter 1,$(V)),,@printf '  %-7s %s\n' $(1) $@;)

# What bootstrap found or fetched: CUDA_INC, CUDNN_INC, CUDNN_LIB, NVRTC_LIB.
CONFIG  := build/config.mk
ifeq ($(filter clean help,$(MAKECMDGOALS)),)
include $(CONFIG)
endif

# --- flags ------------------------------------------------------------------------------------------------------------
WARN     := -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wformat=2 -Wundef \
            $(if $(CI),-Werror)
OPT      ?= -O2 -g
SANFLAGS := $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=undefined -DCS_DEBUG)
CFLAGS   += -std=c17 -D_GNU_SOURCE -pthread $(OPT) $(WARN) $(SANFLAGS)
PURE     := -Iinclude -Isrc
VENDOR   := $(PURE) $(addprefix -isystem ,$(CUDNN_INC) $(CUDA_INC))
LIBFLAGS := -fPIC -fvisibility=hidden -fno-semantic-interposition
LDLIB    := -shared -pthread $(SANFLAGS) $(if $(SAN),,-Wl$(comma)-z$(comma)defs) -Wl,-z,now,-z,relro

# --- sources, by folder -----------------------------------------------------------------------------------------------
policies := $(sort $(basename $(notdir $(wildcard policies/*.c))))
pure     := $(wildcard src/base/*.c src/plan/*.c src/decide/*.c src/exec/*.c src/account/*.c src/config/*.c policies/*.c)
vendor   := $(wildcard src/cudnn/bind/*.c src/cudnn/plan/*.c src/cudnn/run/*.c src/flow/*.c src/intercept/*.c src/intercept/*/*.c)
objects   = $(patsubst %.c,$(B)/obj/%.o,$(1))
doors    := src/intercept/loader/dlsym_$(firstword $(subst -, ,$(shell $(CC) -dumpmachine)))
testpolicies := $(sort $(basename $(notdir $(wildcard tests/policies/*.c))))
libobj   := $(call objects,$(pure) $(vendor)) $(B)/obj/gen/policies.o $(B)/obj/$(doors).o
pureobj  := $(call objects,$(pure)) $(B)/obj/gen/policies.o
# The command plans with the library's own code, over a cuDNN that it opens itself (src/cudnn/standalone).
cli      := $(wildcard src/cli/*.c src/cli/*/*.c)
alone    := $(wildcard src/cudnn/standalone/*.c)
cliplan  := $(wildcard src/cudnn/plan/*.c) src/flow/limits.c
man      := $(addprefix $(B)/man/,convshim.1 convshim.ini.5)

unitsrc  := $(wildcard tests/unit/*/test_*.c)
unit     := $(addprefix $(B)/unit/,$(notdir $(basename $(unitsrc))))
simcudart := $(wildcard src/simdev/cudart/*.c)
simcudnn := $(wildcard src/simdev/cudnn/*.c)
simdriver := $(wildcard src/simdev/driver/*.c)
simdev   := $(addprefix $(B)/simdev/,libcudart.so.13 libcudnn.so.9 libcuda.so.1)
selftest := $(patsubst tests/simdev/%.c,$(B)/simdev/%,$(wildcard tests/simdev/selftest_*.c))
appmain  := vae_decoder decoders conv_random compare threads plan_layers traffic soak
apps     := $(addprefix $(B)/apps/,$(appmain))
appshare := $(call objects,$(filter-out $(patsubst %,tests/support/programs/%.c,$(appmain)),$(wildcard tests/support/programs/*.c)))

# --- main targets -----------------------------------------------------------------------------------------------------
.PHONY: frameworks all lib cli man test test-all tsan demo bench fuzz lint fmt conf install clean help FORCE
all: lib cli $(simdev) $(apps)
lib: $(B)/libconvshim.so
cli: $(B)/convshim man
man: $(man)

help:
	@sed -n '1,2s/^# //p' Makefile

$(CONFIG): scripts/bootstrap
	$(Q)scripts/bootstrap && touch $@

# Rebuild when the flags change.
$(B)/flags: FORCE
	@mkdir -p $(B); printf '%s\n' '$(CC) $(CFLAGS) $(VENDOR) $(LIBFLAGS) $(SIMFLAGS)' > $@.new; \
	cmp -s $@.new $@ && rm $@.new || mv $@.new $@

# --- generated --------------------------------------------------------------------------------------------------------
$(B)/gen/policies.c: policies $(wildcard policies/*.c) scripts/gen-policies Makefile
	$(call say,GEN)mkdir -p $(@D); scripts/gen-policies $(policies) > $@

# What --help and the manual page call allowed.
$(B)/gen/policy_names.h: policies $(wildcard policies/*.c) Makefile
	$(call say,GEN)mkdir -p $(@D); echo '$(policies)' | sed 's/ /, /g; s/.*/#define CS_POLICY_NAMES "&"/' > $@

# The style and the script of the page that `convshim report` writes, as strings of C.
$(B)/gen/report_%.h: src/cli/report/report.% Makefile
	$(call say,GEN)mkdir -p $(@D); sed 's/["\\]/\\&/g; s/.*/"&\\n"/' $< > $@

$(B)/gen/test_registry.c: tests/policies $(wildcard tests/policies/*.c) policies $(wildcard policies/*.c) scripts/gen-policies Makefile
	$(call say,GEN)mkdir -p $(@D); scripts/gen-policies $(policies) $(testpolicies) > $@

$(B)/gen/convshim.map: src/intercept/entry/entries.def Makefile
	$(call say,GEN)mkdir -p $(@D); { echo '{ global:'; \
	$(CC) -E -P -x c '-DCS_ENTRY(name)=name;' $<; echo 'dlsym; dlvsym; InitializeInjectionNvtx2; local: *; };'; } > $@

conf: conf/convshim.ini
conf/convshim.ini: $(addprefix include/convshim/,options.def rules.def) policies $(wildcard policies/*.c) scripts/gen-conf scripts/gen-conf.c
	$(call say,GEN)scripts/gen-conf > $@

# --- library ----------------------------------------------------------------------------------------------------------
$(B)/libconvshim.so: $(libobj) $(B)/gen/convshim.map
	$(call say,LD)$(CC) $(LDLIB) -Wl,-Bsymbolic -Wl,--version-script=$(B)/gen/convshim.map -o $@ $(libobj) \
	-l:libinih.a -Wl,--exclude-libs,ALL -ldl

# A stand-in that the command carries inside and loads where there is no driver; nothing installs it as a file.
$(B)/nodriver.so: src/cudnn/standalone/nodriver/libcuda.c $(B)/flags
	$(call say,LD)$(CC) -std=c17 -O2 $(WARN) -fPIC -shared -nostdlib -Wl,-soname,libcuda.so.1 -s -o $@ $<
$(B)/obj/src/cudnn/standalone/nodriver.o: $(B)/nodriver.so
$(B)/obj/src/cudnn/standalone/nodriver.o: CFLAGS += -DCS_NODRIVER='"$(B)/nodriver.so"'

cliobj   := $(call objects,$(cli) $(alone) $(cliplan)) $(B)/obj/src/cudnn/standalone/nodriver.o $(pureobj)
$(B)/convshim: $(cliobj)
	$(call say,LD)$(CC) -pthread $(SANFLAGS) -o $@ $^ -l:libinih.a -lcjson -lm -ldl

# The library with the policies of tests/policies beside its own: an example and nonsense.
withtest  = $(filter-out $(B)/obj/gen/policies.o,$(1)) $(B)/obj/gen/test_registry.o $(call objects,$(wildcard tests/policies/*.c))
$(B)/policies/libconvshim.so: $(call withtest,$(libobj)) $(B)/gen/convshim.map
	$(call say,LD)mkdir -p $(@D); $(CC) $(LDLIB) -Wl,-Bsymbolic -Wl,--version-script=$(B)/gen/convshim.map -o $@ \
	$(filter %.o,$^) -l:libinih.a -Wl,--exclude-libs,ALL -ldl -lm

# The manual pages come from the tables of the commands, so that they are linked in.
$(B)/obj/scripts/gen-man.o: scripts/gen-man.c $(B)/flags
	$(call say,CC)mkdir -p $(@D); $(CC) $(CFLAGS) $(INCLUDES) -MMD -MP -c -o $@ $<
$(B)/gen-man: $(B)/obj/scripts/gen-man.o $(filter-out %/cli/main.o,$(cliobj))
	$(call say,LD)$(CC) -pthread $(SANFLAGS) -o $@ $^ -l:libinih.a -lcjson -lm -ldl
$(man): $(B)/gen-man
	$(call say,GEN)mkdir -p $(@D); $(B)/gen-man $(basename $(@F)) > $@

$(call objects,$(pure)): INCLUDES := $(PURE)
$(call objects,$(cli)) $(B)/obj/scripts/gen-man.o: INCLUDES := $(PURE) -I$(B)/gen
$(call objects,src/cli/run/run.c) $(B)/obj/scripts/gen-man.o: $(B)/gen/policy_names.h
$(call objects,src/cli/report/report_html.c): $(addprefix $(B)/gen/report_,css.h js.h)
$(call objects,$(vendor) $(alone)): INCLUDES := $(VENDOR)
$(addprefix $(B)/obj/gen/,policies.o test_registry.o): INCLUDES := $(PURE)
$(call objects,$(wildcard tests/policies/*.c)): INCLUDES := $(PURE) $(LIBFLAGS)

$(B)/obj/src/%.o: src/%.c $(B)/flags
	$(call say,CC)mkdir -p $(@D); $(CC) $(CFLAGS) $(LIBFLAGS) $(INCLUDES) -MMD -MP -c -o $@ $<
$(B)/obj/src/%.o: src/%.S $(B)/flags
	$(call say,AS)mkdir -p $(@D); $(CC) $(CFLAGS) $(LIBFLAGS) -MMD -MP -c -o $@ $<
$(B)/obj/policies/%.o: policies/%.c $(B)/flags
	$(call say,CC)mkdir -p $(@D); $(CC) $(CFLAGS) $(LIBFLAGS) $(INCLUDES) -MMD -MP -c -o $@ $<
$(B)/obj/gen/%.o: $(B)/gen/%.c $(B)/flags
	$(call say,CC)mkdir -p $(@D); $(CC) $(CFLAGS) $(LIBFLAGS) $(INCLUDES) -MMD -MP -c -o $@ $<

# --- simulated device -------------------------------------------------------------------------------------------------
SIMFLAGS := -fPIC $(addprefix -Isrc/simdev/,. cudart cudnn driver) $(addprefix -isystem ,$(CUDNN_INC) $(CUDA_INC))

$(B)/obj/src/simdev/%.o: src/simdev/%.c $(B)/flags
	$(call say,CC)mkdir -p $(@D); $(CC) $(CFLAGS) $(INCLUDES) -MMD -MP -c -o $@ $<
$(B)/obj/tests/%.o: tests/%.c $(B)/flags
	$(call say,CC)mkdir -p $(@D); $(CC) $(CFLAGS) $(INCLUDES) -MMD -MP -c -o $@ $<
$(call objects,$(simcudart) $(simcudnn) $(simdriver) $(wildcard tests/simdev/*.c)): INCLUDES := $(SIMFLAGS)

$(B)/simdev/libcudart.so.13: $(call objects,$(simcudart)) src/simdev/cudart/cudart.map
	$(call say,LD)mkdir -p $(@D); $(CC) $(LDLIB) -Wl,-Bsymbolic -Wl,-z,nodelete -Wl,-soname,$(@F) \
	-Wl,--version-script=src/simdev/cudart/cudart.map -o $@ $(filter %.o,$^) -lcjson
	$(Q)ln -sf $(@F) $(@D)/libcudart.so
# What cuDNN's headers declare and nothing here does.
$(B)/gen/cudnn_rest.c: scripts/gen-cudnn-rest $(call objects,$(simcudnn))
	$(call say,GEN)mkdir -p $(@D); $< $(CUDNN_INC) $(filter %.o,$^) > $@
$(B)/obj/gen/cudnn_rest.o: INCLUDES := $(SIMFLAGS)
# Of the libraries whose names scripts/gen-standins reads from installed ones; compiled here so that they are checked.
simother := $(call objects,$(wildcard src/simdev/libraries/*.c))
$(simother): INCLUDES := $(SIMFLAGS) -Isrc/simdev/libraries
all: $(simother)

$(B)/simdev/libcudnn.so.9: $(call objects,$(simcudnn)) $(B)/obj/gen/cudnn_rest.o src/simdev/cudnn/cudnn.map $(B)/simdev/libcudart.so.13
	$(call say,LD)$(CC) $(LDLIB) -Wl,-Bsymbolic -Wl,-soname,$(@F) -Wl,--version-script=src/simdev/cudnn/cudnn.map \
	-o $@ $(filter %.o,$^) -L$(@D) -lcudart -ldnnl -lcjson -lgomp -lm -ldl
	$(Q)ln -sf $(@F) $(@D)/libcudnn.so
$(B)/simdev/libcuda.so.1: $(call objects,$(simdriver)) $(B)/simdev/libcudart.so.13
	$(call say,LD)$(CC) $(LDLIB) -Wl,-Bsymbolic -Wl,-soname,$(@F) -o $@ $(filter %.o,$^) -L$(@D) -lcudart
$(B)/simdev/selftest_%: $(B)/obj/tests/simdev/selftest_%.o $(simdev)
	$(call say,LD)$(CC) -pthread $(SANFLAGS) -o $@ $< -L$(@D) -lcudnn -lcudart -lcjson -lm

# --- programs ---------------------------------------------------------------------------------------------------------
$(call objects,$(wildcard tests/support/programs/*.c)): INCLUDES := $(addprefix -isystem ,$(CUDNN_INC) $(CUDA_INC))
$(B)/apps/compare: $(addprefix $(B)/obj/tests/support/programs/,compare.o values.o)
	$(call say,LD)mkdir -p $(@D); $(CC) $(SANFLAGS) -o $@ $^ -lm
$(B)/apps/%: $(B)/obj/tests/support/programs/%.o $(appshare) $(simdev)
	$(call say,LD)mkdir -p $(@D); $(CC) -pthread $(SANFLAGS) -o $@ $< $(appshare) -L$(B)/simdev -lcudnn -lcudart -lm

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

# --- clients that the bats suites load in hostile ways ----------------------------------------------------------------
clients    := $(addprefix $(B)/clients/,libwork.so libinterposer.so load_race libload_race_plugin.so reset small_stack bad_arguments hostile ranges idle large plans refused reshape partial/libcudnn.so.9 \
              libwork_looked_up.so libloader_deep.so libloader_local.so \
              libloader_early.so libloader_other.so loader \
              libwork_lazy.so libwork_noplt.so libwork_static.so libwork_stubs.so libwork_stubs_bound.so \
              bypass bypass_static)
include tests/support/clients/frontend/rules.mk
include tests/support/clients/frameworks/rules.mk
clientbase := tests/support/clients/layer.c $(addprefix tests/support/programs/,client.c conv.c conv_graph.c conv_legacy.c values.c problem_data.c)
clientdep  := $(wildcard tests/support/clients/*.[dhm]* tests/support/programs/*.h) $(B)/flags
CLIENT      = $(CC) $(CFLAGS) $(addprefix -isystem ,$(CUDNN_INC) $(CUDA_INC))
CLIENTLIBS := -L$(B)/simdev -lcudnn -lcudart -lm -ldl
SIMLIB      = $(CLIENT) $(LDLIB) -fPIC -Wl,-Bsymbolic -Wl,-soname,libcudnn.so.9
SIMDEPS    := -L$(B)/simdev -lcudart -ldnnl -lcjson -lgomp -lm -ldl

# Bound as the compiler's default is, at the first call, and at load.
$(B)/clients/libwork_lazy.so: BIND := -Wl,-z,lazy
$(B)/clients/libwork_noplt.so: BIND := -fno-plt
$(addprefix $(B)/clients/,libwork.so libwork_lazy.so libwork_noplt.so): tests/support/clients/work.c $(clientbase) $(clientdep) $(simdev)
	$(call say,LD)mkdir -p $(@D); $(CLIENT) -fPIC -shared $(BIND) -o $@ $(filter %.c,$^) $(CLIENTLIBS)
# Their cuDNN is their own, and its functions are exported.
$(B)/clients/libwork_static.so: tests/support/clients/work.c $(clientbase) $(call objects,$(simcudnn)) $(clientdep) $(simdev)
	$(call say,LD)mkdir -p $(@D); $(CLIENT) -fPIC -shared -Wl,-Bsymbolic -o $@ $(filter %.c %.o,$^) $(SIMDEPS)
# Their cuDNN is loaded behind stubs, which other libraries come before or not.
$(B)/clients/libwork_stubs_bound.so: BIND := -Wl,-Bsymbolic
$(addprefix $(B)/clients/libwork_stubs,.so _bound.so): $(addprefix tests/support/clients/,work.c stubs.c) $(clientbase) \
              $(B)/obj/tests/support/clients/loader_cudnn.o $(clientdep) $(simdev)
	$(call say,LD)mkdir -p $(@D); $(CLIENT) -fPIC -shared $(BIND) -o $@ $(filter %.c %.o,$^) $(CLIENTLIBS)
$(B)/clients/bypass_static: tests/support/clients/bypass.c $(call objects,$(simcudnn)) $(clientdep) $(simdev)
	$(call say,LD)mkdir -p $(@D); $(CLIENT) -rdynamic -o $@ $(filter %.c %.o,$^) $(SIMDEPS)
$(B)/clients/bypass: tests/support/clients/bypass.c $(clientdep)
	$(call say,LD)mkdir -p $(@D); $(CLIENT) -o $@ $< -ldl
$(B)/clients/plans: tests/support/clients/plans.c tests/support/clients/plans_graph.c $(clientbase) $(clientdep) $(simdev)
	$(call say,LD)mkdir -p $(@D); $(CLIENT) -o $@ $(filter %.c,$^) $(CLIENTLIBS)
$(addprefix $(B)/clients/,reset small_stack bad_arguments): $(B)/clients/%: tests/support/clients/%.c $(clientbase) $(clientdep) $(simdev)
	$(call say,LD)mkdir -p $(@D); $(CLIENT) -o $@ $(filter %.c,$^) $(CLIENTLIBS)
$(B)/clients/load_race: tests/support/clients/load_race.c $(clientdep) $(simdev)
	$(call say,LD)mkdir -p $(@D); $(CLIENT) -rdynamic -o $@ $< $(CLIENTLIBS)
$(B)/clients/libload_race_plugin.so: tests/support/clients/load_race_plugin.c $(clientdep) $(simdev)
	$(call say,LD)mkdir -p $(@D); $(CLIENT) -fPIC -shared -o $@ $< $(CLIENTLIBS)
$(B)/clients/reshape: tests/support/clients/reshape.c $(clientbase) $(clientdep) $(simdev)
	$(call say,LD)mkdir -p $(@D); $(CLIENT) -o $@ $(filter %.c,$^) $(CLIENTLIBS)
$(B)/clients/idle: tests/support/clients/idle.c $(clientdep) $(simdev)
	$(call say,LD)mkdir -p $(@D); $(CLIENT) -Wl,--no-as-needed -o $@ $< $(CLIENTLIBS)
$(addprefix $(B)/clients/,large refused): $(B)/clients/%: tests/support/clients/%.c $(clientdep) $(simdev)
	$(call say,LD)mkdir -p $(@D); $(CLIENT) -Wl,--no-as-needed -o $@ $< $(CLIENTLIBS)
$(addprefix $(B)/clients/,hostile ranges): $(B)/clients/%: tests/support/clients/%.c $(clientdep)
	$(call say,LD)mkdir -p $(@D); $(CLIENT) -o $@ $< -ldl
$(B)/clients/libinterposer.so: tests/support/clients/interposer.c $(clientdep)
	$(call say,LD)mkdir -p $(@D); $(CLIENT) -fPIC -shared -o $@ $< -ldl
# libwork.so with a cuDNN that is loaded and looked up instead of linked.
$(B)/obj/tests/support/clients/loader_cudnn.o: INCLUDES := $(SIMFLAGS)
$(B)/clients/libwork_looked_up.so: tests/support/clients/work.c $(clientbase) $(B)/obj/tests/support/clients/loader_cudnn.o $(clientdep) $(simdev)
	$(call say,LD)mkdir -p $(@D); $(CLIENT) -include tests/support/clients/loader_calls.h -fPIC -shared -o $@ $(filter %.c %.o,$^) \
	-L$(B)/simdev -lcudart -lm -ldl
# What is not called through a stub can be called before the loader is done.
$(addprefix $(B)/clients/libloader_,deep.so early.so other.so): $(B)/clients/libloader_%.so: tests/support/clients/loader_%.c $(clientdep)
	$(call say,LD)mkdir -p $(@D); $(CLIENT) -fPIC -fno-plt -shared -Wl,-soname,$(@F) -o $@ $<
$(B)/clients/libloader_local.so: tests/support/clients/loader_local.c $(B)/clients/libloader_deep.so $(clientdep)
	$(call say,LD)mkdir -p $(@D); $(CLIENT) -fPIC -shared -Wl,--no-as-needed -Wl,-rpath,'$$ORIGIN' -o $@ $< -L$(@D) -lloader_deep
$(B)/clients/loader: tests/support/clients/loader.c $(clientdep)
	$(call say,LD)mkdir -p $(@D); $(CLIENT) -o $@ $< -ldl
$(B)/clients/partial/libcudnn.so.9: $(call objects,$(simcudnn)) tests/support/clients/partial.map $(simdev)
	$(call say,LD)mkdir -p $(@D); $(SIMLIB) -Wl,--version-script=tests/support/clients/partial.map -o $@ $(filter %.o,$^) $(SIMDEPS)

# --- programs of the GPU suite ----------------------------------------------------------------------------------------
gpumain  := gpu_facts gpu_layers gpu_ballast
gpu      := $(addprefix $(B)/gpu/,$(gpumain))
gpushare := $(call objects,$(filter-out $(patsubst %,tests/gpu/%.c,$(gpumain)),$(wildcard tests/gpu/*.c)))

$(call objects,$(wildcard tests/gpu/*.c)): INCLUDES := $(addprefix -isystem ,$(CUDNN_INC) $(CUDA_INC))
$(B)/gpu/%: $(B)/obj/tests/gpu/%.o $(gpushare) $(appshare) $(simdev)
	$(call say,LD)mkdir -p $(@D); $(CC) -pthread $(SANFLAGS) -o $@ $< $(gpushare) $(appshare) -L$(B)/simdev -lcudnn -lcudart -lm

# What the cost model predicts, without a card.
gpu += $(B)/gpu/predict
$(B)/obj/tests/gpu/predict/predict.o: INCLUDES := $(PURE) -Itests/unit
$(B)/gpu/predict: $(B)/obj/tests/gpu/predict/predict.o $(pureobj)
	$(call say,LD)mkdir -p $(@D); $(CC) -pthread $(SANFLAGS) -o $@ $(filter %.o,$^) -l:libinih.a -lm

.PHONY: gpu
gpu: lib $(simdev) $(gpu)

# --- benchmarks -------------------------------------------------------------------------------------------------------
benches := $(addprefix $(B)/bench/,bench decide repeat count)
idle    := $(addprefix $(B)/bench/,libcudnn.so.9 libcuda.so.1)
null    := $(addprefix $(B)/obj/tests/bench/null_,cudnn.o legacy.o rest.o)

$(null) $(B)/obj/tests/bench/null_cuda.o: INCLUDES := -fPIC -Isrc $(addprefix -isystem ,$(CUDNN_INC) $(CUDA_INC))
$(addprefix $(B)/obj/tests/bench/,bench.o decide.o): INCLUDES := -Itests $(addprefix -isystem ,$(CUDNN_INC) $(CUDA_INC))
$(addprefix $(B)/obj/tests/bench/,repeat.o count.o): INCLUDES := $(PURE) -Itests/unit

$(B)/bench/libcudnn.so.9: $(null) src/simdev/cudnn/cudnn.map
	$(call say,LD)mkdir -p $(@D); $(CC) $(LDLIB) -Wl,-soname,$(@F) -Wl,--version-script=src/simdev/cudnn/cudnn.map \
	-o $@ $(null)
	$(Q)ln -sf $(@F) $(@D)/libcudnn.so
$(B)/bench/libcuda.so.1: $(B)/obj/tests/bench/null_cuda.o
	$(call say,LD)mkdir -p $(@D); $(CC) $(LDLIB) -Wl,-soname,$(@F) -o $@ $<
$(B)/bench/bench: $(B)/obj/tests/bench/bench.o $(B)/bench/libcudnn.so.9 $(B)/bench/libcuda.so.1
	$(call say,LD)$(CC) -pthread $(SANFLAGS) -o $@ $< -L$(@D) -lcudnn -Wl,--no-as-needed -l:libcuda.so.1
$(B)/bench/decide: $(B)/obj/tests/bench/decide.o $(appshare) $(simdev)
	$(call say,LD)mkdir -p $(@D); $(CC) -pthread $(SANFLAGS) -Wl,--wrap=cudnnBackendFinalize -o $@ $< $(appshare) \
	-L$(B)/simdev -lcudnn -lcudart -lm
$(addprefix $(B)/bench/,repeat count): $(B)/bench/%: $(B)/obj/tests/bench/%.o $(pureobj)
	$(call say,LD)mkdir -p $(@D); $(CC) -pthread $(SANFLAGS) -o $@ $< $(pureobj) -l:libinih.a -lm

bench: lib $(simdev) $(benches)
	$(Q)scripts/bench --build $(B)

# --- fuzzers ----------------------------------------------------------------------------------------------------------
FUZZCC    ?= clang
FUZZFLAGS := -std=c17 -D_GNU_SOURCE -pthread -O1 -g $(WARN) -fsanitize=fuzzer,address,undefined \
             -fno-sanitize-recover=undefined
fuzzers   := $(patsubst tests/fuzz/%.c,$(B)/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
described := $(addprefix src/cudnn/plan/,fusion.c operation.c) $(addprefix src/intercept/graph/,describe_graph.c graph.c attributes.c shadow.c) \
             $(addprefix src/flow/,flow.c budget.c built_plans.c measure.c traced_gpu.c)

$(B)/fuzz/fuzz_describe: fuzzed := $(described)
$(B)/fuzz/fuzz_%: tests/fuzz/fuzz_%.c $(wildcard tests/fuzz/*.h) $(pure) $(described) $(B)/gen/policies.c
	$(call say,FUZZ)mkdir -p $(@D); $(FUZZCC) $(FUZZFLAGS) $(VENDOR) -Itests/fuzz -o $@ $< $(fuzzed) $(pure) \
	$(B)/gen/policies.c -l:libinih.a -lm

fuzz: $(fuzzers)
	$(Q)tests/fuzz/run.sh $(B)/fuzz $(FUZZ_SECONDS)

# --- tests ------------------------------------------------------------------------------------------------------------
# A sanitizer's runtime must come before the library when both are preloaded.
SAN_RT   := $(if $(findstring thread,$(SAN)),$(shell $(CC) -print-file-name=libtsan.so),$(if \
            $(findstring address,$(SAN)),$(shell $(CC) -print-file-name=libasan.so)))
TESTENV   = CONVSHIM_TEST_LOAD=$(LOAD) SOAK_CALLS=$(SOAK_CALLS) CONVSHIM_BUILD=$(B) CONVSHIM_SAN_RT=$(SAN_RT) SIMDEV_DIR=$(CURDIR)/$(B)/simdev
ifneq ($(SAN),)
TESTENV  += LSAN_OPTIONS=suppressions=$(CURDIR)/tests/lsan.supp:print_suppressions=0 UBSAN_OPTIONS=print_stacktrace=1:exitcode=77 \
            TSAN_OPTIONS=suppressions=$(CURDIR)/tests/tsan.supp:print_suppressions=0
endif
# Random problems, every how many settings of a sweep, seeds of traffic, calls of the soak. Sanitizers cost time: LOAD
# percent of each, in the bats suites too.
LOAD     ?= $(if $(SAN),20,100)
percent   = $(shell echo $$(($(1) * $(LOAD) / 100)))
RANDOM_N ?= $(call percent,700)
EVERY    ?= $(shell echo $$((2500 / $(LOAD))))
SEEDS    ?= $(call percent,240)
SOAK_CALLS ?= $(call percent,1000000)
# Of the backward directions: the oldest card and the newest but one, all in test-all.
CARDS    ?= CARDS="t4 h200"
POLICIES ?= fit
JOBS     ?= 2

# Suite `tsan_threads` is one of TSan in any case.
tsan     := $(if $(findstring address,$(SAN)),,tsan)
hash     := \#
suites    = source_rules='scripts/check-rules.sh $(B)' conf='tests/sweeps/conf.sh' \
            $(foreach t,$(unit),$(notdir $t)='$t') \
            $(foreach t,$(selftest),$(notdir $t)='scripts/with-simdev -- $t') \
            random='tests/sweeps/random.sh $(B) $(RANDOM_N) $(EVERY)' \
            caps_forward='tests/sweeps/caps.sh $(B) forward fit fast' \
            caps_data='$(CARDS) tests/sweeps/caps.sh $(B) data $(POLICIES)' caps_filter='$(CARDS) tests/sweeps/caps.sh $(B) filter $(POLICIES)' \
            predicted_time='tests/sweeps/predicted_time.py $(B)' \
            traffic='tests/sweeps/traffic.sh $(B) $(SEEDS) $(B)/traffic' \
            $(if $(tsan),tsan_threads='tests/sweeps/threads.sh') gpu_programs='tests/gpu/test_gpu_programs.sh $(B)' \
            gpu_compare='PYTHONPATH=$(FRONTEND) tests/gpu/test_compare.py' fit_cost='tests/gpu/test_fit_cost.py $(B)' \
            gpu_suite='$(if $(SAN),echo "1..0 $(hash) SKIP preloads into programs without a sanitizer",tests/gpu/test_suite.py $(B))' \
            $(foreach t,$(wildcard tests/system/*.bats),$(basename $(notdir $t))='bats --formatter tap $t')

.PHONY: tests-built
tests-built: all $(B)/policies/libconvshim.so $(unit) $(selftest) $(clients) $(frameworks) $(gpu) $(idle)

test: tests-built $(tsan)
	$(Q)$(TESTENV) scripts/run-tests -j $(JOBS) $(B)/log -- $(suites)

# The whole sweep of patch_conv, and many more random problems.
test-all: RANDOM_N := 5000
test-all: EVERY := 1
test-all: SEEDS := 10000
test-all: CARDS :=
test-all: POLICIES := fit fast
test-all: test

# What the suite `tsan_threads` needs, whatever this build is.
tsan:
	$(Q)$(MAKE) --no-print-directory SAN=thread lib $(patsubst $(B)/%,build/san-thread/%,$(simdev)) build/san-thread/apps/threads

demo: lib $(simdev) $(B)/apps/vae_decoder $(B)/apps/compare
	$(Q)scripts/demo --build $(B) $(DEMO)

# Unmodified wheels on the simulated device: installs gigabytes, takes long, needs no GPU. FRAMEWORK=torch-2.9 for another.
FRAMEWORK ?= torch-2.15
frameworks: lib $(simdev)
	$(Q)scripts/frameworks $(FRAMEWORK) --compute --published --programs all --capacities --build $(CURDIR)/$(B)

lint: $(CONFIG)
	$(Q)scripts/lint $(VENDOR)
fmt:
	$(Q)git ls-files -co --exclude-standard '*.c' '*.h' | xargs clang-format -i

install: lib cli
	install -D -m 755 $(B)/libconvshim.so $(DESTDIR)$(PREFIX)/lib/libconvshim.so
	install -D -m 755 $(B)/convshim $(DESTDIR)$(PREFIX)/bin/convshim
	install -D -m 644 $(B)/man/convshim.1 $(DESTDIR)$(PREFIX)/share/man/man1/convshim.1
	install -D -m 644 $(B)/man/convshim.ini.5 $(DESTDIR)$(PREFIX)/share/man/man5/convshim.ini.5
	install -d $(DESTDIR)$(PREFIX)/share/convshim/devices
	install -m 644 conf/devices/*.json $(DESTDIR)$(PREFIX)/share/convshim/devices
	install -d $(DESTDIR)$(PREFIX)/share/convshim/presets
	install -m 644 conf/presets/*.ini $(DESTDIR)$(PREFIX)/share/convshim/presets
	install -D -m 644 conf/convshim.ini $(DESTDIR)$(PREFIX)/share/doc/convshim/convshim.ini

clean:
	rm -rf build

-include $(shell find $(B)/obj -name '*.d' 2>/dev/null)
