# make install: the command, the libraries it loads, and what it takes to build upon the engine. All of it or nothing.

D           := $(DESTDIR)$(PREFIX)
installed   := $B/strobe $B/strobe-lab $(players) $(patsubst %,$B/libstrobe-%.so,preload art binder witness) \
               $(patsubst %,$B/libstrobe-%.a,capture trace)
pages       := $(foreach n,1 5,$(patsubst %,man$n/%,$(notdir $(wildcard engine/cmd/man/*.$n sim/cmd/man/*.$n))))

install: $(installed) | all ## installs under $(DESTDIR)$(PREFIX)
	@B='$B' DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' VERSION='$(VERSION)' LIBS='$(trace_libs)' \
	    LEVELS='$(fake_levels)' ci/install

uninstall: ## removes what install put there
	rm -f '$(D)/bin/strobe' '$(D)/bin/strobe-lab' '$(D)/lib/pkgconfig/strobe.pc'
	rm -f $(pages:%='$(D)/share/man/%')
	rm -rf '$(D)/lib/strobe' '$(D)/libexec/strobe' '$(D)/include/strobe'

.PHONY: install uninstall
