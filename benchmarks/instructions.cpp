// What an operation costs in instructions, beside what one would write by hand. instructions.sh runs this under callgrind,
// which counts from one client request to the next:
//
//     start counting ─► operation, called through a pointer ─► dump "case/allocate"          once for every operation
//
// The call itself is in the count, and is what functions that return at once cost ("empty/case/allocate"): subtracted, the
// operation's own instructions are left. Without an argument all cases run; with one, those whose names contain it.
#include <allot/allot.hpp>
#include <allot/plan.hpp>

#include <boost/pool/simple_segregated_storage.hpp>
#include <valgrind/callgrind.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <memory_resource>
#include <string>
#include <vector>

namespace {

using namespace allot::literals;

constexpr std::size_t capacity = 256_KiB;
constexpr std::size_t slot = 64, slots = capacity / slot;
constexpr std::size_t any_size[] = {16, 24, 40, 64, 8, 100, 32, 48}, one_size[] = {slot},
                      up_to_slot[] = {16, 24, 40, 64, 8, 56, 32, 48};

// ── counting ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/// What is handed from allocate to deallocate: a pointer (or an offset), and a ticket if there is one.
template <class Ticket>
struct block {
    void* pointer;
    Ticket ticket;
};

template <class Block>
struct operations {
    Block (*allocate)(void*, std::size_t);
    void (*deallocate)(void*, Block, std::size_t);
};

template <class Block>
constexpr operations<Block> empty{
    [](void*, std::size_t) {
        if constexpr (std::same_as<Block, void*>) {
            void* any;
            asm volatile("" : "=r"(any));
            return any;
        } else {
            Block any;
            asm volatile("" : "=r"(any.pointer), "=r"(any.ticket));
            return any;
        }
    },
    [](void*, Block, std::size_t) {}};

/// The same function. The compiler does not know which, so that it is compiled once, apart from all that call it.
template <class Function>
Function* unknown(Function* function) {
    asm volatile("" : "+r"(function));
    return function;
}

/// The case in which a State allocates and deallocates.
template <class State>
auto operations_of() {
    using handed = decltype(std::declval<State&>().allocate(slot));
    return operations<handed>{
        unknown(+[](void* state, std::size_t size) { return static_cast<State*>(state)->allocate(size); }),
        unknown(+[](void* state, handed held, std::size_t size) {
            if constexpr (requires(State s) { s.deallocate(held, size); }) static_cast<State*>(state)->deallocate(held, size);
        })};
}

/// Runs one operation, and has what it executed counted under a name.
template <class Block>
Block count_allocate(const std::string& name, const operations<Block>& operation, void* state, std::size_t size) {
    CALLGRIND_ZERO_STATS;
    const Block given = operation.allocate(state, size);
    CALLGRIND_DUMP_STATS_AT(name.c_str());
    return given;
}
template <class Block>
void count_deallocate(const std::string& name, const operations<Block>& operation, void* state, std::size_t size, Block held) {
    CALLGRIND_ZERO_STATS;
    operation.deallocate(state, held, size);
    CALLGRIND_DUMP_STATS_AT(name.c_str());
}

template <class Block>
void count_empty(const std::string& name, void* state) {
    const Block given = unknown(count_allocate<Block>)("empty/" + name + "/allocate", empty<Block>, state, slot);
    unknown(count_deallocate<Block>)("empty/" + name + "/deallocate", empty<Block>, state, slot, given);
}

/// Random, and the same everywhere.
struct sequence {
    std::uint64_t state = 1;
    std::size_t below(std::size_t n) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        return static_cast<std::size_t>(state >> 33) % n;
    }
};

/// The State of the case that runs, always at one place: what an operation costs may depend on how addresses are aligned.
alignas(1_MiB) std::byte room[1_MiB];
template <class State>
auto make_state() {
    static_assert(sizeof(State) <= sizeof(room));
    const auto destroy = [](State* state) { state->~State(); };
    return std::unique_ptr<State, decltype(destroy)>{::new (static_cast<void*>(room)) State};
}

/// Counts the first blocks; then, with `Live` of them, blocks in random order are given back and others taken.
template <class State, std::size_t Live, const auto& Sizes>
void churn(const std::string& name) {
    constexpr std::size_t first = 64, warm_up = 4 * Live, pairs = 256;
    const auto operation = operations_of<State>();
    using handed = decltype(operation.allocate(nullptr, slot));
    struct held {
        handed block;
        std::size_t size;
    };
    const auto state = make_state<State>();
    count_empty<handed>(name, state.get());
    std::vector<held> all;
    while (all.size() != Live) {
        const std::size_t size = Sizes[all.size() % std::size(Sizes)];
        all.push_back({all.size() < first ? unknown(count_allocate<handed>)(name + "/first", operation, state.get(), size)
                                          : operation.allocate(state.get(), size),
                       size});
    }
    sequence random;
    for (std::size_t i = 0; i != warm_up + pairs; ++i) {
        held& out = all[random.below(Live)];
        const std::size_t size = Sizes[random.below(std::size(Sizes))];
        if (i < warm_up) {
            operation.deallocate(state.get(), out.block, out.size);
            out = {operation.allocate(state.get(), size), size};
        } else {
            unknown(count_deallocate<handed>)(name + "/deallocate", operation, state.get(), out.size, out.block);
            out = {unknown(count_allocate<handed>)(name + "/allocate", operation, state.get(), size), size};
        }
    }
}

