# make install: the command, the library it preloads, and what it takes to build upon the engine.

D           := $(DESTDIR)$(PREFIX)
public_h     = $(wildcard engine/base/*.h engine/store/*.h engine/trace/*.h)

install: all ## installs under $(DESTDIR)$(PREFIX)
	install -D -m 755 $B/strobe $(D)/bin/strobe
	install -D -m 755 $B/libstrobe-preload.so $(D)/lib/strobe/libstrobe-preload.so
	install -D -m 755 $B/libstrobe-art.so $(D)/lib/strobe/libstrobe-art.so
	install -D -m 755 $B/libstrobe-binder.so $(D)/lib/strobe/libstrobe-binder.so
	install -D -m 755 $B/libstrobe-witness.so $(D)/lib/strobe/libstrobe-witness.so
	@for l in $(fake_levels); do \
	    install -D -m 755 $B/art/$$l/libart.so $(D)/lib/strobe/art/$$l/libart.so || exit 1; done
	install -D -m 644 $B/libstrobe-capture.a $(D)/lib/strobe/libstrobe-capture.a
	install -D -m 644 $B/libstrobe-trace.a $(D)/lib/strobe/libstrobe-trace.a
	install -D -m 644 sim/cmd/strobe.1 $(D)/share/man/man1/strobe.1
	@for h in $(public_h); do install -D -m 644 $$h $(D)/include/strobe/$$h || exit 1; done
	@mkdir -p $(D)/lib/pkgconfig
	sed 's|@PREFIX@|$(PREFIX)|; s|@VERSION@|$(VERSION)|; s|@LIBS@|$(trace_libs)|' ci/strobe.pc.in \
	    >$(D)/lib/pkgconfig/strobe.pc

uninstall: ## removes what install put there
	rm -f $(D)/bin/strobe $(D)/share/man/man1/strobe.1 $(D)/lib/pkgconfig/strobe.pc
	rm -rf $(D)/lib/strobe $(D)/include/strobe

.PHONY: install uninstall
