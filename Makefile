# convshim: `make help` lists the targets.
# SAN=address,undefined or SAN=thread builds everything into a separate folder. V=1 shows commands.

MAKEFLAGS += --no-builtin-rules
.SUFFIXES:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := all
# In parallel, unless -j is given. With several goals, the first may have to finish before the others.
ifeq ($(MAKELEVEL)$(word 2,$(MAKECMDGOALS)),0)
MAKEFLAGS += -j$(shell nproc)
endif

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
# OFFLINE=1: bootstrap uses no package manager and no download, and lists missing packages.
OFFLINE ?=
export OFFLINE
say      = $(if $(filter 1,$(V)),,@printf '  %-7s %s\n' $(1) $@;)

# Folders that bootstrap found or fetched: CUDA_INC, CUDNN_INC, CUDNN_LIB, NVRTC_LIB.
CONFIG  := build/config.mk
ifeq ($(filter clean help,$(MAKECMDGOALS)),)
include $(CONFIG)
endif

# --- flags ------------------------------------------------------------------------------------------------------------
WARN     := -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wformat=2 -Wundef \
            $(if $(findstring clang,$(CC)),-Wno-enum-float-conversion -Wno-enum-enum-conversion )$(if $(CI),-Werror)
OPT      ?= -O2 -g
SANFLAGS := $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=undefined -DCS_DEBUG)
CFLAGS   += -std=c17 -D_GNU_SOURCE -pthread $(OPT) $(WARN) $(SANFLAGS)
# Reproducible: the binaries do not depend on the folder. Debuggers that run here still find the sources.
CFLAGS   += $(addprefix -fdebug-prefix-map=,$(CURDIR)=. $(addsuffix =nvidia,$(CUDNN_INC) $(CUDA_INC)))
PURE     := -Iinclude -Isrc
VENDOR   := $(PURE) $(addprefix -isystem ,$(CUDNN_INC) $(CUDA_INC))
# A memory error of the library ends the process instead of overwriting the program's memory. scripts/check-rules.sh
# checks the result.
HARDEN   := -fstack-protector-strong -fstack-clash-protection \
            $(if $(SAN),,$(if $(filter -O1 -O2 -O3 -Os,$(OPT)),-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2))
LDHARDEN := -Wl,-z,now,-z,relro,-z,noexecstack
LIBFLAGS := -fPIC -fvisibility=hidden -fno-semantic-interposition -fstack-usage $(HARDEN)
# Linked statically if the system has the archive (Debian), so that the library needs only libc.
INIH     := $(if $(findstring /,$(shell $(CC) -print-file-name=libinih.a 2>/dev/null)),-l:libinih.a,-linih)
LDLIB    := -shared -pthread $(SANFLAGS) $(if $(SAN),,-Wl$(comma)-z$(comma)defs) $(LDHARDEN)

