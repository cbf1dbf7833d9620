// Exceptions through several frames, in four threads, with containers between them:  exceptions ROUNDS
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#define HOT __attribute__((noinline))

HOT static uint64_t mix_numbers(uint64_t rounds, uint64_t h)
{
    for (uint64_t i = 0; i < rounds; i++)
        h = (h ^ (h >> 29)) * 0xbf58476d1ce4e5b9u + i;
    return h;
}

struct Guard {
    explicit Guard(uint64_t *c) : count(c) {}
    ~Guard()
    {
        ++*count;
    }
    uint64_t *count;
};

HOT static void dive(int depth, uint64_t *unwound)
{
    Guard guard(unwound);
    if (depth == 0)
        throw std::runtime_error("thrown " + std::to_string(*unwound % 10));
    dive(depth - 1, unwound);
}

HOT static uint64_t count_words(int seed)
{
    std::map<std::string, int> words;
    for (int i = 0; i < 300; i++)
        words["word " + std::to_string((i * 31 + seed) % 97)]++;
    return words.size();
}

static void work(int rounds, uint64_t *result)
{
    uint64_t unwound = 0, sum = 0;
    for (int i = 0; i < rounds; i++) {
        try {
            dive(i % 20, &unwound);
        } catch (const std::exception &e) {
            sum += std::string(e.what()).size() + static_cast<unsigned char>(e.what()[7]);
        }
        sum += mix_numbers(4000, static_cast<uint64_t>(i)) % 1000 + count_words(i);
    }
    *result = sum + unwound;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 100;
    uint64_t results[4];
    std::vector<std::thread> threads;
    for (uint64_t &result : results)
        threads.emplace_back(work, rounds, &result);
    for (std::thread &thread : threads)
        thread.join();
    for (uint64_t result : results)
        printf("%llu\n", static_cast<unsigned long long>(result));
    return 7;
}
