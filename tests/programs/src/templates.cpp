// Something for a compiler to do.
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <regex>
#include <string>
#include <unordered_map>
#include <vector>

template <int N> struct Node {
    std::map<std::string, std::vector<int>> words;
    std::unordered_map<int, std::function<int(int)>> calls;
    int count(const std::string &text)
    {
        for (char c : text)
            words[std::string(1, c)].push_back(N);
        std::sort(words["a"].begin(), words["a"].end(), [](int a, int b) { return (a ^ N) < (b ^ N); });
        calls[N] = [this](int n) { return n + static_cast<int>(words.size()); };
        return calls[N](N) + Node<N - 1>().count(text);
    }
};

template <> struct Node<0> {
    int count(const std::string &text)
    {
        return std::regex_match(text, std::regex("a+b*"));
    }
};

#ifndef DEPTH
#define DEPTH 2
#endif

int count_all(const std::string &text)
{
    return Node<DEPTH>().count(text);
}
