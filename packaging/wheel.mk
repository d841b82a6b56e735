# The wheel: the installed files, linked so that they run with any glibc since 2.28, with cJSON included. ARCH=aarch64
# builds it with aarch64-linux-gnu-gcc.

GLIBC    := 2.28
ARCH     ?= $(shell uname -m)
PORTABLE := $(B)/portable
CJSON    := build/source/cjson
# The folder of the host's manual pages and completions in a cross build.
HOST      = $(if $(CROSS),build,$(B))

$(CJSON)/cJSON.c:
	$(call say,FETCH)scripts/fetch-debian source cjson $(CJSON)
$(PORTABLE)/cJSON.o: $(CJSON)/cJSON.c $(B)/flags
	$(call say,CC)mkdir -p $(@D); $(CC) -std=c17 -O2 -fPIC $(HARDEN) -DCJSON_HIDE_SYMBOLS -fdebug-prefix-map=$(CURDIR)=. -c -o $@ $<
$(PORTABLE)/younger.o: packaging/younger.c $(B)/flags
	$(call say,CC)mkdir -p $(@D); $(CC) $(CFLAGS) $(LIBFLAGS) -Wno-missing-prototypes -c -o $@ $<
portable_link := scripts/link-portable $(GLIBC) $(PORTABLE)/younger.o $(CC)

$(PORTABLE)/libconvshim.so: $(libobj) $(B)/gen/convshim.map $(PORTABLE)/younger.o
	$(call say,LD)$(portable_link) $(LDLIB) -Wl,-Bsymbolic -Wl,--version-script=$(B)/gen/convshim.map -o $@ $(libobj) \
	$(INIH) -Wl,--exclude-libs,ALL -ldl
$(PORTABLE)/convshim: $(cliobj) $(PORTABLE)/cJSON.o $(PORTABLE)/younger.o
	$(call say,LD)$(portable_link) -pthread $(SANFLAGS) -pie $(LDHARDEN) -o $@ $(cliobj) $(PORTABLE)/cJSON.o $(INIH) -lm -ldl
# The files of the list that are linked here.
portable := $(filter $(PORTABLE)/%,$(foreach e,$(call \
            installed_from,$(PORTABLE)/convshim,$(PORTABLE)/libconvshim.so,$(PORTABLE)/simdev),$(word 2,$(subst :, ,$e))))
$(filter $(PORTABLE)/simdev/%,$(portable)): $(PORTABLE)/cJSON.o | $(PORTABLE)/younger.o
$(eval $(call device_rules,$(PORTABLE)/simdev,$(portable_link),))

# The licences of convshim and of the libraries that are linked in.
licences := --licence LICENSE=LICENSE --licence cJSON=$(CJSON)/LICENSE \
            --licence inih=$(firstword $(wildcard /usr/share/doc/libinih-dev/copyright) build/source/aarch64/usr/share/doc/libinih-dev/copyright)

.PHONY: wheel wheel-files
wheel-files: $(portable)
# Set explicitly, because PREFIX and similar variables must not affect a wheel.
portable_tree = PREFIX= BINDIR=/bin LIBDIR=/lib SHAREDIR=/share
#: wheel        build/dist/convshim-VERSION-py3-none-PLATFORM.whl; ARCH=aarch64: for that machine; HOMEPAGE: its page
ifeq ($(ARCH),$(shell uname -m))
wheel: wheel-files $(man) $(completion)
	$(Q)rm -rf $(PORTABLE)/tree; $(MAKE) --no-print-directory $(portable_tree) portable-tree
	$(Q)SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) packaging/make-wheel --version $(VERSION) --arch $(ARCH) --home '$(HOMEPAGE)' --out build/dist $(licences) $(PORTABLE)/tree
else
wheel: $(man) $(completion) build/source/include/ini.h
	$(Q)$(MAKE) --no-print-directory CROSS=$(ARCH) CC='$(ARCH)-linux-gnu-gcc' STRIP=$(ARCH)-linux-gnu-strip B=build/$(ARCH) wheel-files
	$(Q)rm -rf build/$(ARCH)/portable/tree; $(MAKE) --no-print-directory CROSS=$(ARCH) CC='$(ARCH)-linux-gnu-gcc' \
	STRIP=$(ARCH)-linux-gnu-strip B=build/$(ARCH) $(portable_tree) portable-tree
	$(Q)SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) packaging/make-wheel --version $(VERSION) --arch $(ARCH) --home '$(HOMEPAGE)' --out build/dist $(licences) build/$(ARCH)/portable/tree
endif
.PHONY: portable-tree
portable-tree:
	$(Q)$(folders) scripts/install-files --strip '$(STRIP)' '$(CURDIR)/$(PORTABLE)/tree' \
	$(subst $(B)/man/,$(HOST)/man/,$(subst $(B)/completions/,$(HOST)/completions/,$(call \
	installed_from,$(PORTABLE)/convshim,$(PORTABLE)/libconvshim.so,$(PORTABLE)/simdev)))

# Only headers and archives of libraries for another machine are needed.
build/source/aarch64/usr:
	$(call say,FETCH)scripts/fetch-debian arm64 libinih-dev build/source/aarch64
build/source/include/ini.h: build/source/aarch64/usr $(CJSON)/cJSON.c
	$(Q)mkdir -p $(@D)/cjson; cp $(CJSON)/cJSON.h $(@D)/cjson/; cp $</include/ini.h $@
ifneq ($(CROSS),)
CFLAGS   += -isystem build/source/include
LDLIB    += -Lbuild/source/$(CROSS)/usr/lib/$(CROSS)-linux-gnu
LDHARDEN += -Lbuild/source/$(CROSS)/usr/lib/$(CROSS)-linux-gnu
endif