/// Blocks are only taken.
template <class State>
void frame(const std::string& name) {
    const auto operation = operations_of<State>();
    using handed = decltype(operation.allocate(nullptr, slot));
    const auto state = make_state<State>();
    count_empty<handed>(name, state.get());
    for (std::size_t i = 0; i != 512; ++i)
        unknown(count_allocate<handed>)(name + "/allocate", operation, state.get(), any_size[i % std::size(any_size)]);
}

// ── blocks one after the other, sizes from a table, aligned to 16 ────────────────────────────────────────────────────

struct bump_by_hand {
    alignas(16) std::byte bytes[capacity];
    std::byte* cursor = bytes + capacity;
    void* allocate(std::size_t size) {
        if (size > static_cast<std::size_t>(cursor - bytes)) return nullptr;
        const auto at = (reinterpret_cast<std::uintptr_t>(cursor) - size) & ~std::uintptr_t{15};
        return cursor = reinterpret_cast<std::byte*>(at);
    }
};

template <class Arena>
struct bump_of_allot {
    Arena arena;
    void* allocate(std::size_t size) { return arena.allocate({size, 16}).address; }
};
using storage = allot::host::static_storage<capacity>;
using bump_down = bump_of_allot<allot::arena<storage, allot::bump<>>>;
using bump_up = bump_of_allot<
    allot::arena<storage, allot::bump<allot::bump_options{.direction = allot::direction::up}>>>;

alignas(4096) std::byte bytes[capacity];

/// The base's alignment is not known to the compiler.
struct bump_over_buffer : bump_of_allot<allot::arena<allot::host::buffer, allot::bump<>>> {
    bump_over_buffer() : bump_of_allot{decltype(arena){allot::host::buffer{bytes}}} {}
};

struct bump_of_pmr {
    std::pmr::monotonic_buffer_resource resource{bytes, capacity, std::pmr::null_memory_resource()};
    void* allocate(std::size_t size) { return resource.allocate(size, 16); }
};

// ── slots in memory that the host can reach ──────────────────────────────────────────────────────────────────────────

struct free_list_by_hand {
    struct node {
        node* next;
    };
    node* free = nullptr;
    free_list_by_hand() {
        for (std::size_t at = 0; at != capacity; at += slot) deallocate(bytes + at, slot);
    }
    void* allocate(std::size_t) {
        node* const taken = free;
        if (taken != nullptr) free = taken->next;
        return taken;
    }
    void deallocate(void* pointer, std::size_t) {
        auto* const given = static_cast<node*>(pointer);
        given->next = free;
        free = given;
    }
};

/// `Size` is 0 where the caller does not know it.
template <std::size_t Size>
struct pool_in_band {
    allot::arena<storage, allot::pool<allot::pool_options{.slot = slot, .store = allot::pool_store::in_band}>> arena;
    void* allocate(std::size_t size) { return arena.allocate({Size == 0 ? size : Size, 16}).address; }
    void deallocate(void* pointer, std::size_t size) { arena.deallocate({pointer, Size == 0 ? size : Size}); }
};

struct pool_of_boost {
    boost::simple_segregated_storage<std::size_t> free;
    pool_of_boost() { free.add_block(bytes, capacity, slot); }
    void* allocate(std::size_t) { return free.empty() ? nullptr : (free.malloc)(); }
    void deallocate(void* pointer, std::size_t) { (free.free)(pointer); }
};

struct pool_of_pmr {
    std::pmr::unsynchronized_pool_resource resource;
    void* allocate(std::size_t) { return resource.allocate(slot, 16); }
    void deallocate(void* pointer, std::size_t) { resource.deallocate(pointer, slot, 16); }
};

// ── slots beside the memory: offsets ─────────────────────────────────────────────────────────────────────────────────

/// Gives indices multiplied by the slot's size.
struct index_stack_by_hand {
    std::size_t count = slots;
    std::uint16_t free[slots];
    index_stack_by_hand() {
        for (std::size_t i = 0; i != slots; ++i) free[i] = static_cast<std::uint16_t>(slots - 1 - i);
    }
    void* allocate(std::size_t) {
        return reinterpret_cast<void*>(count == 0 ? ~std::size_t{0} : free[--count] * slot);
    }
    void deallocate(void* at, std::size_t) {
        free[count++] = static_cast<std::uint16_t>(reinterpret_cast<std::uintptr_t>(at) / slot);
    }
};

