# The Debian package of this machine's build.

# The folder of libraries as Debian has it.
debtree   = PREFIX=/usr BINDIR=/usr/bin LIBDIR=/usr/lib/$(shell $(CC) -print-multiarch) SHAREDIR=/usr/share DESTDIR=$(CURDIR)/$(B)/deb

.PHONY: deb
#: deb          build/dist/convshim_VERSION_ARCH.deb
deb:
	$(Q)rm -rf $(B)/deb; $(MAKE) --no-print-directory $(debtree) install >/dev/null
	$(Q)SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) packaging/make-deb $(VERSION) $(B)/deb build/dist
