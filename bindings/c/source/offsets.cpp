// SPDX-License-Identifier: BSL-1.0
// offsets: best_fit with a side table, over 64-bit offsets.
//
//     table   │ records of the strategy │ entries of live blocks │    one allocation, which is replaced when it is full
//
// An entry says which block has a record, so that a block that is freed twice is refused.
#include "counters.hpp"
#include "status.hpp"

#include <allot/strategy/best_fit.hpp>

namespace {

using namespace allot_c;

constexpr allot::best_fit_options options_of_strategy{.store = allot::node_store::side_table,
                                                      .records = allot::given_records};
using strategy = allot::best_fit<options_of_strategy, std::uint64_t>;

struct alignas(8) entry {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    std::uint32_t number = 0;  // odd while the block is live
};

/// The memory of both tables for `capacity` records.
struct alignas(8) row {
    std::uint64_t words[(strategy::record_size() + sizeof(entry) + 7) / 8];
};

/// Returns the records that suffice for a number of blocks: one for each, one for the hole behind each, one for the
/// first hole, one for the end, and two for a request.
[[nodiscard]] constexpr std::uint64_t records_for(std::uint64_t blocks) noexcept { return 2 * blocks + 4; }
constexpr std::uint64_t most_blocks = 0x7FFF'FF00;

}  // namespace

struct allot_offsets {
    explicit allot_offsets(const own_memory& from) noexcept : memory{from}, rows{memory} {}

    [[nodiscard]] allot_status open(std::uint64_t bytes, std::uint64_t reserved) noexcept {
        if (bytes == 0) return ALLOT_BAD_RANGE;
        size = bytes;
        if (const allot_status status = reserve(reserved); status != ALLOT_OK) return status;
        return blocks.insert({0, size}) ? ALLOT_OK : ALLOT_BAD_RANGE;
    }
    /// Makes room for the records of a number of blocks.
    [[nodiscard]] allot_status reserve(std::uint64_t wanted) noexcept {
        if (wanted > most_blocks) return ALLOT_OUT_OF_RECORDS;
        const std::uint64_t needed = records_for(wanted);
        if (needed <= rows.size()) return ALLOT_OK;
        const std::uint64_t doubled = 2 * std::uint64_t{rows.size()};
        own_array<row> larger{memory};
        if (!larger.create(narrowed(needed > doubled ? needed : doubled))) return ALLOT_OUT_OF_MEMORY;
        rows.swap(larger);
        move_tables(larger);
        return ALLOT_OK;
    }
    void reset() noexcept {
        for (entry& each : entries()) each.number += each.number % 2;
        blocks = strategy{};
        give_records();
        static_cast<void>(blocks.insert({0, size}));
        count.reset();
    }

    [[nodiscard]] allot_status take(const strategy::allocation_type& given, allot_block& block) noexcept {
        entry& live = entries()[given.metadata.record];
        live = {given.where.offset, given.where.size, live.number + 1};
        block = {live.offset, live.size, given.metadata.record, live.number};
        count.allocated(live.size);
        return ALLOT_OK;
    }
    /// Returns the reason for which a block is not live, or ALLOT_OK.
    [[nodiscard]] allot_status check(const allot_block& block) const noexcept {
        if (block.offset >= size || block.size > size - block.offset) return ALLOT_FOREIGN_BLOCK;
        if (block.record >= rows.size()) return ALLOT_NOT_LIVE;
        const entry& known = entries()[block.record];
        if (block.number % 2 == 0 || known.number != block.number || known.offset != block.offset)
            return ALLOT_NOT_LIVE;
        return known.size == block.size ? ALLOT_OK : ALLOT_WRONG_SIZE;
    }
    [[nodiscard]] std::span<entry> entries() const noexcept { return entries_in(rows); }
    [[nodiscard]] static strategy::allocation_type allocation_of(const allot_block& block) noexcept {
        return {{block.offset, block.size}, {block.record}};
    }

    own_memory memory;
    strategy blocks;
    own_array<row> rows;
    counters count;
    std::uint64_t size = 0;

private:
    [[nodiscard]] static std::span<entry> entries_in(const own_array<row>& in) noexcept {
        auto* const bytes = reinterpret_cast<std::byte*>(in.data());
        return {reinterpret_cast<entry*>(bytes), in.size()};
    }
    void give_records() noexcept {
        const auto bytes = std::as_writable_bytes(rows.span());
        static_cast<void>(blocks.give_records(bytes.subspan(rows.size() * sizeof(entry))));  // large enough
    }
    void move_tables(const own_array<row>& from) noexcept {
        std::uninitialized_value_construct_n(entries().data(), entries().size());
        for (std::size_t i = 0; i != from.size(); ++i) entries()[i] = entries_in(from)[i];
        give_records();
    }
};

