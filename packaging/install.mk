# The list of installed files, for install, uninstall, the wheel and the Debian package.

BINDIR   ?= $(PREFIX)/bin
LIBDIR   ?= $(PREFIX)/lib
SHAREDIR ?= $(PREFIX)/share
STRIP    ?= strip
VERSION  := $(shell sed -n 's/^\#define CS_VERSION "\(.*\)"/\1/p' src/base/version.h)
# The project's page, for packages: the web address from which the checkout was cloned, without credentials.
HOMEPAGE ?= $(shell git config --get remote.origin.url 2>/dev/null | \
            sed -nE 's,^(https://([^/@]*@)?|(ssh://)?git@)([^/:@]+)[/:](.+)$$,https://\4/\5,p' | sed 's/\.git$$//')
# Reproducible: generated files do not depend on the time and folder of the build.
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || date -r src/base/version.h +%s)

# The command finds the library relative to its own folder, so that an installation can be moved. This object, which
# holds the relative path of LIBDIR, is used only in the installed command.
libdir_told = -DCS_LIBDIR_FROM_BINDIR="\"$(1)\""
$(call objects,src/cli/common/installed.c): INCLUDES += $(call libdir_told,../lib)
$(B)/shipped/libdir: FORCE
	@mkdir -p $(@D); echo '$(shell realpath -ms --relative-to='$(BINDIR)' '$(LIBDIR)')' > $@.new; \
	cmp -s $@.new $@ && rm $@.new || mv $@.new $@
$(B)/shipped/installed.o: src/cli/common/installed.c $(B)/shipped/libdir $(B)/flags
	$(call say,CC)$(CC) $(CFLAGS) $(call libdir_told,$$(cat $(B)/shipped/libdir)) $(LIBFLAGS) $(PURE) -c -o $@ $<
shippedobj := $(filter-out %/common/installed.o,$(cliobj)) $(B)/shipped/installed.o
$(B)/shipped/convshim: $(shippedobj)
	$(call say,LD)$(CC) -pthread $(SANFLAGS) -pie $(LDHARDEN) -o $@ $^ $(INIH) -lcjson -lm -ldl

# --- completion for bash, from the tables of the commands ---------------------------------------------------------------
completion := $(B)/completions/convshim.bash
$(call objects,scripts/gen-completion.c): scripts/gen-completion.c $(B)/gen/policy_names.h $(B)/flags
	$(call say,CC)mkdir -p $(@D); $(CC) $(CFLAGS) $(PURE) -I$(B)/gen -MMD -MP -c -o $@ $<
$(B)/gen-completion: $(call objects,scripts/gen-completion.c) $(filter-out %/cli/main.o,$(cliobj))
	$(call say,LD)$(CC) -pthread $(SANFLAGS) -o $@ $^ $(INIH) -lcjson -lm -ldl
$(completion): $(B)/gen-completion
	$(call say,GEN)mkdir -p $(@D); $(B)/gen-completion > $@

# --- the installed version of the simulated device: without oneDNN
# ----------------------------------------------------
# device_rules FOLDER, LINKER, LIBRARIES: links the device of CUDA 13 into FOLDER, that of CUDA 12 into FOLDER/cuda12.
define device_rules
$(1)/libcudart.so.13: $(call objects,$(simcudart)) src/simdev/cudart/cudart.map
$(1)/libcudart.so.13: devmap := src/simdev/cudart/cudart.map
$(1)/cuda12/libcudart.so.12: $(call objects12,$(simcudart) src/simdev/cuda12/cudart_cuda12.c) $(B)/gen/cudart12.map
$(1)/cuda12/libcudart.so.12: devmap := $(B)/gen/cudart12.map
$(1)/libcudart.so.13 $(1)/cuda12/libcudart.so.12:
	$$(call say,LD)mkdir -p $$(@D); $(2) $(LDLIB) -Wl,-Bsymbolic -Wl,-z,nodelete -Wl,-soname,$$(@F) \
	-Wl,--version-script=$$(devmap) -o $$@ $$(filter %.o,$$^) $(3)
	$$(Q)ln -sf $$(@F) $$(@D)/libcudart.so
$(1)/libcudnn.so.9: $(1)/libcudart.so.13
$(1)/cuda12/libcudnn.so.9: $(1)/cuda12/libcudart.so.12
$(1)/libcudnn.so.9 $(1)/cuda12/libcudnn.so.9: $(call objects,$(simbare)) $(B)/obj/gen/cudnn_rest.o src/simdev/cudnn/cudnn.map
	$$(call say,LD)mkdir -p $$(@D); $(2) $(LDLIB) -Wl,-Bsymbolic -Wl,-soname,$$(@F) -Wl,--version-script=src/simdev/cudnn/cudnn.map \
	-o $$@ $$(filter %.o,$$^) -L$$(@D) -lcudart $(3) -lm -ldl
