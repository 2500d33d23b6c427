// What an operation costs in instructions, beside the loop that one would write by hand: instructions CASE COUNT runs
// one case so many times, for instructions.sh to count under callgrind. Sizes are read from a table, so that nothing is
// known to the compiler that a caller would not tell it.
#include <allot/allot.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory_resource>
#include <string_view>

namespace {

using namespace allot::literals;

constexpr std::size_t capacity = 64_KiB;
constexpr std::size_t sizes[8] = {16, 24, 40, 64, 8, 100, 32, 48};
constexpr std::size_t per_frame = 256;  // allocations between two resets

alignas(4096) std::byte bytes[capacity];

/// Keeps the compiler from dropping or merging what leads to `pointer`.
void use(void* pointer) { asm volatile("" : : "r"(pointer) : "memory"); }

/// `count` allocations, in frames that are dropped at once.
template <class Allocate, class Reset>
void frames(std::size_t count, Allocate allocate, Reset reset) {
    for (std::size_t i = 0; i != count; ++i) {
        if (i % per_frame == 0) reset();
        use(allocate(sizes[i % 8]));
    }
}

/// `count` pairs of allocate and deallocate, 64 blocks live.
template <class Allocate, class Deallocate>
void churn(std::size_t count, Allocate allocate, Deallocate deallocate) {
    decltype(allocate(std::size_t{8})) live[64]{};
    for (std::size_t i = 0; i != count; ++i) {
        auto& slot = live[i * 37 % 64];
        if (i >= 64) deallocate(slot);
        slot = allocate(sizes[i % 8]);
        asm volatile("" : : "m"(slot) : "memory");
    }
}

void bump_by_hand(std::size_t count) {
    std::byte* cursor = bytes + capacity;
    frames(
        count,
        [&](std::size_t size) -> void* {
            if (size > static_cast<std::size_t>(cursor - bytes)) return nullptr;
            auto at = (reinterpret_cast<std::uintptr_t>(cursor) - size) & ~std::uintptr_t{15};
            if (at < reinterpret_cast<std::uintptr_t>(bytes)) return nullptr;
            return cursor = reinterpret_cast<std::byte*>(at);
        },
        [&] { cursor = bytes + capacity; });
}

void bump_of_allot(std::size_t count) {
    allot::arena<allot::host::buffer, allot::bump<>> arena{allot::host::buffer{bytes}};
    frames(
        count, [&](std::size_t size) { return arena.allocate({size, 16}).address; }, [&] { arena.reset(); });
}

void bump_of_pmr(std::size_t count) {
    std::pmr::monotonic_buffer_resource resource{bytes, capacity, std::pmr::null_memory_resource()};
    frames(
        count, [&](std::size_t size) { return resource.allocate(size, 16); }, [&] { resource.release(); });
}

void pool_by_hand(std::size_t count) {
    struct slot {
        slot* next;
    };
    slot* free = nullptr;
    for (std::size_t at = 0; at + 128 <= capacity; at += 128) {
        auto* const fresh = reinterpret_cast<slot*>(bytes + at);
        fresh->next = free;
        free = fresh;
    }
    churn(
        count,
        [&](std::size_t) -> void* {
            slot* const taken = free;
            if (taken != nullptr) free = taken->next;
            return taken;
        },
        [&](void* pointer) {
            auto* const given = static_cast<slot*>(pointer);
            given->next = free;
            free = given;
        });
}

template <allot::pool_store Store>
void pool_of_allot(std::size_t count) {
    using pool = allot::pool<allot::pool_options{.slot = 128, .count = 512, .store = Store}>;
    allot::arena<allot::host::buffer, pool> arena{allot::host::buffer{bytes}};
    churn(
        count, [&](std::size_t size) { return arena.allocate({size, 16}); }, [&](auto block) { arena.deallocate(block); });
}

template <allot::node_store Store>
void best_fit_of_allot(std::size_t count) {
    using best_fit = allot::best_fit<allot::best_fit_options{.store = Store}>;
    allot::arena<allot::host::buffer, best_fit> arena{allot::host::buffer{bytes}};
    churn(
        count, [&](std::size_t size) { return arena.allocate({size, 16}); }, [&](auto block) { arena.deallocate(block); });
}

struct malloced {
    void* pointer;
};
void best_fit_of_malloc(std::size_t count) {
    churn(
        count, [](std::size_t size) { return malloced{std::malloc(size)}; },
        [](malloced block) { std::free(block.pointer); });
}

struct {
    std::string_view name;
    void (*run)(std::size_t);
} const cases[] = {
    {"bump/by_hand", bump_by_hand},
    {"bump/allot", bump_of_allot},
    {"bump/std_pmr_monotonic", bump_of_pmr},
    {"pool/by_hand", pool_by_hand},
    {"pool/allot_in_band", pool_of_allot<allot::pool_store::in_band>},
    {"pool/allot_index_stack", pool_of_allot<allot::pool_store::index_stack>},
    {"pool/allot_bitmap", pool_of_allot<allot::pool_store::bitmap>},
    {"best_fit/malloc", best_fit_of_malloc},
    {"best_fit/allot_in_band", best_fit_of_allot<allot::node_store::in_band>},
    {"best_fit/allot_side_table", best_fit_of_allot<allot::node_store::side_table>},
};

}  // namespace

int main(int argc, char** argv) {
    for (const auto& c : cases) {
        if (argc == 1) std::printf("%.*s\n", static_cast<int>(c.name.size()), c.name.data());
        if (argc == 3 && c.name == argv[1]) {
            c.run(std::strtoull(argv[2], nullptr, 10));
            return 0;
        }
    }
    return argc == 1 ? 0 : 2;
}
