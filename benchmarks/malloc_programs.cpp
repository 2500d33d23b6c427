// SPDX-License-Identifier: BSL-1.0
// Programs that call malloc as well-known benchmarks of allocators do. malloc.py runs them with several mallocs.
//
//     malloc_programs NAME      cfrac, larson, xmalloc, mstress, sh6 or sh8
//
// They are written from the descriptions of these benchmarks. Each run makes the same calls. Threads depend on each
// other only through the blocks that they hand over.
#include <array>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

namespace {

constexpr unsigned threads = 2;

class generator {
public:
    explicit generator(std::uint64_t seed) noexcept : state_{seed * 0x9E3779B97F4A7C15U + 1} {}
    /// Returns a number below `end`.
    std::size_t below(std::size_t end) noexcept {
        state_ ^= state_ << 13U;
        state_ ^= state_ >> 7U;
        state_ ^= state_ << 17U;
        return static_cast<std::size_t>(state_ >> 16U) % end;
    }

private:
    std::uint64_t state_;
};

/// Allocates a block and writes to its first and last bytes.
char* new_block(std::size_t size) {
    auto* const block = static_cast<char*>(std::malloc(size));
    if (block == nullptr) std::abort();
    block[0] = block[size - 1] = 1;
    return block;
}

template <class Run>
void in_threads(unsigned count, Run run) {
    std::vector<std::thread> all;
    for (unsigned i = 0; i != count; ++i) all.emplace_back([&run, i] { run(i); });
    for (std::thread& each : all) each.join();
}

// ── cfrac: the continued fraction of a square root. Each number is a block, and is freed with its last use. ──────────

/// A number on the heap with the bytes that it needs, as in packages for numbers of any length.
class number {
    __extension__ using wide = unsigned __int128;
    struct body {
        std::uint32_t uses, length;
        unsigned char bytes[16];
    };

public:
    explicit number(wide value) {
        std::uint32_t length = 0;
        for (wide rest = value; rest != 0; rest >>= 8U) ++length;
        body_ = static_cast<body*>(std::malloc(offsetof(body, bytes) + length));
        if (body_ == nullptr) std::abort();
        body_->uses = 1;
        body_->length = length;
        std::memcpy(body_->bytes, &value, length);
    }
    number(const number& other) noexcept : body_{other.body_} { ++body_->uses; }
    number& operator=(number other) noexcept {
        body* const mine = body_;
        body_ = other.body_;
        other.body_ = mine;
        return *this;
    }
    ~number() {
        if (--body_->uses == 0) std::free(body_);
    }
    friend number operator+(const number& a, const number& b) { return number{a.value() + b.value()}; }
    friend number operator-(const number& a, const number& b) { return number{a.value() - b.value()}; }
    friend number operator*(const number& a, const number& b) { return number{a.value() * b.value()}; }
    friend number operator/(const number& a, const number& b) { return number{a.value() / b.value()}; }
    friend number operator%(const number& a, const number& b) { return number{a.value() % b.value()}; }
    [[nodiscard]] bool is_zero() const noexcept { return body_->length == 0; }
    [[nodiscard]] unsigned low() const noexcept { return static_cast<unsigned>(value()); }

private:
    [[nodiscard]] wide value() const noexcept {
        wide result = 0;
        std::memcpy(&result, body_->bytes, body_->length);
        return result;
    }
    body* body_;
};

/// Divides by the small primes as often as possible. Returns whether that leaves 1.
bool is_smooth(number rest, const std::vector<number>& primes) {
    for (const number& prime : primes)
        while ((rest % prime).is_zero()) rest = rest / prime;
    return (rest - number{1}).is_zero();
}

unsigned cfrac() {
    std::vector<number> primes;
    for (unsigned i : {2U, 3U, 5U, 7U, 11U, 13U, 17U, 19U, 23U, 29U, 31U, 37U, 41U, 43U}) primes.emplace_back(i);
    const std::uint64_t product = 1'000'000'007ULL * 998'244'353ULL;
    const number n{product};
    const number root{static_cast<std::uint64_t>(std::sqrt(static_cast<double>(product)))};
    number p{0}, q{1}, a = root, before{1}, last = root;
    std::vector<number> relations;
    for (unsigned i = 0; i != 700'000; ++i) {
        p = a * q - p;
        q = (n - p * p) / q;
        if (is_smooth(q, primes)) relations.push_back(last);
        a = (root + p) / q;
        const number next = (a * last + before) % n;
        before = last;
        last = next;
    }
    return relations.back().low();
}

// ── larson: each thread replaces random blocks of its array, and a new thread takes the array over ───────────────────

struct server {
    static constexpr std::size_t slots = 1000, steps = 20'000;
    static constexpr unsigned generations = 500;
    std::array<char*, slots> blocks{};
    generator random;
    unsigned left = generations;
    std::mutex lock;
    std::condition_variable ended;

    explicit server(unsigned seed) : random{seed} {
        for (char*& each : blocks) each = new_block(size());
    }
    ~server() {
        for (char* const each : blocks) std::free(each);
    }
    server(const server&) = delete;
    server& operator=(const server&) = delete;

    std::size_t size() { return 10 + random.below(491); }
    void run() {
        for (std::size_t i = 0; i != steps; ++i) {
            char*& one = blocks[random.below(slots)];
            std::free(one);
            one = new_block(size());
        }
        if (--left != 0) {
            std::thread{[this] { run(); }}.detach();
            return;
        }
        const std::lock_guard held{lock};
        ended.notify_one();
    }
    void wait() {
        std::unique_lock held{lock};
        ended.wait(held, [this] { return left == 0; });
    }
};

unsigned larson() {
    in_threads(threads, [](unsigned id) {
        server one{id + 1};
        std::thread{[&one] { one.run(); }}.detach();
        one.wait();
    });
    return 0;
}

// ── xmalloc: one half of the threads allocates, and the other half frees ─────────────────────────────────────────────

struct channel {
    using batch = std::array<char*, 120>;
    std::mutex lock;
    std::condition_variable changed;
    std::vector<batch*> waiting;

