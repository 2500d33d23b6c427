// Threads that exchange blocks and check their contents.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

namespace exchanged {

/// Blocks that threads pass to each other.
template <class Block>
class place {
public:
    /// Adds a block, and returns another one, or an empty one if there are few.
    Block swap(const Block& held, std::size_t which) {
        const std::lock_guard alone{lock_};
        held_.push_back(held);
        if (held_.size() < 50) return {};
        std::swap(held_[which % held_.size()], held_.back());
        return pop();
    }
    Block pop() {
        const Block last = held_.back();
        held_.pop_back();
        return last;
    }
    [[nodiscard]] bool is_empty() const { return held_.empty(); }

private:
    std::mutex lock_;
    std::vector<Block> held_;
};

/// Every byte of a block is its size, so that two owners of a byte see each other. The thread sanitizer reports owners
/// without an order.
template <class Block>
void fill(const Block& held) {
    std::memset(held.address, static_cast<int>(held.size % 251), held.size);
}
template <class Block>
[[nodiscard]] bool is_filled(const Block& held) {
    const auto* const bytes = static_cast<const unsigned char*>(held.address);
    for (std::size_t i = 0; i != held.size; ++i)
        if (bytes[i] != held.size % 251) return false;
    return true;
}

/// Runs threads that allocate, exchange and free blocks through `session(memory)`. Returns whether all were intact.
template <class Shared, class Session>
bool play(Shared& memory, int threads, int steps, Session session) {
    place<typename Shared::block_type> between;
    std::atomic<bool> wrong = false;
    {
        std::vector<std::jthread> running;
        for (int i = 0; i != threads; ++i)
            running.emplace_back([&, i] {
                std::minstd_rand random{static_cast<unsigned>(i) + 1};
                auto&& mine = session(memory);
                for (int step = 0; step != steps; ++step) {
                    const std::size_t size = 1 + random() % (random() % 16 == 0 ? 3000 : 300);
                    const auto fresh = mine.allocate({.size = size});
                    if (!fresh) continue;
                    fill(fresh);
                    const auto other = between.swap(fresh, random());
                    if (!other) continue;
                    if (!is_filled(other)) wrong = true;
                    mine.deallocate(other);
                }
            });
    }
    auto&& rest = session(memory);
    while (!between.is_empty()) {
        const auto held = between.pop();
        if (!is_filled(held)) wrong = true;
        rest.deallocate(held);
    }
    return !wrong;
}

}  // namespace exchanged
