# Sets `node`, the command that runs Perfetto's trace processor and other programs of WebAssembly. Suites source it.
#
# node compiles the trace processor: with optimization in three seconds of processor time, with the baseline compiler in
# half a second.
node=(node --liftoff-only)
"${node[@]}" -e 0 2>/dev/null || node=(node)
