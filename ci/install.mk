# make install: the programs, the libraries that they load, and the library and headers for other programs. ci/install
# installs all of these or none.

D           := $(DESTDIR)$(PREFIX)
installed   := $B/strobe $B/strobe-lab $(players) $(patsubst %,$B/libstrobe-%.so,preload attach app art binder probes) \
               $B/libapp.so \
               $(foreach library,trace capture,$B/lib/libstrobe-$(library).a $B/lib/libstrobe-$(library).so.0)
public      := $(wildcard engine/include/strobe/*.h)
completions := $(foreach shell,bash zsh fish,$B/completion/strobe.$(shell))
pages       := $(foreach n,1 5,$(patsubst %,man$n/%,$(notdir $(wildcard engine/cmd/man/*.$n sim/cmd/man/*.$n))))

install: $(installed) $(completions) | all ## installs under $(DESTDIR)$(PREFIX)
	@B='$B' DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' VERSION='$(VERSION)' \
	    LEVELS='$(fake_levels)' ci/install

$(completions): $B/completion/strobe.%: ci/completion $B/strobe $B/strobe-lab
	@mkdir -p $(@D)
	@ci/completion $* $B >$@.part && mv $@.part $@

uninstall: ## removes what install put there
	rm -f '$(D)/bin/strobe' '$(D)/bin/strobe-lab' \
	    $(foreach library,trace capture,'$(D)/lib/pkgconfig/strobe-$(library).pc' \
	        $(patsubst %,'$(D)/lib/libstrobe-$(library).%',a so so.0)) $(public:engine/include/%='$(D)/include/%')
	rm -f $(pages:%='$(D)/share/man/%')
	rm -f $(patsubst %,'$(D)/share/bash-completion/completions/%',strobe strobe-lab) \
	    $(patsubst %,'$(D)/share/fish/vendor_completions.d/%.fish',strobe strobe-lab) \
	    '$(D)/share/zsh/site-functions/_strobe'
	rm -rf '$(D)/lib/strobe' '$(D)/libexec/strobe'
	-rmdir '$(D)/include/strobe' 2>/dev/null

.PHONY: install uninstall

deb: | deps-deb ## builds the Debian packages into out/deb and checks them with lintian
	@B='$B' VERSION='$(VERSION)' ci/deb

.PHONY: deb