$(1)/libcuda.so.1: $(call objects,$(simdriver)) $(B)/obj/gen/driver_rest.o $(1)/libcudart.so.13
$(1)/cuda12/libcuda.so.1: $(call objects12,$(simdriver)) $(B)/obj/gen/driver_rest.o $(1)/cuda12/libcudart.so.12
$(1)/libcuda.so.1 $(1)/cuda12/libcuda.so.1:
	$$(call say,LD)$(2) $(LDLIB) -Wl,-Bsymbolic -Wl,-soname,$$(@F) -o $$@ $$(filter %.o,$$^) -L$$(@D) -lcudart
$(1)/libsimdev-standin.so: $(call objects,$(simcore)) $(1)/libcudart.so.13
$(1)/libnvidia-ml.so.1: $(call objects,$(simnvml)) $(1)/libcudart.so.13
$(1)/cuda12/libsimdev-standin.so: $(call objects12,$(simcore)) $(1)/cuda12/libcudart.so.12
$(1)/cuda12/libnvidia-ml.so.1: $(call objects12,$(simnvml)) $(1)/cuda12/libcudart.so.12
$(foreach d,$(1) $(1)/cuda12,$(d)/libsimdev-standin.so $(d)/libnvidia-ml.so.1):
	$$(call say,LD)$(2) $(LDLIB) -Wl,-Bsymbolic -Wl,-soname,$$(@F) -o $$@ $$(filter %.o,$$^) -L$$(@D) -lcudart
$(1)/libsimdev-linked.so: $(call objects,$(simlinked))
	$$(call say,LD)mkdir -p $$(@D); $(2) $(filter-out $(SANFLAGS),$(LDLIB)) -o $$@ $$(filter %.o,$$^)
$(1)/standins: $(B)/simdev/standins
	$$(call say,GEN)mkdir -p $$(@D); cp $$< $$@
endef
# Includes the program that writes stand-ins for NVIDIA's other libraries, and the core that they call.
device    := libcudart.so.13 libcudnn.so.9 libcuda.so.1 libnvidia-ml.so.1 libsimdev-standin.so libsimdev-linked.so
device    += cuda12/libcudart.so.12 cuda12/libcudnn.so.9 cuda12/libcuda.so.1 cuda12/libnvidia-ml.so.1 cuda12/libsimdev-standin.so
$(eval $(call device_rules,$(B)/shipped/simdev,$$(CC),-lcjson))

# --- the list: MODE:FILE:FOLDER/PLACE, with an s after the mode of files to strip
# ----------------------------------------
# FOLDER is the name of a variable below, because a path may have blanks, which separate the items of the list.
folders    = PREFIX='$(PREFIX)' BINDIR='$(BINDIR)' LIBDIR='$(LIBDIR)' SHAREDIR='$(SHAREDIR)'
# For binaries of any build: $(1) is the command, $(2) the library, $(3) the folder of the device.
installed_from = 755s:$(1):BINDIR/convshim 644s:$(2):LIBDIR/libconvshim.so \
            $(foreach f,$(device),644s:$(3)/$f:LIBDIR/convshim/simdev/$f) 755:$(3)/standins:LIBDIR/convshim/simdev/standins \
            644:$(B)/man/convshim.1:SHAREDIR/man/man1/convshim.1 644:$(B)/man/convshim.ini.5:SHAREDIR/man/man5/convshim.ini.5 \
            $(foreach f,$(sort $(wildcard conf/devices/*.json conf/presets/*.ini)),644:$f:SHAREDIR/convshim/$(f:conf/%=%)) \
            644:conf/convshim.ini:SHAREDIR/doc/convshim/convshim.ini \
            644:include/convshim.h:PREFIX/include/convshim.h \
            644:$(completion):SHAREDIR/bash-completion/completions/convshim
installed  = $(call installed_from,$(B)/shipped/convshim,$(B)/libconvshim.so,$(B)/shipped/simdev)

.PHONY: install uninstall dist installable
#: installable  builds the files that make install copies
installable: lib cli $(B)/shipped/convshim $(completion) $(addprefix $(B)/shipped/simdev/,$(device) standins)
# So that the loader finds libconvshim.so by its name.
loader_cache = $(Q)[ -n '$(DESTDIR)' ] || [ "$$(id -u)" != 0 ] || ! command -v ldconfig >/dev/null || ldconfig
#: install      to PREFIX (/usr/local), under DESTDIR; LIBDIR and BINDIR replace PREFIX/lib and PREFIX/bin
install: installable
	$(Q)$(folders) scripts/install-files --strip '$(STRIP)' '$(DESTDIR)' $(installed)
	$(loader_cache)
#: uninstall    removes the installed files and their empty folders; needs the settings of install
uninstall:
	$(Q)$(folders) scripts/install-files --remove '$(DESTDIR)' $(installed)
	$(loader_cache)

distname  := convshim-$(VERSION)
#: dist         build/dist/convshim-VERSION.tar.gz: the sources of the last commit
dist:
	$(Q)mkdir -p build/dist; git archive --format=tar --prefix=$(distname)/ HEAD | gzip -n9 > build/dist/$(distname).tar.gz
	@echo build/dist/$(distname).tar.gz
