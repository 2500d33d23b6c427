// SPDX-License-Identifier: BSL-1.0
// Slots of one size.
#include "instructions.hpp"

#include <allot/strategy/page_tree.hpp>
#include <allot/strategy/pool.hpp>

#include <boost/pool/simple_segregated_storage.hpp>

#include <algorithm>
#include <memory_resource>

namespace {

using namespace counting;

// ── slots in host-accessible memory ────────────────────────────────────────────────────────────────────────────────

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

/// `Size` is 0 if the size is known only at run time.
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

// ── side tables: offsets ─────────────────────────────────────────────────────────────────────────────────────────────

/// Returns indices multiplied by the slot's size.
struct index_stack_by_hand {
    std::size_t count = slots;
    std::uint16_t free[slots];
    index_stack_by_hand() {
        for (std::size_t i = 0; i != slots; ++i) free[i] = static_cast<std::uint16_t>(slots - 1 - i);
    }
    void* allocate(std::size_t) { return reinterpret_cast<void*>(count == 0 ? ~std::size_t{0} : free[--count] * slot); }
    void deallocate(void* at, std::size_t) {
        free[count++] = static_cast<std::uint16_t>(reinterpret_cast<std::uintptr_t>(at) / slot);
    }
};

/// Returns the lowest free slot; starts at the lowest word that may have one.
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

/// The same for at most 64 slots.
struct word_by_hand {
    std::uint64_t free = ~std::uint64_t{0};
    void* allocate(std::size_t) {
        if (free == 0) return reinterpret_cast<void*>(~std::size_t{0});
        const auto index = static_cast<std::size_t>(__builtin_ctzll(free));
        free &= free - 1;
        return reinterpret_cast<void*>(index * slot);
    }
    void deallocate(void* at, std::size_t) { free |= std::uint64_t{1} << reinterpret_cast<std::uintptr_t>(at) / slot; }
};
struct word_of_allot {
    allot::pool<allot::pool_options{.slot = slot, .count = 64, .store = allot::pool_store::bitmap}> strategy;
    word_of_allot() { static_cast<void>(strategy.insert({0, 64 * slot})); }
    void* allocate(std::size_t) { return reinterpret_cast<void*>(strategy.allocate({slot, 16}).where.offset); }
    void deallocate(void* at, std::size_t) { strategy.deallocate({{reinterpret_cast<std::uintptr_t>(at), slot}, {}}); }
};

template <class Strategy>
struct pages_beside {
    Strategy strategy;
    pages_beside() { static_cast<void>(strategy.insert({0, capacity})); }
    void* allocate(std::size_t) { return reinterpret_cast<void*>(strategy.allocate({slot, 16}).where.offset); }
    void deallocate(void* at, std::size_t) { strategy.deallocate({{reinterpret_cast<std::uintptr_t>(at), slot}, {}}); }
};

template <allot::pool_store Store>
using pool_beside = pages_beside<allot::pool<allot::pool_options{.slot = slot, .count = slots, .store = Store}>>;
using pool_for_bursts = pages_beside<
    allot::pool<allot::pool_options{.slot = slot, .count = slots, .store = allot::pool_store::bitmap, .recent = 8}>>;
struct one_processor {  // independent of the address of the stack, so that the count is the same in every run
    std::size_t operator()() const noexcept { return 0; }
};
using tree_of_pages =
    pages_beside<allot::page_tree<allot::page_tree_options{.page = slot, .count = slots}, std::size_t, one_processor>>;

}  // namespace

std::vector<instructions_case> pool_cases() {
    return {
        {"pool/by_hand", churn<free_list_by_hand, slots * 7 / 8, one_size>},
        {"pool/allot", churn<pool_in_band<slot>, slots * 7 / 8, one_size>},
        {"pool/allot_any_size", churn<pool_in_band<0>, slots * 7 / 8, up_to_slot>},
        {"pool/boost_simple_segregated_storage", churn<pool_of_boost, slots * 7 / 8, one_size>},
        {"pool/std_pmr_unsynchronized", churn<pool_of_pmr, slots * 7 / 8, one_size>},
        {"index_stack/by_hand", churn<index_stack_by_hand, slots * 7 / 8, one_size>},
        {"index_stack/allot", churn<pool_beside<allot::pool_store::index_stack>, slots * 7 / 8, one_size>},
        {"bitmap_of_64/by_hand", churn<word_by_hand, 48, one_size>},
        {"bitmap_of_64/allot", churn<word_of_allot, 48, one_size>},
        {"bitmap_7_in_8/by_hand", churn<bitmap_by_hand, slots * 7 / 8, one_size>},
        {"bitmap_7_in_8/allot", churn<pool_beside<allot::pool_store::bitmap>, slots * 7 / 8, one_size>},
        {"bitmap_1_in_2/by_hand", churn<bitmap_by_hand, slots / 2, one_size>},
        {"bitmap_1_in_2/allot", churn<pool_beside<allot::pool_store::bitmap>, slots / 2, one_size>},
        {"bitmap_1_in_8/by_hand", churn<bitmap_by_hand, slots / 8, one_size>},
        {"bitmap_1_in_8/allot", churn<pool_beside<allot::pool_store::bitmap>, slots / 8, one_size>},
        {"bitmap_7_in_8_bursts/by_hand", churn_in_bursts<bitmap_by_hand, slots * 7 / 8, 8>},
        {"bitmap_7_in_8_bursts/allot", churn_in_bursts<pool_for_bursts, slots * 7 / 8, 8>},
        {"bitmap_1_in_8_bursts/by_hand", churn_in_bursts<bitmap_by_hand, slots / 8, 8>},
        {"bitmap_1_in_8_bursts/allot", churn_in_bursts<pool_for_bursts, slots / 8, 8>},
        {"atomic_bitmap_7_in_8/allot", churn<pool_beside<allot::pool_store::atomic_bitmap>, slots * 7 / 8, one_size>},
        {"page_tree_7_in_8/allot", churn<tree_of_pages, slots * 7 / 8, one_size>},
        {"page_tree_1_in_8/allot", churn<tree_of_pages, slots / 8, one_size>},
    };
}
