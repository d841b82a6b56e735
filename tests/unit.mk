# Unit tests, and the simulated device's self-tests: one program each.

unitsrc  := $(wildcard tests/unit/*/test_*.c tests/simdev/unit/test_*.c)
unit     := $(addprefix $(B)/unit/,$(notdir $(basename $(unitsrc))))
selftest := $(patsubst tests/simdev/%.c,$(B)/simdev/%,$(wildcard tests/simdev/selftest_*.c))
# Programs of tests that no longer exist.
$(shell rm -f $(filter-out $(unit),$(filter-out %.d %.o,$(wildcard $(B)/unit/test_*))))
# One more test if nvcc is installed. It does not support sanitizers.
NVCC     ?= $(firstword $(shell command -v nvcc) $(wildcard /usr/local/cuda/bin/nvcc))
selftest += $(if $(NVCC),$(if $(SAN),,$(B)/simdev/selftest_nvcc))

# An archive of the library and the command without their main. It excludes replacements of libc functions (dlsym,
# _exit, kill, raise), because they would replace the tests' functions too. The command's binding of cuDNN comes first.
# Files with invariants are compiled once more as in a debug build, which checks them.
checked := $(shell grep -l '^.include "base/invariant.h"' $(pure) $(vendor))
debug_of = $(foreach f,$(1),$(if $(filter $(f),$(checked)),$(B)/obj/debug/$(f:%.c=%.o),$(B)/obj/$(f:%.c=%.o)))
parts := $(call objects,$(alone)) $(B)/obj/src/cudnn/standalone/stand_ins.o $(filter-out %/cli/main.o,$(call objects,$(cli))) \
         $(call debug_of,$(filter-out %/intercept/process_end.c %/loader/dlsym.c,$(pure) $(vendor))) $(B)/obj/gen/policies.o
$(B)/libconvshim-parts.a: $(parts)
	$(call say,AR)rm -f $@; $(AR) rcs $@ $^

$(call objects,$(unitsrc)): INCLUDES := $(PURE) -Itests/unit
$(call objects,$(wildcard tests/unit/intercept/*.c tests/unit/cudnn/*.c)): INCLUDES := $(VENDOR) -Itests/unit -Itests/fuzz
$(foreach t,$(unitsrc),$(eval $(B)/unit/$(notdir $(basename $(t))): $(call objects,$(t))))
# These are not in the archive, or behind the command's binding there.
$(addprefix $(B)/unit/test_,real dlsym bypass): $(B)/obj/src/cudnn/bind/real.o
$(B)/unit/test_dlsym: $(B)/obj/src/intercept/loader/dlsym.o
# The linker prefers a function that a test defines with WRAPPED (check.h).
$(unit): $(B)/libconvshim-parts.a
	$(call say,LD)mkdir -p $(@D); $(CC) -pthread $(SANFLAGS) $$(nm $(filter %.o,$^) | sed -n 's/.* T __wrap_/-Wl,--wrap=/p') -o $@ \
	$(filter %.o,$^) $(filter %.a,$^) $(INIH) -lcjson -lm -ldl
$(B)/obj/debug/%.o: %.c $(B)/flags
	$(call say,CC)mkdir -p $(@D); $(CC) $(CFLAGS) $(LIBFLAGS) $(VENDOR) -DCS_DEBUG -MMD -MP -c -o $@ $<
# Commands search for conf relative to the program's folder, which is one level deeper there.
ifneq ($(SAN),)
$(unit): | build/conf
build/conf:
	$(Q)mkdir -p $(@D) && ln -sfn ../conf $@
endif
include tests/reliability.mk

$(B)/simdev/selftest_cuda12: $(B)/obj/tests/simdev/selftest_cuda12.o $(simdev12)
	$(call say,LD)$(CC) -pthread $(SANFLAGS) -o $@ $< -L$(B)/simdev/cuda12 -lcudart -lcjson -ldl
$(B)/simdev/selftest_account $(B)/simdev/selftest_account_process: $(B)/simdev/%: $(B)/obj/tests/simdev/%.o $(B)/obj/tests/simdev/fat_image.o $(simdev)
	$(call say,LD)$(CC) -pthread $(SANFLAGS) -o $@ $(filter %.o,$^) -L$(@D) -lcudart -lcjson
$(B)/simdev/selftest_nvcc: tests/simdev/selftest_nvcc.cu $(simdev)
	$(call say,NVCC)$(NVCC) -cudart shared -gencode arch=compute_90,code=sm_90 -o $@ $<
$(B)/simdev/selftest_%: $(B)/obj/tests/simdev/selftest_%.o $(simdev)
	$(call say,LD)$(CC) -pthread $(SANFLAGS) -o $@ $< -L$(@D) -lcudnn -lcudart -lcjson -lm
