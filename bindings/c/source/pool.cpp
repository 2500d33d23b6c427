// SPDX-License-Identifier: BSL-1.0
// pool: slots of one size, whose indices a page_stack hands out.
#include "counters.hpp"
#include "status.hpp"

#include <allot/page_cache/page_stack.hpp>

namespace {

using namespace allot_c;

constexpr std::uint64_t most_slots = 0xFFFF'FFFD;

}  // namespace

struct allot_pool {
    explicit allot_pool(const own_memory& from) noexcept : memory{from}, words{memory} {}

    [[nodiscard]] allot_status open(const allot_pool_options& wanted) noexcept {
        const std::uint64_t align = wanted.slot_align == 0 ? 16 : wanted.slot_align;
        if (wanted.slot_size == 0) return ALLOT_EMPTY_LAYOUT;
        if (!allot::is_alignment(align)) return ALLOT_BAD_ALIGNMENT;
        if (!allot::checked_align_up(wanted.slot_size, align, stride)) return ALLOT_BAD_RANGE;
        const auto base = reinterpret_cast<std::uintptr_t>(wanted.memory);
        if (wanted.memory != nullptr && wanted.size > std::numeric_limits<std::uintptr_t>::max() - base)
            return ALLOT_BAD_RANGE;
        skipped = (std::uint64_t{0} - base) & (align - 1);
        if (wanted.size < skipped || (wanted.size - skipped) / stride == 0) return ALLOT_BAD_RANGE;
        const std::uint64_t fitting = (wanted.size - skipped) / stride;
        if (fitting > most_slots) return ALLOT_OVER_LIMIT;
        if (!words.create(narrowed(fitting))) return ALLOT_OUT_OF_MEMORY;
        size = wanted.size;
        bytes = static_cast<std::byte*>(wanted.memory);
        reset();
        return ALLOT_OK;
    }
    void reset() noexcept {
        slots = {};
        slots.open(words.span());
        static_cast<void>(slots.insert(all()));  // the words suffice
        count.reset();
    }
    [[nodiscard]] allot::page_stack::extent_type all() const noexcept {
        return {0, static_cast<std::uint32_t>(words.size())};
    }
    [[nodiscard]] std::uint64_t offset_of(std::uint64_t index) const noexcept { return skipped + index * stride; }

    own_memory memory;
    own_array<std::uint32_t> words;
    allot::page_stack slots;
    counters count;
    std::byte* bytes = nullptr;
    std::uint64_t size = 0, stride = 0, skipped = 0;
};

allot_status allot_pool_create(const allot_pool_options* options, allot_pool** made) {
    if (made == nullptr) return ALLOT_NULL_ARGUMENT;
    *made = nullptr;
    allot_pool_options wanted;
    if (const allot_status status = read_struct(options, wanted); status != ALLOT_OK) return status;
    const own_memory memory{wanted.callbacks};
    if (!memory.is_valid()) return ALLOT_NULL_ARGUMENT;
    auto* const pool = make_handle<allot_pool>(memory);
    if (pool == nullptr) return ALLOT_OUT_OF_MEMORY;
    const allot_status status = pool->open(wanted);
    if (status == ALLOT_OK) *made = pool;
    else destroy_handle(pool);
    return status;
}

void allot_pool_destroy(allot_pool* pool) { destroy_handle(pool); }

allot_status allot_pool_allocate(allot_pool* pool, allot_slot* slot) {
    if (slot == nullptr) return ALLOT_NULL_ARGUMENT;
    *slot = {};
    if (pool == nullptr) return ALLOT_NULL_ARGUMENT;
    const auto given = pool->slots.allocate({1, 1});
    if (!given) {
        pool->count.refused();
        return ALLOT_EXHAUSTED;
    }
    pool->count.allocated(pool->stride);
    slot->index = given.where.offset;
    slot->offset = pool->offset_of(slot->index);
    if (pool->bytes != nullptr) slot->address = pool->bytes + slot->offset;
    return ALLOT_OK;
}

allot_status allot_pool_free(allot_pool* pool, uint64_t index) {
    if (pool == nullptr) return ALLOT_NULL_ARGUMENT;
    if (index >= pool->words.size()) return ALLOT_FOREIGN_BLOCK;
    const auto slot = static_cast<std::uint32_t>(index);
    if (!pool->slots.is_used(slot)) return ALLOT_NOT_LIVE;
    pool->count.freed(pool->stride);
    pool->slots.deallocate({{slot, 1}, {}});
    return ALLOT_OK;
}

allot_status allot_pool_reset(allot_pool* pool) {
    if (pool == nullptr) return ALLOT_NULL_ARGUMENT;
    pool->reset();
    return ALLOT_OK;
}

namespace {

/// Returns a function that calls `f` with the bytes of each slot of a walk, at `base`.
template <class Function>
[[nodiscard]] auto in_bytes(const allot_pool& pool, std::uint64_t base, Function f) noexcept {
    return [&pool, base, f](auto slot) mutable {
        f(allot::basic_extent<std::uint64_t>{base + pool.offset_of(slot.offset), pool.stride});
    };
}
[[nodiscard]] allot_statistics statistics_of(const allot_pool& pool) noexcept {
    return pool.count.with_holes(pool.size,
                                 [&](auto f) { pool.slots.for_each_hole(pool.all(), in_bytes(pool, 0, f)); });
}

}  // namespace

allot_status allot_pool_statistics(const allot_pool* pool, allot_statistics* statistics) {
    if (const allot_status status = clear_struct(statistics); status != ALLOT_OK) return status;
    if (pool == nullptr) return ALLOT_NULL_ARGUMENT;
    write_struct(statistics_of(*pool), statistics);
    return ALLOT_OK;
}

allot_status allot_pool_snapshot(const allot_pool* pool, const char* name, allot_write write, void* user) {
    if (pool == nullptr) return ALLOT_NULL_ARGUMENT;
    const std::uint64_t base = reinterpret_cast<std::uintptr_t>(pool->bytes);
    return write_state(
        pool->memory, name, {base, pool->size}, statistics_of(*pool),
        [&](auto f) { pool->slots.for_each_block(pool->all(), in_bytes(*pool, base, f)); },
        [&](auto f) { pool->slots.for_each_hole(pool->all(), in_bytes(*pool, base, f)); }, write, user);
}
