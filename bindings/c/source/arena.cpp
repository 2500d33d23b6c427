// SPDX-License-Identifier: BSL-1.0
// arena: best_fit with records in band, over bytes of the caller.
//
//     memory   │ word │ block │ word │ block │   hole   │
//     starts     0      1       0      1       0          one bit for each two words: whether a block starts there
//
// The bits tell a live block from any other address, without a look at the memory.
#include "counters.hpp"
#include "status.hpp"

#include <allot/strategy/best_fit.hpp>

namespace {

using namespace allot_c;

using strategy = allot::best_fit<allot::best_fit_options{.store = allot::node_store::in_band}>;
constexpr std::size_t granule = 2 * sizeof(std::uintptr_t);  // divides the addresses of all blocks

}  // namespace

struct allot_arena {
    explicit allot_arena(const own_memory& from) noexcept : memory{from}, starts{memory} {}

    [[nodiscard]] allot_status open(void* bytes, std::size_t size) noexcept {
        range = {reinterpret_cast<std::uintptr_t>(bytes), size};
        strategy probe;
        if (!probe.insert(range)) return ALLOT_BAD_RANGE;
        first = range.offset / granule * granule;
        const std::size_t granules = (range.end() - first) / granule + 1;
        if (!starts.create(granules / 64 + 1)) return ALLOT_OUT_OF_MEMORY;
        blocks = std::move(probe);
        return ALLOT_OK;
    }
    void reset() noexcept {
        blocks = strategy{};
        static_cast<void>(blocks.insert(range));  // `open` inserted the same bytes
        for (std::uint64_t& word : starts.span()) word = 0;
        count.reset();
    }

    /// Returns the reason for which no live block starts at an address, or ALLOT_OK.
    [[nodiscard]] allot_status check(const void* block) const noexcept {
        const auto at = reinterpret_cast<std::uintptr_t>(block);
        if (at < range.offset || at >= range.end()) return ALLOT_FOREIGN_BLOCK;
        if (at % granule != 0 || (starts[word_of(at)] & bit_of(at)) == 0) return ALLOT_NOT_LIVE;
        return blocks.is_sound(allocation_at(at), range) ? ALLOT_OK : ALLOT_OVERWRITTEN;
    }
    void flip(std::uintptr_t at) noexcept { starts[word_of(at)] ^= bit_of(at); }
    [[nodiscard]] static strategy::allocation_type allocation_at(std::uintptr_t at) noexcept { return {{at, 1}, {}}; }

    own_memory memory;
    strategy blocks;
    strategy::extent_type range{};
    own_array<std::uint64_t> starts;
    counters count;
    std::uintptr_t first = 0;

private:
    [[nodiscard]] std::size_t word_of(std::uintptr_t at) const noexcept { return (at - first) / granule / 64; }
    [[nodiscard]] std::uint64_t bit_of(std::uintptr_t at) const noexcept {
        return std::uint64_t{1} << (at - first) / granule % 64;
    }
};

allot_status allot_arena_create(const allot_arena_options* options, allot_arena** made) {
    if (made == nullptr) return ALLOT_NULL_ARGUMENT;
    *made = nullptr;
    allot_arena_options wanted;
    if (const allot_status status = read_struct(options, wanted); status != ALLOT_OK) return status;
    const own_memory memory{wanted.callbacks};
    if (wanted.memory == nullptr || !memory.is_valid()) return ALLOT_NULL_ARGUMENT;
    auto* const arena = make_handle<allot_arena>(memory);
    if (arena == nullptr) return ALLOT_OUT_OF_MEMORY;
    const allot_status status = arena->open(wanted.memory, wanted.size);
    if (status == ALLOT_OK) *made = arena;
    else destroy_handle(arena);
    return status;
}

void allot_arena_destroy(allot_arena* arena) { destroy_handle(arena); }

allot_status allot_arena_allocate(allot_arena* arena, size_t size, size_t align, void** block) {
    if (block == nullptr) return ALLOT_NULL_ARGUMENT;
    *block = nullptr;
    if (arena == nullptr) return ALLOT_NULL_ARGUMENT;
    const auto given = arena->blocks.allocate({size, align});
    if (!given) {
        arena->count.refused();
        return status_of(arena->blocks.diagnose({size, align}).reason);
    }
    arena->count.allocated(arena->blocks.capacity(given));
    arena->flip(given.where.offset);
    *block = reinterpret_cast<void*>(given.where.offset);
    return ALLOT_OK;
}

allot_status allot_arena_free(allot_arena* arena, void* block) {
    if (arena == nullptr) return ALLOT_NULL_ARGUMENT;
    if (block == nullptr) return ALLOT_OK;
    if (const allot_status status = arena->check(block); status != ALLOT_OK) return status;
    const auto at = reinterpret_cast<std::uintptr_t>(block);
    const auto held = allot_arena::allocation_at(at);
    arena->count.freed(arena->blocks.capacity(held));
    arena->flip(at);
    arena->blocks.deallocate(held);
    return ALLOT_OK;
}

allot_status allot_arena_resize(allot_arena* arena, void* block, size_t size) {
    if (arena == nullptr || block == nullptr) return ALLOT_NULL_ARGUMENT;
    if (size == 0) return ALLOT_EMPTY_LAYOUT;
    if (const allot_status status = arena->check(block); status != ALLOT_OK) return status;
    const auto held = allot_arena::allocation_at(reinterpret_cast<std::uintptr_t>(block));
    const std::size_t before = arena->blocks.capacity(held);
    if (!arena->blocks.resize(held, size)) return ALLOT_NOT_FREE;
    arena->count.changed(before, arena->blocks.capacity(held));
    return ALLOT_OK;
}

allot_status allot_arena_reset(allot_arena* arena) {
    if (arena == nullptr) return ALLOT_NULL_ARGUMENT;
    arena->reset();
    return ALLOT_OK;
}

namespace {

[[nodiscard]] allot_statistics statistics_of(const allot_arena& arena) noexcept {
    return arena.count.with_holes(arena.range.size, [&](auto f) { arena.blocks.for_each_hole(arena.range, f); });
}

}  // namespace

allot_status allot_arena_statistics(const allot_arena* arena, allot_statistics* statistics) {
    if (const allot_status status = clear_struct(statistics); status != ALLOT_OK) return status;
    if (arena == nullptr) return ALLOT_NULL_ARGUMENT;
    write_struct(statistics_of(*arena), statistics);
    return ALLOT_OK;
}

allot_status allot_arena_snapshot(const allot_arena* arena, const char* name, allot_write write, void* user) {
    if (arena == nullptr) return ALLOT_NULL_ARGUMENT;
    return write_state(
        arena->memory, name, {arena->range.offset, arena->range.size}, statistics_of(*arena),
        [&](auto f) { arena->blocks.for_each_block(arena->range, f); },
        [&](auto f) { arena->blocks.for_each_hole(arena->range, f); }, write, user);
}
