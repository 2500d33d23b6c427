// pointer_table and write_table: bytes in rows, and tables that are checked before they are written.
#include "../../texts.hpp"

#include <allot/address/handle_offset.hpp>
#include <allot/address/pointer_table.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <initializer_list>
#include <limits>
#include <vector>

namespace {

using allot::table_error;
using allot::table_refusal;
using offsets = std::vector<std::int64_t>;

constexpr std::size_t row_bytes = 256, storage_bytes = 4096;
constexpr std::int64_t farthest = std::numeric_limits<std::int64_t>::max();

// A storage of bytes, and a table with a pattern that shows writes.
template <class Table>
struct on_host {
    alignas(64) std::byte bytes[storage_bytes];
    typename Table::value entries[64];

    on_host() {
        std::memset(bytes, 0, sizeof bytes);
        std::memset(entries, 0x5A, sizeof entries);
    }
    allot::region<void*> rows(std::size_t size = storage_bytes) { return {bytes, size, 64}; }
    auto write(const offsets& at, std::size_t align = 1) { return write(at, at.size(), align); }
    auto write(const offsets& at, std::size_t count, std::size_t align) {
        return allot::write_table<Table>(std::span{entries, count}, rows(), at, align);
    }
    [[nodiscard]] bool nothing_written() const {
        for (const unsigned char byte : std::span{reinterpret_cast<const unsigned char*>(entries), sizeof entries})
            if (byte != 0x5A) return false;
        return true;
    }
    void refuses(const offsets& at, table_refusal reason, std::size_t row, std::size_t align = 1) {
        const auto table = write(at, align);
        CHECK_FALSE(table);
        CHECK(table.error() == table_error{reason, row});
        CHECK(nothing_written());
    }
};

using pointers = allot::pointer_table<row_bytes>;
using handles = allot::handle_offset<int>;
using at = handles::address;
template <class Integer>
using offset_table = allot::pointer_table<row_bytes, allot::row_offset<Integer>, handles>;
template <class Integer>
using index_table = allot::pointer_table<row_bytes, allot::row_index<Integer>, handles>;

template <class Table>
auto write(std::span<typename Table::value> entries, allot::region<at> rows, const offsets& where,
           std::size_t align = 1) {
    return allot::write_table<Table>(entries, rows, where, align);
}

}  // namespace

// ── rows of a tensor ─────────────────────────────────────────────────────────────────────────────────────────────────

TEST_CASE("pointer_table: a tensor (2, 2, 8, 8) of int32, split after two axes, is four rows at any offsets") {
    const std::size_t logical[] = {2, 2, 8, 8};
    const std::size_t rows = logical[0] * logical[1], columns = logical[2] * logical[3];
    REQUIRE(rows == 4);
    REQUIRE(columns * sizeof(std::int32_t) == row_bytes);

    on_host<pointers> storage;
    const offsets where{768, 256, 2304, 3072};
    const auto table = storage.write(where, alignof(std::int32_t));
    REQUIRE(table);
    REQUIRE(table->size() == 4);
    for (std::size_t row = 0; row != 4; ++row) {
        CHECK((*table)[row] == storage.bytes + where[row]);
        CHECK(storage.entries[row] == storage.bytes + where[row]);
    }

    std::int32_t value = 0;
    for (std::size_t i = 0; i != rows * columns; ++i, ++value)
        std::memcpy(pointers::locate(*table, i * sizeof value), &value, sizeof value);

    // Each element is in its row, and no other byte was written.
    std::byte expected[storage_bytes]{};
    for (std::size_t row = 0; row != rows; ++row) {
        for (std::size_t column = 0; column != columns; ++column) {
            const auto element = static_cast<std::int32_t>(row * columns + column);
            std::memcpy(expected + where[row] + static_cast<std::ptrdiff_t>(column * sizeof element), &element,
                        sizeof element);
        }
    }
    CHECK(std::memcmp(storage.bytes, expected, sizeof expected) == 0);
}

TEST_CASE("pointer_table: locate finds the last byte of a row and the first byte of the next") {
    on_host<pointers> storage;
    const auto table = storage.write({768, 256, 2304, 3072});
    REQUIRE(table);
    CHECK(pointers::locate(*table, 0) == storage.bytes + 768);
    CHECK(pointers::locate(*table, 255) == storage.bytes + 768 + 255);
    CHECK(pointers::locate(*table, 256) == storage.bytes + 256);
    CHECK(pointers::locate(*table, 511) == storage.bytes + 256 + 255);
    CHECK(pointers::locate(*table, 512) == storage.bytes + 2304);
    CHECK(pointers::locate(*table, 1023) == storage.bytes + 3072 + 255);
}

