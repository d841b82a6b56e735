# The Debian package of this machine's build.

# Debian's folder for libraries.
debtree   = PREFIX=/usr BINDIR=/usr/bin LIBDIR=/usr/lib/$(shell $(CC) -print-multiarch) SHAREDIR=/usr/share DESTDIR=$(CURDIR)/$(B)/deb

# The maintainer of the package in Debian's form. The project has no address, so distributors give theirs: `make deb
# MAINTAINER='A Name <name@example.org>'`. Mail programs refuse the default, which ends in .invalid.
MAINTAINER ?= convshim contributors <convshim@contributors.invalid>

.PHONY: deb
#: deb          build/dist/convshim_VERSION_ARCH.deb; MAINTAINER='NAME <ADDRESS>' is its maintainer
deb: export MAINTAINER := $(MAINTAINER)
deb:
	$(Q)rm -rf $(B)/deb; $(MAKE) --no-print-directory $(debtree) install >/dev/null
	$(Q)SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) HOMEPAGE='$(HOMEPAGE)' packaging/make-deb $(VERSION) $(B)/deb build/dist