    void put(batch* full) {
        std::unique_lock held{lock};
        changed.wait(held, [this] { return waiting.size() < 64; });
        waiting.push_back(full);
        changed.notify_all();
    }
    batch* take() {
        std::unique_lock held{lock};
        changed.wait(held, [this] { return !waiting.empty(); });
        batch* const full = waiting.back();
        waiting.pop_back();
        changed.notify_all();
        return full;
    }
};

unsigned xmalloc() {
    channel between;
    in_threads(2 * threads, [&](unsigned id) {
        generator random{id + 1};
        for (unsigned i = 0; i != 50'000; ++i) {
            if (id % 2 == 0) {
                auto* const fresh = static_cast<channel::batch*>(std::malloc(sizeof(channel::batch)));
                if (fresh == nullptr) std::abort();
                for (char*& each : *fresh) each = new_block(8 << random.below(6));
                between.put(fresh);
            } else {
                channel::batch* const full = between.take();
                for (char* const each : *full) std::free(each);
                std::free(full);
            }
        }
    });
    return 0;
}

// ── mstress: blocks of all sizes, of which some stay, and some move to other threads ─────────────────────────────────

std::size_t mixed_size(generator& random) {
    const std::size_t kind = random.below(1000);
    if (kind == 0) return 100'000 + random.below(300'000);
    if (kind < 10) return 4'000 + random.below(28'000);
    return 8 * (1 + random.below(kind < 100 ? 200 : 20));
}

/// A block with its size and a pattern in its words.
std::uintptr_t* new_words(generator& random) {
    const std::size_t count = mixed_size(random) / sizeof(std::uintptr_t) + 1;
    auto* const words = static_cast<std::uintptr_t*>(std::calloc(count, sizeof(std::uintptr_t)));
    if (words == nullptr) std::abort();
    words[0] = count;
    for (std::size_t i = 1; i < count; ++i) words[i] = count - i;
    return words;
}
void free_words(std::uintptr_t* words) {
    if (words == nullptr) return;
    for (std::size_t i = 1; i < words[0]; ++i)
        if (words[i] != words[0] - i) std::abort();
    std::free(words);
}

unsigned mstress() {
    std::vector<std::atomic<std::uintptr_t*>> transfer(1000);
    for (unsigned round = 0; round != 60; ++round)
        in_threads(2 * threads, [&](unsigned id) {
            generator random{100 * round + id + 1};
            std::vector<std::uintptr_t*> some, kept;
            for (unsigned left = 12'000; left != 0; --left) {
                (random.below(4) == 0 ? kept : some).push_back(new_words(random));
                if (random.below(3) == 0 && !some.empty()) {
                    std::uintptr_t*& one = some[random.below(some.size())];
                    free_words(one);
                    one = nullptr;
                }
                if (random.below(4) == 0 && !some.empty()) {
                    std::uintptr_t*& one = some[random.below(some.size())];
                    one = transfer[random.below(transfer.size())].exchange(one);
                }
            }
            for (std::uintptr_t* const each : some) free_words(each);
            for (std::uintptr_t* const each : kept) free_words(each);
        });
    for (auto& each : transfer) free_words(each.load());
    return 0;
}

// ── sh6 and sh8: batches of each size, freed in the order of allocation and in reverse; sh8 in other threads ─────────

/// Allocates blocks of all sizes up to 1,000 bytes, many of the small ones. Frees those of earlier batches, some from the
/// front and some from the back. A block that remains is stored in the slot of a later batch.
void batches(unsigned rounds, std::vector<std::atomic<char*>>& slots, unsigned id) {
    generator random{id + 1};
    std::vector<char*> batch;
    for (unsigned round = 0; round != rounds; ++round) {
        for (std::size_t size = 1; size <= 1000; size += size < 100 ? 1 : 37)
            for (std::size_t count = size < 100 ? 12 : 2; count != 0; --count) batch.push_back(new_block(size));
        for (std::size_t i = 0; i < batch.size(); i += 7)  // every seventh block takes the place of an older one
            batch[i] = slots[random.below(slots.size())].exchange(batch[i]);
        const std::size_t half = batch.size() / 2;
        for (std::size_t i = 0; i != half; ++i) std::free(batch[i]);
        while (batch.size() > half) {
            std::free(batch.back());
            batch.pop_back();
        }
        batch.clear();
    }
}

unsigned sh(unsigned count) {
    std::vector<std::atomic<char*>> slots(40'000);
    in_threads(count, [&](unsigned id) { batches(count == 1 ? 15'000 : 6'000, slots, id); });
    for (auto& each : slots) std::free(each.load());
    return 0;
}

}  // namespace

int main(int count, char** arguments) {
    const std::string_view name = count == 2 ? arguments[1] : "";
    if (name == "cfrac") std::printf("%u\n", cfrac());
    else if (name == "larson") larson();
    else if (name == "xmalloc") xmalloc();
    else if (name == "mstress") mstress();
    else if (name == "sh6") sh(1);
    else if (name == "sh8") sh(2 * threads);
    else {
        std::fputs("usage: malloc_programs cfrac|larson|xmalloc|mstress|sh6|sh8\n", stderr);
        return 2;
    }
}
