#include "bench/gbench.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

struct gbench_state {
    benchmark::State &library;
    int64_t batch;
};

namespace
{

struct result {
    gbench_clock clock;
    std::vector<double> ns;
    std::map<std::string, double> counters;
    std::string reason;
};

std::map<std::string, result> results;

class collector : public benchmark::BenchmarkReporter
{
  public:
    bool ReportContext(const Context &) override
    {
        return true;
    }

    void ReportRuns(const std::vector<Run> &runs) override
    {
        for (const Run &run : runs) {
            result &r = results[run.run_name.function_name];
            if (run.error_occurred)
                r.reason = run.error_message;
            else if (run.run_type == Run::RT_Iteration)
                take(r, run);
        }
    }

  private:
    static void take(result &r, const Run &run)
    {
        r.ns.push_back(r.clock == GBENCH_CPU ? run.GetAdjustedCPUTime() : run.GetAdjustedRealTime());
        for (const auto &c : run.counters)
            r.counters[c.first] = c.second.value;
    }
};

double median(std::vector<double> v)
{
    if (v.empty())
        return NAN;
    std::sort(v.begin(), v.end());
    const size_t half = v.size() / 2;
    return v.size() % 2 ? v[half] : (v[half - 1] + v[half]) / 2;
}

} // namespace

void gbench_add(const gbench_spec *spec)
{
    const gbench_spec s = *spec;
    const int64_t batch = s.batch > 0 ? s.batch : 1;
    results[s.name].clock = s.clock;
    auto *b = benchmark::RegisterBenchmark(s.name, [s, batch](benchmark::State &library) {
        gbench_state state = {library, batch};
        s.run(&state, s.arg);
    });
    b->Unit(benchmark::kNanosecond);
    if (s.threads > 1)
        b->Threads(s.threads);
    if (s.turns > 0)
        b->Iterations(s.turns * batch);
    if (s.clock == GBENCH_MANUAL)
        b->UseManualTime();
    else if (s.clock == GBENCH_WALL)
        b->UseRealTime();
}

bool gbench_loop(gbench_state *state)
{
    return state->batch == 1 ? state->library.KeepRunning() : state->library.KeepRunningBatch(state->batch);
}

int gbench_thread(const gbench_state *state)
{
    return state->library.thread_index();
}

void gbench_pause(gbench_state *state)
{
    state->library.PauseTiming();
}

void gbench_resume(gbench_state *state)
{
    state->library.ResumeTiming();
}

void gbench_elapsed(gbench_state *state, double seconds)
{
    state->library.SetIterationTime(seconds);
}

void gbench_counter(gbench_state *state, const char *name, double value)
{
    state->library.counters[name] = value;
}

void gbench_give_up(gbench_state *state, const char *why)
{
    state->library.SkipWithError(why);
}

int gbench_run(const char *filter, int repetitions, double min_time_s)
{
    std::string program = "bench";
    std::string interleave = "--benchmark_enable_random_interleaving=true";
    std::string repeat = "--benchmark_repetitions=" + std::to_string(repetitions);
    std::string least = "--benchmark_min_time=" + std::to_string(min_time_s);
    char *argv[] = {&program[0], &interleave[0], &repeat[0], &least[0], nullptr};
    int argc = 4;
    benchmark::Initialize(&argc, argv);
    collector c;
    return static_cast<int>(benchmark::RunSpecifiedBenchmarks(&c, filter ? filter : "all"));
}

double gbench_median_ns(const char *name)
{
    const auto it = results.find(name);
    return it == results.end() || !it->second.reason.empty() ? NAN : median(it->second.ns);
}

double gbench_counter_of(const char *name, const char *counter)
{
    const auto it = results.find(name);
    if (it == results.end())
        return NAN;
    const auto c = it->second.counters.find(counter);
    return c == it->second.counters.end() ? NAN : c->second;
}

const char *gbench_reason(const char *name)
{
    const auto it = results.find(name);
    return it == results.end() || it->second.reason.empty() ? nullptr : it->second.reason.c_str();
}
