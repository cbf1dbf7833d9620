# Builds the capture half as a library for iOS, its simulator and macOS on arm64, with clang and lld. It uses the
# declarations of engine/backend/sdk and needs no SDK of Apple's. Included by the Makefile.

darwin_platforms := ios simulator macos
darwin_target_ios       := arm64-apple-ios14.0
darwin_target_simulator := arm64-apple-ios14.0-simulator
darwin_target_macos     := arm64-apple-macos11.0
darwin_version_ios       := ios 14.0 16.0
darwin_version_simulator := ios-simulator 14.0 16.0
darwin_version_macos     := macos 11.0 13.0

darwin       := engine/backend/sdk/darwin
darwin_own   := $(wildcard $(darwin)/*.c)
# Constructors run in the order of the objects. The constructor for thread-local variables (emutls) must run first.
darwin_src   := $(emutls) $(engine_src) $(mach_src) $(darwin_own)
# The system's thread-local variables use the heap, and its lazy pointers take the loader's lock. Hooks must not use
# either; nor must the sampler while a thread is suspended.
darwin_flags  = --target=$(darwin_target_$1) -std=c11 -O2 -fPIC -fno-blocks -fvisibility=hidden \
                -fno-omit-frame-pointer -fno-stack-protector -femulated-tls -fno-plt \
                -mllvm -aarch64-enable-nonlazybind -Wall -Wextra -Werror -Wvla -Wshadow -nostdlibinc -I. \
                -DSTROBE_VERSION='"$(VERSION)"' -isystem $(darwin)/include \
                -isystem engine/backend/sdk/mach/include -MMD -MP
darwin_libs  := $(darwin_platforms:%=$B/darwin/%/libstrobe.dylib)
sources      += $(darwin_own)

darwin: $(darwin_libs) ## the capture half as a library for iOS, its simulator and macOS, for arm64

$B/darwin/libSystem.tbd: $(darwin)/libSystem.syms $(darwin)/tbd | deps-darwin
	@mkdir -p $(@D)
	$(call run,ld)$(darwin)/tbd $< $@

define darwin_rules
$B/darwin/$1/%.o: %.c $B/flags $(darwin)/darwin.mk | deps-darwin
	@mkdir -p $$(@D)
	$$(call run,cc)clang $$(call darwin_flags,$1) -c -o $$@ $$<

$B/darwin/$1/%.o: %.S | deps-darwin
	@mkdir -p $$(@D)
	$$(call run,cc)clang --target=$(darwin_target_$1) -I. -c -o $$@ $$<

$B/darwin/$1/libstrobe.dylib: $(patsubst %.c,$B/darwin/$1/%.o,$(darwin_src)) $B/darwin/libSystem.tbd
	$$(call run,ld)ld64.lld-14 -arch arm64 -platform_version $(darwin_version_$1) -dylib \
	    -install_name @rpath/libstrobe.dylib -current_version $(VERSION) -compatibility_version $(VERSION) \
	    -adhoc_codesign -dead_strip -S -o $$@ $$^
endef
$(foreach platform,$(darwin_platforms),$(eval $(call darwin_rules,$(platform))))

xcframework: $B/Strobe.xcframework/Info.plist ## the libraries for Darwin, with headers and a Swift module

$B/Strobe.xcframework/Info.plist: $(darwin_libs) $(darwin)/xcframework $(wildcard engine/include/strobe/*.h)
	$(call run,xcf)$(darwin)/xcframework $B/darwin engine/include/strobe $B/Strobe.xcframework

.PHONY: darwin xcframework