# --- sources, by folder -----------------------------------------------------------------------------------------------
policies := $(sort $(basename $(notdir $(wildcard policies/*.c))))
pure     := $(wildcard src/base/*.c src/plan/*.c src/decide/*.c src/exec/*.c src/level/*.c src/account/*.c src/config/*.c policies/*.c)
vendor   := $(wildcard src/cudnn/bind/*.c src/cudnn/plan/*.c src/cudnn/run/*.c src/flow/*.c src/intercept/*.c src/intercept/*/*.c)
objects   = $(patsubst %.c,$(B)/obj/%.o,$(1))
doors    := src/intercept/loader/dlsym_$(firstword $(subst -, ,$(shell $(CC) -dumpmachine 2>/dev/null))) src/intercept/entry/entry_parts
testpolicies := $(sort $(basename $(notdir $(wildcard tests/policies/*.c))))
libobj   := $(call objects,$(pure) $(vendor)) $(B)/obj/gen/policies.o $(doors:%=$(B)/obj/%.o)
pureobj  := $(call objects,$(pure)) $(B)/obj/gen/policies.o
# The command plans with the library's code, with a cuDNN that it opens itself (src/cudnn/standalone).
cli      := $(wildcard src/cli/*.c src/cli/*/*.c src/simdev/simulate/*.c)
alone    := $(wildcard src/cudnn/standalone/*.c)
cliplan  := $(wildcard src/cudnn/plan/*.c)
man      := $(addprefix $(B)/man/,convshim.1 convshim.ini.5)

simcudart := $(wildcard src/simdev/cudart/*.c)
# Without oneDNN, which the installed version does not use.
simbare  := $(wildcard src/simdev/cudnn/*.c)
simcudnn := $(simbare) $(addprefix src/simdev/cudnn/onednn/,primitive_onednn.c operations.c)
simdriver := $(wildcard src/simdev/driver/*.c)
simnvml  := src/simdev/libraries/nvml.c
simcore  := $(filter-out $(simnvml),$(wildcard src/simdev/libraries/*.c))
simlinked := src/simdev/linked/linked_runtime.c
simdev   := $(addprefix $(B)/simdev/,libcudart.so.13 libcudnn.so.9 libcuda.so.1 libnvidia-ml.so.1 libsimdev-standin.so libsimdev-linked.so standins)
# The same libraries for CUDA 12 programs, in a separate folder.
simdev12 := $(addprefix $(B)/simdev/cuda12/,libcudart.so.12 libcudnn.so.9 libcuda.so.1 libnvidia-ml.so.1 libsimdev-standin.so)
appmain  := vae_decoder conv_random compare threads plan_layers traffic soak
apps     := $(addprefix $(B)/apps/,$(appmain))
appshare := $(call objects,$(filter-out $(patsubst %,tests/support/apps/%.c,$(appmain)),$(wildcard tests/support/apps/*.c)))

# --- main targets -----------------------------------------------------------------------------------------------------
.PHONY: frameworks all lib cli man demo pictures bench fuzz lint fmt conf clean help FORCE
#: all          library, command, simulated device and test programs (the default)
all: lib cli $(simdev) $(simdev12) $(apps)
#: lib          build/libconvshim.so
lib: $(B)/libconvshim.so
#: cli          build/convshim and its manual pages
cli: $(B)/convshim man
#: man          the manual pages
man: $(man)

#: help         this list
help:
	@sed -n 's/^#: //p' $(MAKEFILE_LIST)

# To compile the library and the command needs headers alone. Everything else plans with cuDNN. The long tests need still more:
# NVIDIA's cudnn-frontend, Chromium.
compiled := lib cli man wheel wheel-files portable-tree deb installable install uninstall dist conf fmt
needs    := $(if $(filter test-full test-all,$(MAKECMDGOALS)),full,$(if $(filter-out $(compiled),$(or $(MAKECMDGOALS),all)),quick,headers))
$(CONFIG): build/bootstrap.$(needs)
	$(Q)touch $@
build/bootstrap.%: scripts/bootstrap
	$(Q)scripts/bootstrap $* && touch $@

# Rebuild when the flags change.
$(B)/flags: FORCE
	@mkdir -p $(B); printf '%s\n' '$(CC) $(CFLAGS) $(VENDOR) $(LIBFLAGS) $(SIMFLAGS)' > $@.new; \
	cmp -s $@.new $@ && rm $@.new || mv $@.new $@

# --- generated --------------------------------------------------------------------------------------------------------
$(B)/gen/policies.c: policies $(wildcard policies/*.c) scripts/gen-policies Makefile
	$(call say,GEN)mkdir -p $(@D); scripts/gen-policies $(policies) > $@

# The allowed policies, for --help and the manual page.
$(B)/gen/policy_names.h: policies $(wildcard policies/*.c) Makefile
	$(call say,GEN)mkdir -p $(@D); echo '$(policies)' | sed 's/ /, /g; s/.*/#define CS_POLICY_NAMES "&"/' > $@

# The template of pages and the scripts of their commands, as C strings.
pages := $(addprefix $(B)/gen/,page_html.h report_view.h simulate_view.h)
$(B)/gen/page_html.h: src/cli/common/page.html Makefile
$(B)/gen/report_view.h: src/cli/report/report_view.js Makefile
$(B)/gen/simulate_view.h: src/simdev/simulate/simulate_view.js Makefile
$(pages):
	$(call say,GEN)mkdir -p $(@D); sed 's/["\\]/\\&/g; s/.*/"&\\n"/' $< > $@

$(B)/gen/test_registry.c: tests/policies $(wildcard tests/policies/*.c) policies $(wildcard policies/*.c) scripts/gen-policies Makefile
	$(call say,GEN)mkdir -p $(@D); scripts/gen-policies $(policies) $(testpolicies) > $@

$(B)/gen/convshim.map: src/intercept/entry/entries.def src/intercept/api.def scripts/gen-map
	$(call say,GEN)mkdir -p $(@D); CC='$(CC)' scripts/gen-map > $@

#: conf         files generated from tables of the sources: conf/convshim.ini, docs/options.md, docs/commands.md
conf: conf/convshim.ini docs/options.md docs/commands.md
docs/commands.md: $(B)/gen-man
	$(call say,GEN)$< commands > $@
conf/convshim.ini: $(addprefix include/convshim/,options.def rules.def) policies $(wildcard policies/*.c) scripts/gen-conf scripts/gen-conf.c
	$(call say,GEN)scripts/gen-conf > $@
docs/options.md: conf/convshim.ini scripts/gen-options
	$(call say,GEN)scripts/gen-options > $@

# --- library ----------------------------------------------------------------------------------------------------------
$(B)/libconvshim.so: $(libobj) $(B)/gen/convshim.map
	$(call say,LD)$(CC) $(LDLIB) -Wl,-Bsymbolic -Wl,--version-script=$(B)/gen/convshim.map -o $@ $(libobj) \
	$(INIH) -Wl,--exclude-libs,ALL -ldl

# The parts of the simulated device that are no libraries. `convshim simulate` contains them.
parts := $(addprefix $(B)/gen/,framework_hook.h framework_values.h nvidia_smi.h)
$(B)/gen/framework_hook.h: src/simdev/programs/framework_hook.py Makefile
$(B)/gen/framework_values.h: src/simdev/programs/framework_values.py Makefile
$(B)/gen/nvidia_smi.h: src/simdev/programs/nvidia_smi.sh Makefile
$(parts):
	$(call say,GEN)mkdir -p $(@D); sed 's/["\\]/\\&/g; s/.*/"&\\n"/' $< > $@

# Stand-ins of the driver and of cuBLASLt inside the command, to plan without a device. They are not installed as files.
standins := $(addprefix $(B)/stand_ins/,libcuda.so.1 libcublasLt.so.12 libcublasLt.so.13)
standin   = $(CC) -std=c17 -O2 $(WARN) -fPIC -shared -nostdlib -Wl,-soname,$(@F) -s -o $@ $<
$(B)/stand_ins/libcuda.so.1: src/cudnn/standalone/stand_ins/libcuda.c $(B)/flags
	$(call say,LD)mkdir -p $(@D); $(standin)
$(B)/stand_ins/libcublasLt.so.%: src/cudnn/standalone/stand_ins/libcublasLt.c $(B)/flags
	$(call say,LD)mkdir -p $(@D); $(standin)
$(B)/obj/src/cudnn/standalone/stand_ins.o: $(standins)
# The file of `convshim verify --out` names the commit; it is empty outside of a checkout.
$(B)/obj/src/cli/verify/verify_run.o: CFLAGS += -DCS_COMMIT='"$(shell git rev-parse --short HEAD 2>/dev/null)"'
$(B)/obj/src/cli/verify/verify_run.o: $(wildcard .git/logs/HEAD)
$(B)/obj/src/cudnn/standalone/stand_ins.o: CFLAGS += -DCS_LIBCUDA='"$(B)/stand_ins/libcuda.so.1"' \
	-DCS_LIBCUBLASLT_12='"$(B)/stand_ins/libcublasLt.so.12"' -DCS_LIBCUBLASLT_13='"$(B)/stand_ins/libcublasLt.so.13"'

cliobj   := $(call objects,$(cli) $(alone) $(cliplan)) $(B)/obj/src/cudnn/standalone/stand_ins.o $(pureobj)
$(B)/convshim: $(cliobj)
	$(call say,LD)$(CC) -pthread $(SANFLAGS) -pie $(LDHARDEN) -o $@ $^ $(INIH) -lcjson -lm -ldl

# The library with the policies of tests/policies in addition to its own: an example and an invalid one.
withtest  = $(filter-out $(B)/obj/gen/policies.o,$(1)) $(B)/obj/gen/test_registry.o $(call objects,$(wildcard tests/policies/*.c))
$(B)/policies/libconvshim.so: $(call withtest,$(libobj)) $(B)/gen/convshim.map
	$(call say,LD)mkdir -p $(@D); $(CC) $(LDLIB) -Wl,-Bsymbolic -Wl,--version-script=$(B)/gen/convshim.map -o $@ \
	$(filter %.o,$^) $(INIH) -Wl,--exclude-libs,ALL -ldl -lm

# The manual pages are generated from the tables of the commands, so gen-man links those.
$(B)/obj/scripts/gen-man.o: scripts/gen-man.c $(B)/flags
	$(call say,CC)mkdir -p $(@D); $(CC) $(CFLAGS) $(INCLUDES) -MMD -MP -c -o $@ $<
$(B)/gen-man: $(B)/obj/scripts/gen-man.o $(filter-out %/cli/main.o,$(cliobj))
	$(call say,LD)$(CC) -pthread $(SANFLAGS) -o $@ $^ $(INIH) -lcjson -lm -ldl
$(man): $(B)/gen-man
	$(call say,GEN)mkdir -p $(@D); $(B)/gen-man $(basename $(@F)) > $@

$(call objects,$(pure)): INCLUDES := $(PURE)
$(call objects,$(cli)) $(B)/obj/scripts/gen-man.o: INCLUDES := $(PURE) -I$(B)/gen
# The command of the simulated device is linked into convshim.
$(call objects,$(wildcard src/simdev/simulate/*.c)): INCLUDES := $(PURE) -I$(B)/gen $(LIBFLAGS)
$(call objects,src/cli/run/run.c src/simdev/simulate/simulate_options.c) $(B)/obj/scripts/gen-man.o: $(B)/gen/policy_names.h
$(call objects,src/simdev/simulate/simulation.c): $(parts)
$(call objects,src/cli/common/page.c src/cli/report/report.c src/simdev/simulate/simulation_page.c): $(pages)
$(call objects,$(vendor) $(alone)): INCLUDES := $(VENDOR)
$(addprefix $(B)/obj/gen/,policies.o test_registry.o): INCLUDES := $(PURE)
$(call objects,$(wildcard tests/policies/*.c)): INCLUDES := $(PURE) $(LIBFLAGS)

$(B)/obj/src/%.o: src/%.c $(B)/flags
	$(call say,CC)mkdir -p $(@D); $(CC) $(CFLAGS) $(LIBFLAGS) $(INCLUDES) -MMD -MP -c -o $@ $<
$(B)/obj/src/%.o: src/%.S $(B)/flags
	$(call say,AS)mkdir -p $(@D); $(CC) $(CFLAGS) $(LIBFLAGS) -Isrc -MMD -MP -c -o $@ $<
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
# Functions that cuDNN's headers declare and no source here defines.
$(B)/gen/cudnn_rest.c: scripts/gen-cudnn-rest src/simdev/cudnn/other_calls.txt $(call objects,$(simbare))
	$(call say,GEN)mkdir -p $(@D); $< $(CUDNN_INC) $(filter %.txt %.o,$^) > $@
$(B)/obj/gen/cudnn_rest.o: INCLUDES := $(SIMFLAGS)
$(B)/gen/driver_rest.c: scripts/gen-driver-rest $(call objects,$(simdriver))
	$(call say,GEN)mkdir -p $(@D); $< $(CUDA_INC) $(filter %.o,$^) > $@
$(B)/obj/gen/driver_rest.o: INCLUDES := $(SIMFLAGS)
# libsimdev-standin.so, which the stand-ins for NVIDIA's other libraries call, and the program that writes stand-ins
# from the names in installed libraries.
$(call objects,$(simnvml) $(simcore)): INCLUDES := $(SIMFLAGS) -Isrc/simdev/libraries -fvisibility=hidden
$(B)/simdev/standins: src/simdev/libraries/standins.py src/simdev/libraries/standin_calls.def
	$(call say,GEN)mkdir -p $(@D); sed -e '/^@RULES@$$/r $(lastword $^)' -e '/^@RULES@$$/d' $< > $@; chmod 755 $@
# The loader's auditor, which runs before any sanitizer does.
$(call objects,$(simlinked)): INCLUDES := -fPIC -fvisibility=hidden -fno-sanitize=all
$(B)/simdev/libsimdev-linked.so: $(call objects,$(simlinked))
	$(call say,LD)mkdir -p $(@D); $(CC) $(filter-out $(SANFLAGS),$(LDLIB)) -o $@ $^
STANDIN  := $(LDLIB) -Wl,-Bsymbolic
$(B)/simdev/libsimdev-standin.so: $(call objects,$(simcore)) $(B)/simdev/libcudart.so.13
	$(call say,LD)$(CC) $(STANDIN) -Wl,-soname,$(@F) -o $@ $(filter %.o,$^) -L$(@D) -lcudart
$(B)/simdev/libnvidia-ml.so.1: $(call objects,$(simnvml)) $(B)/simdev/libcudart.so.13
	$(call say,LD)$(CC) $(STANDIN) -Wl,-soname,$(@F) -o $@ $(filter %.o,$^) -L$(@D) -lcudart

$(B)/simdev/libcudnn.so.9: $(call objects,$(simcudnn)) $(B)/obj/gen/cudnn_rest.o src/simdev/cudnn/cudnn.map $(B)/simdev/libcudart.so.13
	$(call say,LD)$(CC) $(LDLIB) -Wl,-Bsymbolic -Wl,-soname,$(@F) -Wl,--version-script=src/simdev/cudnn/cudnn.map \
	-o $@ $(filter %.o,$^) -L$(@D) -lcudart -ldnnl -lcjson -lgomp -lm -ldl
	$(Q)ln -sf $(@F) $(@D)/libcudnn.so
$(B)/simdev/libcuda.so.1: $(call objects,$(simdriver)) $(B)/obj/gen/driver_rest.o $(B)/simdev/libcudart.so.13
	$(call say,LD)$(CC) $(LDLIB) -Wl,-Bsymbolic -Wl,-soname,$(@F) -o $@ $(filter %.o,$^) -L$(@D) -lcudart
# With CUDA 12's names for functions that CUDA 13 renamed. libcudnn uses none of these functions.
objects12 = $(patsubst %.c,$(B)/obj/cuda12/%.o,$(1))
$(B)/obj/cuda12/%.o: %.c src/simdev/cuda12/names.h $(B)/flags
	$(call say,CC)mkdir -p $(@D); $(CC) $(CFLAGS) $(SIMFLAGS) -include src/simdev/cuda12/names.h -MMD -MP -c -o $@ $<
$(B)/gen/cudart12.map: src/simdev/cudart/cudart.map
	$(call say,GEN)mkdir -p $(@D); sed 's/^libcudart.so.13/libcudart.so.12/; s/^global:/global:\n    simdev_13_*;/' $< > $@
$(B)/simdev/cuda12/libcudart.so.12: $(call objects12,$(simcudart) src/simdev/cuda12/cudart_cuda12.c) $(B)/gen/cudart12.map
	$(call say,LD)mkdir -p $(@D); $(CC) $(LDLIB) -Wl,-Bsymbolic -Wl,-z,nodelete -Wl,-soname,$(@F) \
	-Wl,--version-script=$(B)/gen/cudart12.map -o $@ $(filter %.o,$^) -lcjson
	$(Q)ln -sf $(@F) $(@D)/libcudart.so
$(B)/simdev/cuda12/libcudnn.so.9: $(call objects,$(simcudnn)) $(B)/obj/gen/cudnn_rest.o src/simdev/cudnn/cudnn.map $(B)/simdev/cuda12/libcudart.so.12
	$(call say,LD)$(CC) $(LDLIB) -Wl,-Bsymbolic -Wl,-soname,$(@F) -Wl,--version-script=src/simdev/cudnn/cudnn.map \
	-o $@ $(filter %.o,$^) -L$(@D) -lcudart -ldnnl -lcjson -lgomp -lm -ldl
$(call objects12,$(simnvml) $(simcore)): SIMFLAGS += -Isrc/simdev/libraries -fvisibility=hidden
$(B)/simdev/cuda12/libsimdev-standin.so: $(call objects12,$(simcore)) $(B)/simdev/cuda12/libcudart.so.12
	$(call say,LD)$(CC) $(STANDIN) -Wl,-soname,$(@F) -o $@ $(filter %.o,$^) -L$(@D) -lcudart
$(B)/simdev/cuda12/libnvidia-ml.so.1: $(call objects12,$(simnvml)) $(B)/simdev/cuda12/libcudart.so.12
	$(call say,LD)$(CC) $(STANDIN) -Wl,-soname,$(@F) -o $@ $(filter %.o,$^) -L$(@D) -lcudart
$(B)/simdev/cuda12/libcuda.so.1: $(call objects12,$(simdriver)) $(B)/obj/gen/driver_rest.o $(B)/simdev/cuda12/libcudart.so.12
	$(call say,LD)$(CC) $(LDLIB) -Wl,-Bsymbolic -Wl,-soname,$(@F) -o $@ $(filter %.o,$^) -L$(@D) -lcudart

# --- tests ------------------------------------------------------------------------------------------------------------
include $(addprefix tests/,support.mk unit.mk gpu.mk bench.mk fuzz.mk sweeps.mk suites.mk)

#: pictures     draws the picture of docs/how-it-works.md again
pictures: lib cli
	$(Q)scripts/pictures --build $(B)

#: demo         a VAE decoder without and with the library, on the simulated device
demo: lib $(simdev) $(B)/apps/vae_decoder $(B)/apps/compare
	$(Q)scripts/demo --build $(B) $(DEMO)

#: frameworks   unmodified wheels on the simulated device: gigabytes, long, no GPU (FRAMEWORK=NAME, PROGRAMS=A,B for others)
FRAMEWORK ?= torch-2.15
frameworks: lib $(simdev)
	$(Q)scripts/bootstrap frameworks
	$(Q)scripts/frameworks $(FRAMEWORK) --build $(CURDIR)/$(B) \
	    $(if $(PROGRAMS),--programs $(PROGRAMS),--compute --published --programs all --smallest)

#: lint         clang-tidy, cppcheck, shellcheck, clang-format 14
lint: $(CONFIG) $(pages) $(parts) $(B)/gen/policy_names.h
	$(Q)scripts/lint $(VENDOR)
#: fmt          format C
fmt:
	$(Q)git ls-files -co --exclude-standard '*.c' '*.h' | xargs clang-format -i

# Every command that compiles, as this Makefile would run it.
#: compile_commands.json   for clangd and other tools
.PHONY: compile_commands.json
compile_commands.json: $(CONFIG)
	$(Q)$(MAKE) -nB V=1 CI= --no-print-directory -o $(CONFIG) tests-built | \
	    awk -v folder='$(CURDIR)' -f scripts/compile-commands.awk >$@.new && mv $@.new $@
	$(Q)echo "$@: $$(grep -c '"file"' $@) files"

include $(addprefix packaging/,install.mk wheel.mk deb.mk)

#: clean        remove build/
clean:
	rm -rf build

-include $(shell find $(B)/obj $(B)/faults/obj -name '*.d' 2>/dev/null)
