// Threads that allocate, lock, read the clock and throw; clean under each sanitizer:  sanitized ROUNDS
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static std::mutex lock;
static std::condition_variable changed;
static uint64_t total;
static int ended;

__attribute__((noinline)) static uint64_t mix_numbers(uint64_t rounds, uint64_t h)
{
    for (uint64_t i = 0; i < rounds; i++)
        h = (h ^ (h >> 29)) * 0xbf58476d1ce4e5b9u + i;
    return h;
}

static void work(int rounds)
{
    for (int i = 0; i < rounds; i++) {
        std::vector<std::string> lines;
        for (int k = 0; k < 20; k++)
            lines.push_back("line " + std::to_string(k * i));
        auto now = std::chrono::steady_clock::now();
        try {
            if (i % 10 == 0)
                throw std::runtime_error(lines[static_cast<size_t>(i) % 20]);
        } catch (const std::exception &e) {
            lines.push_back(e.what());
        }
        uint64_t h = mix_numbers(2000, static_cast<uint64_t>(i)) % 1000;
        std::lock_guard<std::mutex> held(lock);
        total += h + lines.back().size() + (now.time_since_epoch().count() == 0);
    }
    std::lock_guard<std::mutex> held(lock);
    ended++;
    changed.notify_all();
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 100;
    for (int wave = 0; wave < 4; wave++) {
        std::vector<std::thread> threads;
        for (int i = 0; i < 4; i++)
            threads.emplace_back(work, rounds / 4);
        std::unique_lock<std::mutex> held(lock);
        changed.wait(held, [wave] { return ended == 4 * (wave + 1); });
        held.unlock();
        for (std::thread &thread : threads)
            thread.join();
    }
    printf("%llu\n", static_cast<unsigned long long>(total));
    return 5;
}
