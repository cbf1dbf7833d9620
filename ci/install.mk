# make install: the command, the libraries it loads, and what it takes to build upon the engine. All of it or nothing.

D           := $(DESTDIR)$(PREFIX)
installed   := $B/strobe $B/strobe-lab $(players) $(patsubst %,$B/libstrobe-%.so,preload art binder witness) \
               $(patsubst %,$B/libstrobe-%.a,capture trace)
completions := $(foreach shell,bash zsh fish,$B/completion/strobe.$(shell))
pages       := $(foreach n,1 5,$(patsubst %,man$n/%,$(notdir $(wildcard engine/cmd/man/*.$n sim/cmd/man/*.$n))))

install: $(installed) $(completions) | all ## installs under $(DESTDIR)$(PREFIX)
	@B='$B' DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' VERSION='$(VERSION)' LIBS='$(trace_libs)' \
	    LEVELS='$(fake_levels)' ci/install

$(completions): $B/completion/strobe.%: ci/completion $B/strobe $B/strobe-lab
	@mkdir -p $(@D)
	@ci/completion $* $B >$@.part && mv $@.part $@

uninstall: ## removes what install put there
	rm -f '$(D)/bin/strobe' '$(D)/bin/strobe-lab' '$(D)/lib/pkgconfig/strobe.pc'
	rm -f $(pages:%='$(D)/share/man/%')
	rm -f $(patsubst %,'$(D)/share/bash-completion/completions/%',strobe strobe-lab) \
	    $(patsubst %,'$(D)/share/fish/vendor_completions.d/%.fish',strobe strobe-lab) \
	    '$(D)/share/zsh/site-functions/_strobe'
	rm -rf '$(D)/lib/strobe' '$(D)/libexec/strobe' '$(D)/include/strobe'

.PHONY: install uninstall

deb: | deps-deb ## builds the Debian packages into out/deb and checks them with lintian
	@B='$B' VERSION='$(VERSION)' ci/deb

.PHONY: deb
