# The Debian package of this machine's build.

# The folder of libraries as Debian has it.
debtree   = PREFIX=/usr BINDIR=/usr/bin LIBDIR=/usr/lib/$(shell $(CC) -print-multiarch) SHAREDIR=/usr/share DESTDIR=$(CURDIR)/$(B)/deb

# Who answers for the package, as Debian writes it. The project has no address to give: whoever hands packages on names one of their
# own, `make deb MAINTAINER='A Name <name@example.org>'`. That of nobody, under .invalid, is one that mail programs refuse.
MAINTAINER ?= convshim contributors <convshim@contributors.invalid>

.PHONY: deb
#: deb          build/dist/convshim_VERSION_ARCH.deb; MAINTAINER='NAME <ADDRESS>' answers for it
deb: export MAINTAINER := $(MAINTAINER)
deb:
	$(Q)rm -rf $(B)/deb; $(MAKE) --no-print-directory $(debtree) install >/dev/null
	$(Q)SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) packaging/make-deb $(VERSION) $(B)/deb build/dist