/// The lowest free slot, from the lowest word that may have one on.
struct bitmap_by_hand {
    std::size_t hint = 0;
    std::uint64_t words[slots / 64];
    bitmap_by_hand() { std::fill(std::begin(words), std::end(words), ~std::uint64_t{0}); }
    void* allocate(std::size_t) {
        for (std::size_t i = hint; i != slots / 64; ++i) {
            if (words[i] == 0) continue;
            const std::size_t index = i * 64 + static_cast<std::size_t>(__builtin_ctzll(words[i]));
            words[i] &= words[i] - 1;
            hint = i;
            return reinterpret_cast<void*>(index * slot);
        }
        return reinterpret_cast<void*>(~std::size_t{0});
    }
    void deallocate(void* at, std::size_t) {
        const std::size_t index = reinterpret_cast<std::uintptr_t>(at) / slot;
        words[index / 64] |= std::uint64_t{1} << index % 64;
        if (index / 64 < hint) hint = index / 64;
    }
};

template <allot::pool_store Store>
struct pool_beside {
    using pool = allot::pool<allot::pool_options{.slot = slot, .count = slots, .store = Store}>;
    pool strategy;
    pool_beside() { static_cast<void>(strategy.insert({0, capacity})); }
    void* allocate(std::size_t) { return reinterpret_cast<void*>(strategy.allocate({slot, 16}).where.offset); }
    void deallocate(void* at, std::size_t) { strategy.deallocate({{reinterpret_cast<std::uintptr_t>(at), slot}, {}}); }
};

// ── blocks of any size ───────────────────────────────────────────────────────────────────────────────────────────────

struct of_malloc {
    void* allocate(std::size_t size) { return std::malloc(size); }
    void deallocate(void* pointer, std::size_t) { std::free(pointer); }
};

template <allot::node_store Store>
struct best_fit {
    using arena_type = allot::arena<storage, allot::best_fit<allot::best_fit_options{
                                             .store = Store, .records = Store == allot::node_store::in_band ? 0 : 8192}>>;
    using ticket = typename arena_type::ticket_type;
    arena_type arena;
    auto allocate(std::size_t size) {
        const auto given = arena.allocate({size, 16});
        if constexpr (std::is_empty_v<ticket>) return given.address;
        else return block<ticket>{given.address, given.ticket};
    }
    template <class Handed>
    void deallocate(Handed held, std::size_t size) {
        if constexpr (std::is_empty_v<ticket>) arena.deallocate({held, size});
        else arena.deallocate({held.pointer, size, held.ticket});
    }
};
using best_fit_in_band = best_fit<allot::node_store::in_band>;
using best_fit_beside = best_fit<allot::node_store::side_table>;

// ── blocks of a plan ─────────────────────────────────────────────────────────────────────────────────────────────────

constexpr allot::plan_buffer buffers[] = {{.size = 100, .live = {0, 2}}, {.size = 200, .live = {1, 3}}};
constexpr auto planned = allot::plan<buffers>();

struct plan_of_compiler {
    allot::arena<storage, allot::planned<planned>> arena;
    void* allocate(std::size_t) { return arena.at<1>().address; }
};

struct {
    std::string name;
    void (*run)(const std::string&);
} const cases[] = {
    {"bump/by_hand", frame<bump_by_hand>},
    {"bump/allot", frame<bump_down>},
    {"bump/allot_upward", frame<bump_up>},
    {"bump/allot_over_a_buffer", frame<bump_over_buffer>},
    {"bump/std_pmr_monotonic", frame<bump_of_pmr>},
    {"pool/by_hand", churn<free_list_by_hand, slots * 7 / 8, one_size>},
    {"pool/allot", churn<pool_in_band<slot>, slots * 7 / 8, one_size>},
    {"pool/allot_any_size", churn<pool_in_band<0>, slots * 7 / 8, up_to_slot>},
    {"pool/boost_simple_segregated_storage", churn<pool_of_boost, slots * 7 / 8, one_size>},
    {"pool/std_pmr_unsynchronized", churn<pool_of_pmr, slots * 7 / 8, one_size>},
    {"index_stack/by_hand", churn<index_stack_by_hand, slots * 7 / 8, one_size>},
    {"index_stack/allot", churn<pool_beside<allot::pool_store::index_stack>, slots * 7 / 8, one_size>},
    {"bitmap/by_hand", churn<bitmap_by_hand, slots * 7 / 8, one_size>},
    {"bitmap/allot", churn<pool_beside<allot::pool_store::bitmap>, slots * 7 / 8, one_size>},
    {"bitmap_1_in_8/by_hand", churn<bitmap_by_hand, slots / 8, one_size>},
    {"bitmap_1_in_8/allot", churn<pool_beside<allot::pool_store::bitmap>, slots / 8, one_size>},
    {"best_fit/malloc", churn<of_malloc, 1024, any_size>},
    {"best_fit/allot_in_band", churn<best_fit_in_band, 1024, any_size>},
    {"best_fit/allot_side_table", churn<best_fit_beside, 1024, any_size>},
    {"best_fit_exact/malloc", churn<of_malloc, 1024, one_size>},
    {"best_fit_exact/allot_in_band", churn<best_fit_in_band, 1024, one_size>},
    {"best_fit_exact/allot_side_table", churn<best_fit_beside, 1024, one_size>},
    {"planned/allot", frame<plan_of_compiler>},
};

}  // namespace

int main(int argc, char** argv) {
    for (const auto& each : cases) {
        if (argc == 1 || each.name.find(argv[1]) != std::string::npos) each.run(each.name);
    }
}