TEST_CASE("pointer_table: rows can have odd sizes, down to a single byte") {
    using triples = allot::pointer_table<3>;
    on_host<triples> storage;
    const auto table = storage.write({7, 1, 4});
    REQUIRE(table);
    const std::ptrdiff_t expected[] = {7, 8, 9, 1, 2, 3, 4, 5, 6};
    for (std::size_t n = 0; n != 9; ++n) CHECK(triples::locate(*table, n) == storage.bytes + expected[n]);

    using single = allot::pointer_table<1>;
    on_host<single> bytes;
    const auto reversed = bytes.write({2, 1, 0});
    REQUIRE(reversed);
    for (std::size_t n = 0; n != 3; ++n) CHECK(single::locate(*reversed, n) == bytes.bytes + 2 - n);
}

TEST_CASE("pointer_table: rows_for rounds up without overflow") {
    constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
    static_assert(pointers::rows_for(0) == 0 && pointers::rows_for(1) == 1 && pointers::rows_for(256) == 1);
    static_assert(pointers::rows_for(257) == 2 && pointers::rows_for(most) == most / 256 + 1);
    static_assert(allot::pointer_table<1>::rows_for(most) == most);
    static_assert(allot::pointer_table<3>::rows_for(most) == most / 3 + (most % 3 != 0));
}

// ── errors ───────────────────────────────────────────────────────────────────────────────────────────────────────────

TEST_CASE("write_table: rejects a wrong row count") {
    on_host<pointers> storage;
    for (const std::size_t entries : std::initializer_list<std::size_t>{0, 1, 3, 5, 64}) {
        const auto table = storage.write({768, 256, 2304, 3072}, entries, 1);
        CHECK_FALSE(table);
        CHECK(table.error() == table_error{table_refusal::wrong_row_count, 0});
        CHECK(storage.nothing_written());
    }
    CHECK(storage.write({}, 1, 1).error().reason == table_refusal::wrong_row_count);
    CHECK(storage.nothing_written());
}

TEST_CASE("write_table: writes an empty table") {
    on_host<pointers> storage;
    const auto table = storage.write({}, 0, 1);
    REQUIRE(table);
    CHECK(table->size() == 0);
    CHECK(storage.nothing_written());
}

TEST_CASE("write_table: rejects negative offsets") {
    on_host<pointers> storage;
    storage.refuses({-1}, table_refusal::negative_offset, 0);
    storage.refuses({0, 256, -256}, table_refusal::negative_offset, 2);
    storage.refuses({0, -farthest - 1, 256}, table_refusal::negative_offset, 1);
}

TEST_CASE("write_table: rejects rows out of bounds, and accepts the last row inside") {
    on_host<pointers> storage;
    storage.refuses({storage_bytes - row_bytes + 1}, table_refusal::out_of_bounds, 0);
    storage.refuses({0, storage_bytes}, table_refusal::out_of_bounds, 1);
    storage.refuses({0, storage_bytes + 1}, table_refusal::out_of_bounds, 1);
    storage.refuses({0, 256, storage_bytes - 1}, table_refusal::out_of_bounds, 2);
    CHECK(storage.write({storage_bytes - row_bytes}));

    const std::int64_t zero[] = {0};
    void* entry = nullptr;
    for (const std::size_t too_small : {std::size_t{0}, std::size_t{1}, row_bytes - 1}) {
        const auto table = allot::write_table<pointers>(std::span{&entry, 1}, storage.rows(too_small), zero);
        CHECK(table.error() == table_error{table_refusal::out_of_bounds, 0});
        CHECK(entry == nullptr);
    }
    CHECK(allot::write_table<pointers>(std::span{&entry, 1}, storage.rows(row_bytes), zero));
}

TEST_CASE("write_table: rejects offsets whose row ends beyond the range of the type") {
    on_host<pointers> storage;
    for (const std::int64_t offset : {farthest, farthest - 1, farthest - 255, farthest - 256}) {
        storage.refuses({offset}, table_refusal::out_of_bounds, 0);
        storage.refuses({0, offset}, table_refusal::out_of_bounds, 1);
    }
    // A 32-bit cast would make these 0 and 256.
    storage.refuses({std::int64_t{1} << 32}, table_refusal::out_of_bounds, 0);
    storage.refuses({(std::int64_t{1} << 32) + 256}, table_refusal::out_of_bounds, 0);
}

