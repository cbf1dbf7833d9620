# The program that tests/genuine/run.sh uses. Included by the Makefile.

sources += tests/genuine/make_traces.c

$B/genuine/make_traces: $B/obj/tests/genuine/make_traces.o $(support_obj) $(libs)
	@mkdir -p $(@D)
	$(call run,ld)$(link) -o $@ $^ -lcmocka $(trace_libs)