allot_status allot_offsets_create(const allot_offsets_options* options, allot_offsets** made) {
    if (made == nullptr) return ALLOT_NULL_ARGUMENT;
    *made = nullptr;
    allot_offsets_options wanted;
    if (const allot_status status = read_struct(options, wanted); status != ALLOT_OK) return status;
    const own_memory memory{wanted.callbacks};
    if (!memory.is_valid()) return ALLOT_NULL_ARGUMENT;
    auto* const arena = make_handle<allot_offsets>(memory);
    if (arena == nullptr) return ALLOT_OUT_OF_MEMORY;
    const allot_status status = arena->open(wanted.size, wanted.blocks);
    if (status == ALLOT_OK) *made = arena;
    else destroy_handle(arena);
    return status;
}

void allot_offsets_destroy(allot_offsets* arena) { destroy_handle(arena); }

allot_status allot_offsets_allocate(allot_offsets* arena, uint64_t size, uint64_t align, allot_block* block) {
    if (block == nullptr) return ALLOT_NULL_ARGUMENT;
    *block = {};
    if (arena == nullptr) return ALLOT_NULL_ARGUMENT;
    if (const allot_status status = arena->reserve(arena->count.blocks() + 1); status != ALLOT_OK) {
        arena->count.refused();
        return status;
    }
    if (const auto given = arena->blocks.allocate({size, align})) return arena->take(given, *block);
    arena->count.refused();
    return status_of(arena->blocks.diagnose({size, align}).reason);
}

allot_status allot_offsets_allocate_at(allot_offsets* arena, uint64_t offset, uint64_t size, allot_block* block) {
    if (block == nullptr) return ALLOT_NULL_ARGUMENT;
    *block = {};
    if (arena == nullptr) return ALLOT_NULL_ARGUMENT;
    allot_status status = arena->reserve(arena->count.blocks() + 1);
    if (status == ALLOT_OK) {
        if (const auto given = arena->blocks.allocate_at({offset, size})) return arena->take(given, *block);
        status = status_of(arena->blocks.diagnose_at({offset, size}).reason);
    }
    arena->count.refused();
    return status;
}

allot_status allot_offsets_free(allot_offsets* arena, const allot_block* block) {
    if (arena == nullptr || block == nullptr) return ALLOT_NULL_ARGUMENT;
    if (block->size == 0) return ALLOT_OK;
    if (const allot_status status = arena->check(*block); status != ALLOT_OK) return status;
    ++arena->entries()[block->record].number;
    arena->count.freed(block->size);
    arena->blocks.deallocate(allot_offsets::allocation_of(*block));
    return ALLOT_OK;
}

allot_status allot_offsets_resize(allot_offsets* arena, allot_block* block, uint64_t size) {
    if (arena == nullptr || block == nullptr) return ALLOT_NULL_ARGUMENT;
    if (size == 0) return ALLOT_EMPTY_LAYOUT;
    if (const allot_status status = arena->check(*block); status != ALLOT_OK) return status;
    if (!arena->blocks.resize(allot_offsets::allocation_of(*block), size)) return ALLOT_NOT_FREE;
    arena->count.changed(block->size, size);
    arena->entries()[block->record].size = block->size = size;
    return ALLOT_OK;
}

allot_status allot_offsets_reset(allot_offsets* arena) {
    if (arena == nullptr) return ALLOT_NULL_ARGUMENT;
    arena->reset();
    return ALLOT_OK;
}

namespace {

[[nodiscard]] allot_statistics statistics_of(const allot_offsets& arena) noexcept {
    return arena.count.with_holes(arena.size, [&](auto f) { arena.blocks.for_each_hole({0, arena.size}, f); });
}

}  // namespace

allot_status allot_offsets_statistics(const allot_offsets* arena, allot_statistics* statistics) {
    if (const allot_status status = clear_struct(statistics); status != ALLOT_OK) return status;
    if (arena == nullptr) return ALLOT_NULL_ARGUMENT;
    write_struct(statistics_of(*arena), statistics);
    return ALLOT_OK;
}

allot_status allot_offsets_snapshot(const allot_offsets* arena, const char* name, allot_write write, void* user) {
    if (arena == nullptr) return ALLOT_NULL_ARGUMENT;
    return write_state(
        arena->memory, name, {0, arena->size}, statistics_of(*arena),
        [&](auto f) { arena->blocks.for_each_block({0, arena->size}, f); },
        [&](auto f) { arena->blocks.for_each_hole({0, arena->size}, f); }, write, user);
}