TEST_CASE("write_table: rejects rows with misaligned addresses") {
    on_host<pointers> storage;
    storage.refuses({0, 260}, table_refusal::misaligned, 1, 8);
    storage.refuses({1}, table_refusal::misaligned, 0, 2);
    CHECK(storage.write({0, 320}, 64));

    on_host<pointers> odd;
    const allot::region<void*> rows{odd.bytes + 4, 2048, 4};
    const std::int64_t zero[] = {0}, sixty[] = {60};
    const auto refused = allot::write_table<pointers>(std::span{odd.entries, 1}, rows, zero, 64);
    CHECK(refused.error() == table_error{table_refusal::misaligned, 0});
    CHECK(odd.nothing_written());
    const auto served = allot::write_table<pointers>(std::span{odd.entries, 1}, rows, sixty, 64);
    REQUIRE(served);
    CHECK((*served)[0] == odd.bytes + 64);
}

TEST_CASE("write_table: rejects an invalid alignment") {
    on_host<pointers> storage;
    for (const std::size_t align : {std::size_t{0}, std::size_t{3}, std::size_t{12}, ~std::size_t{0}})
        storage.refuses({0, 256}, table_refusal::misaligned, 0, align);
}

TEST_CASE("write_table: rejects overlapping rows in ascending order") {
    on_host<pointers> storage;
    storage.refuses({0, 255}, table_refusal::overlapping, 1);
    storage.refuses({0, 0}, table_refusal::overlapping, 1);
    storage.refuses({0, 256, 511}, table_refusal::overlapping, 2);
    CHECK(storage.write({0, 256, 512}));
}

TEST_CASE("write_table: rejects overlapping rows in any order") {
    on_host<pointers> storage;
    storage.refuses({512, 0, 512}, table_refusal::overlapping, 2);
    storage.refuses({512, 0, 255}, table_refusal::overlapping, 2);
    storage.refuses({512, 1024, 0, 767}, table_refusal::overlapping, 3);
    storage.refuses({512, 257}, table_refusal::overlapping, 1);
    storage.refuses({512, 0, 1024, 1536, 1280, 1279}, table_refusal::overlapping, 5);
    storage.refuses({1024, 512, 2048, 2303}, table_refusal::overlapping, 3);  // ascending at the end
    CHECK(storage.write({512, 256, 0, 768}));
}

TEST_CASE("write_table: rejects exactly the overlapping triples of rows in a small storage") {
    using quads = allot::pointer_table<4>;
    on_host<quads> storage;
    for (std::int64_t a = 0; a != 13; ++a) {
        for (std::int64_t b = 0; b != 13; ++b) {
            for (std::int64_t c = 0; c != 13; ++c) {
                const auto apart = [](std::int64_t x, std::int64_t y) { return x - y >= 4 || y - x >= 4; };
                const auto table = storage.write({a, b, c});
                REQUIRE(static_cast<bool>(table) == (apart(a, b) && apart(a, c) && apart(b, c)));
                if (!table) REQUIRE(table.error() == table_error{table_refusal::overlapping, apart(a, b) ? 2u : 1u});
            }
        }
    }
}

TEST_CASE("write_table: rejects rows that do not fit in an entry") {
    std::uint16_t entries[3] = {1, 2, 3};
    const allot::region<at> rows{{7, 0}, std::size_t{1} << 20, 4096};
    const auto table = write<offset_table<std::uint16_t>>(entries, rows, {0, 65'280, 65'536}, 256);
    CHECK(table.error() == table_error{table_refusal::entry_too_narrow, 2});
    CHECK((entries[0] == 1 && entries[1] == 2 && entries[2] == 3));
    CHECK(write<offset_table<std::uint16_t>>(entries, rows, {0, 65'279, 65'535}));

    std::uint8_t indices[2] = {1, 2};
    CHECK(write<index_table<std::uint8_t>>(indices, rows, {0, 256 * 256}).error() ==
          table_error{table_refusal::entry_too_narrow, 1});
    CHECK((indices[0] == 1 && indices[1] == 2));
    CHECK(write<index_table<std::uint8_t>>(indices, rows, {0, 255 * 256}));
}

TEST_CASE("write_table: rejects rows between two indices") {
    std::uint32_t entries[2] = {1, 2};
    const allot::region<at> rows{{7, 0}, 4096, 4096};
    CHECK(write<index_table<std::uint32_t>>(entries, rows, {0, 300}).error() ==
          table_error{table_refusal::entry_too_narrow, 1});
    CHECK((entries[0] == 1 && entries[1] == 2));
}

// ── entries over handles ─────────────────────────────────────────────────────────────────────────────────────────────

