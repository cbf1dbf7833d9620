/* Strobe and other tracers in one table. peers.sh runs this program and starts what the tracers need. */
#include "bench/bench.h"
#include "bench/peers/peers.h"

int main(int argc, char **argv)
{
    enum { REPETITIONS = 9 };
    const char *json = argc > 1 ? argv[1] : "peers.json";
    bench_ring_add();
    bench_encode_add();
    peer_lttng_add();
    gbench_run("ring/1|encode/slices|peer", REPETITIONS, 0.05);
    peer_lttng_rows();
    peer_uftrace_rows();
    return bench_table(json) < 0 ? 2 : 0;
}
