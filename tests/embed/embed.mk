# A program of the suite tests/embed that uses the inside of the capture library. Included by the Makefile.

embed_test_src := tests/embed/interrupted.c
sources        += $(embed_test_src)

$B/embed_interrupted: $(call obj,obj,$(embed_test_src)) $(embed_obj)
	$(call run,ld)$(link) -o $@ $^ $(preload_libs)
tests: $B/embed_interrupted