TEST_CASE("row_offset: names rows of a handle") {
    std::uint32_t entries[4] = {};
    const allot::region<at> rows{{7, 1024}, storage_bytes, 256};
    const auto table = write<offset_table<std::uint32_t>>(entries, rows, {768, 256, 2304, 3072}, 256);
    REQUIRE(table);
    CHECK((entries[0] == 768 && entries[1] == 256 && entries[2] == 2304 && entries[3] == 3072));
    CHECK(table->origin == at{7, 1024});
    CHECK((*table)[1] == at{7, 1024 + 256});
    CHECK(offset_table<std::uint32_t>::locate(*table, 255) == at{7, 1024 + 768 + 255});
    CHECK(offset_table<std::uint32_t>::locate(*table, 256) == at{7, 1024 + 256});
    CHECK(offset_table<std::uint32_t>::locate(*table, 1023) == at{7, 1024 + 3072 + 255});
}

TEST_CASE("row_index: names rows of a handle, as in a block table") {
    std::uint32_t entries[4] = {};
    const allot::region<at> rows{{7, 1024}, storage_bytes, 256};
    const auto table = write<index_table<std::uint32_t>>(entries, rows, {768, 256, 2304, 3072}, 256);
    REQUIRE(table);
    CHECK((entries[0] == 3 && entries[1] == 1 && entries[2] == 9 && entries[3] == 12));
    CHECK((*table)[2] == at{7, 1024 + 2304});
    CHECK(index_table<std::uint32_t>::locate(*table, 600) == at{7, 1024 + 2304 + 88});
}

TEST_CASE("row_index: 16-bit entries reach beyond 64 KiB") {
    std::uint16_t entries[2] = {};
    constexpr std::size_t size = 65'536 * row_bytes, last = size - row_bytes;
    const allot::region<at> rows{{7, 0}, size, 4096};
    const offsets where{0, static_cast<std::int64_t>(last)};
    const auto table = write<index_table<std::uint16_t>>(entries, rows, where);
    REQUIRE(table);
    CHECK(entries[1] == 65'535);
    CHECK((*table)[1] == at{7, last});
    CHECK(write<offset_table<std::uint16_t>>(entries, rows, where).error() ==
          table_error{table_refusal::entry_too_narrow, 1});
}

TEST_CASE("write_table: over handles, an alignment above that of the base is misaligned at any offset") {
    std::uint32_t entries[1] = {};
    const allot::region<at> rows{{7, 0}, storage_bytes, 128};
    CHECK(write<offset_table<std::uint32_t>>(entries, rows, {1024}, 128));
    CHECK(write<offset_table<std::uint32_t>>(entries, rows, {1024}, 256).error() ==
          table_error{table_refusal::misaligned, 0});
    CHECK(write<offset_table<std::uint32_t>>(entries, rows, {1088}, 128).error() ==
          table_error{table_refusal::misaligned, 0});
}

TEST_CASE("row_offset: rejects a row in another buffer or before the origin") {
    using entry = offset_table<std::uint32_t>::entry;
    std::uint32_t value = 42;
    CHECK_FALSE(entry::encode(at{7, 512}, at{8, 512}, row_bytes, value));
    CHECK_FALSE(entry::encode(at{7, 512}, at{7, 511}, row_bytes, value));
    CHECK(value == 42);
    CHECK(entry::encode(at{7, 512}, at{7, 512}, row_bytes, value));
    CHECK(value == 0);
}

TEST_CASE("row_index: works over pointers") {
    using table_type = allot::pointer_table<row_bytes, allot::row_index<std::uint16_t>>;
    on_host<table_type> storage;
    const auto table = storage.write({768, 256, 2304, 3072}, 64);
    REQUIRE(table);
    CHECK((storage.entries[0] == 3 && storage.entries[3] == 12));
    CHECK(table_type::locate(*table, 300) == storage.bytes + 256 + 44);
}

// ── in constant expressions ──────────────────────────────────────────────────────────────────────────────────────────

namespace {
constexpr bool written_by_the_compiler() {
    std::uint32_t entries[4] = {9, 9, 9, 9};
    const std::int64_t where[] = {768, 256, 2304, 3072}, bad[] = {768, 256, 500, 3072};
    const allot::region<at> rows{{7, 0}, storage_bytes, 256};
    const auto refused = allot::write_table<index_table<std::uint32_t>>(entries, rows, bad);
    if (refused || refused.error() != table_error{table_refusal::overlapping, 2} || entries[0] != 9) return false;
    const auto table = allot::write_table<index_table<std::uint32_t>>(entries, rows, where, 256);
    return table && index_table<std::uint32_t>::locate(*table, 257) == at{7, 257};
}
static_assert(written_by_the_compiler());
}  // namespace

TEST_CASE("write_table: every reason has its own text") {
    texts::check_distinct_up_to(table_refusal::entry_too_narrow);
    CHECK(std::string_view{table_error{table_refusal::overlapping, 2}.what()} == "the row overlaps an earlier row");
}
