// row_view: slices and views of discontiguous tensors, compared with positions in a plain vector.
#include <allot/allot.hpp>
#include <allot/tensor.hpp>

#include "../../error_of.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <random>
#include <vector>

namespace {

using allot::anywhere;
using allot::int16;
using allot::int32;
using allot::int64;
using allot::shape;
using allot::tensor_refusal;
using allot::uint8;

using heap_arena = allot::arena<allot::host::heap, allot::best_fit<>>;

/// A storage of rows aligned to 8, and a storage of tables.
struct memories {
    heap_arena memory{{}, 1 << 17};
    allot::storage<heap_arena> tables = *allot::alloc_storage(memory, 4096);
    allot::storage<heap_arena> data = *allot::alloc_storage(memory, 8192, 8);
    allot::storage<heap_arena> plain = *allot::alloc_storage(memory, 8192, 8);

    auto alloc(allot::row_offsets rows, shape physical, allot::dtype type) {
        auto made = *allot::alloc_discontiguous_tensor(tables, anywhere, data, rows, physical, type);
        unsigned char next = 0;
        for (std::size_t row = 0; row != made.rows(); ++row)
            for (std::size_t i = 0; i != made.row_bytes(); ++i) static_cast<unsigned char*>(made.row(row))[i] = next++;
        return made;
    }
};

/// The model of a view: for each element its bytes, as positions in row-major order of the tensor.
struct positions {
    shape extents;
    std::size_t element = 0;
    std::vector<std::size_t> first;

    [[nodiscard]] bool follow() const {
        for (std::size_t i = 1; i < first.size(); ++i)
            if (first[i] != first[i - 1] + element) return false;
        return true;
    }
    [[nodiscard]] positions sliced(const shape& begin, const shape& sizes) const {
        positions part{sizes, element, {}};
        for (std::size_t i = 0; i != first.size(); ++i) {
            std::size_t rest = i;
            bool is_inside = true;
            for (std::size_t axis = extents.rank(); axis-- != 0;) {
                const auto extent = static_cast<std::size_t>(extents[axis]);
                const auto at = static_cast<std::int64_t>(rest % extent);
                rest /= extent;
                is_inside = is_inside && at >= begin[axis] && at < begin[axis] + sizes[axis];
            }
            if (is_inside) part.first.push_back(first[i]);
        }
        return part;
    }
    [[nodiscard]] bool has_element_in_two_rows(std::size_t row_bytes) const {
        for (const std::size_t at : first)
            if (at / row_bytes != (at + element - 1) / row_bytes) return true;
        return false;
    }
};

}  // namespace

TEST_CASE("row_view: a slice of rows and columns") {
    memories it;
    const auto rows = it.alloc({1024, 0, 256, 2048}, {4, 64}, int32);
    const auto part = allot::slice(rows, {1, 16}, {2, 32});
    REQUIRE(part);
    CHECK(part->shape() == shape{2, 32});
    CHECK(part->strides() == shape{64, 1});
    CHECK(part->size() == 64);
    CHECK(part->size_bytes() == 256);
    CHECK(part->byte_offset() == 256 + 64);
    CHECK(part->table().entries == rows.table().entries);
    CHECK_FALSE(part->is_compact());
    CHECK(part->address({0, 0}) == static_cast<std::byte*>(rows.row(1)) + 64);
    CHECK(part->address({1, 31}) == static_cast<std::byte*>(rows.row(2)) + 64 + 124);
    const auto inner = allot::slice(*part, {1, 30}, {1, 2});
    REQUIRE(inner);
    CHECK(inner->address({0, 1}) == part->address({1, 31}));
    CHECK(allot::slice(rows, {1, 0}, {2, 64})->is_compact());

    CHECK(error_of(allot::slice(rows, {1, 16}, {4, 32})).reason == tensor_refusal::out_of_bounds);
    CHECK(error_of(allot::slice(rows, {1}, {1})).reason == tensor_refusal::shape_mismatch);
    CHECK(error_of(allot::slice(*part, {0, 0}, {3, 1})).reason == tensor_refusal::out_of_bounds);
    CHECK(error_of(allot::view(*part, int32, {64})).reason == tensor_refusal::not_compact);
    const auto none = allot::slice(rows, {4, 64}, {0, 0});
    REQUIRE(none);
    CHECK(none->size() == 0);
}

TEST_CASE("row_view: a view has another shape or dtype") {
    memories it;
    const auto rows = it.alloc({1024, 0, 256, 2048}, {4, 6}, int32);  // 24 bytes a row
    const auto more_axes = allot::view(rows, int32, {2, 2, 3, 2});
    REQUIRE(more_axes);
    CHECK(more_axes->address({1, 0, 2, 1}) == static_cast<std::byte*>(rows.row(2)) + 20);
    const auto halves = allot::view(rows, int16, {8, 6});
    REQUIRE(halves);
    CHECK(halves->address({3, 1}) == static_cast<std::byte*>(rows.row(1)) + 14);
    CHECK(allot::view(rows, int64, {4, 3}));
    CHECK(allot::view(rows, int32, {12}, 48)->address({0}) == rows.row(2));
    CHECK(allot::view(rows, {allot::dtype_code::floating, 32, 5}, {1}));  // 20 bytes in the first row
    CHECK(error_of(allot::view(rows, {allot::dtype_code::floating, 32, 5}, {2})).reason == tensor_refusal::not_compact);
    CHECK(error_of(allot::view(rows, int64, {2}, 4)).reason == tensor_refusal::misaligned);
    const auto of_16 = it.alloc({3072, 3104, 3136}, {3, 4}, int32);
    const auto from_4 = *allot::view(of_16, int32, {11}, 4);
    const allot::dtype of_12{allot::dtype_code::floating, 32, 3};
    CHECK(allot::view(from_4, of_12, {2}));  // bytes 4 to 15 of row 0, and 0 to 11 of row 1
    CHECK(error_of(allot::view(from_4, of_12, {3})).reason == tensor_refusal::not_compact);
    CHECK(error_of(allot::view(rows, int32, {25})).reason == tensor_refusal::out_of_bounds);
    CHECK(error_of(allot::view(rows, int32, {1}, -4)).reason == tensor_refusal::negative_offset);
    CHECK(error_of(allot::view(rows, int32, {-1})).reason == tensor_refusal::bad_shape);

    auto killed = rows;
    killed.kill();
    CHECK(error_of(allot::view(killed, int32, {1})).reason == tensor_refusal::killed);
    CHECK(error_of(allot::slice(killed, {0, 0}, {1, 1})).reason == tensor_refusal::killed);
    CHECK(error_of(allot::as_tensor(killed)).reason == tensor_refusal::killed);
}

TEST_CASE("row_view: a dtype with more alignment needs rows with that alignment") {
    memories it;
    const auto of_4 = *allot::alloc_storage(it.memory, 1024, 4);
    const auto rows = *allot::alloc_discontiguous_tensor(it.tables, anywhere, of_4, {0, 64}, {2, 4}, int32);
    CHECK(error_of(allot::view(rows, int64, {2, 2})).reason == tensor_refusal::misaligned);
    CHECK(allot::view(rows, allot::float32, {2, 4}));

    const auto of_12 = it.alloc({0, 64, 128}, {3, 3}, int32);              // 12 bytes a row, and rows at multiples of 8
    CHECK(allot::view(*allot::slice(of_12, {1, 0}, {1, 3}), int64, {1}));  // byte 12 in order is the first of row 1
    CHECK(error_of(allot::view(*allot::slice(of_12, {1, 1}, {1, 2}), int64, {1})).reason == tensor_refusal::misaligned);
    CHECK(error_of(allot::view(of_12, int64, {4})).reason == tensor_refusal::not_compact);
}

TEST_CASE("row_view: a view keeps rows and table, and sees writes of its tensor") {
    memories it;
    const auto shared = *allot::share_rows(it.data, it.tables, 10);
    auto a = *allot::alloc_discontiguous_tensor(it.tables, anywhere, shared, anywhere, {3, 8}, int32);
    auto b = *allot::fork(a);
    auto part = *allot::slice(b, {1, 0}, {2, 8});
    const auto before = part.address({1, 0});
    REQUIRE(allot::write(b, 2));
    CHECK(part.address({1, 0}) == b.row(2));
    CHECK(part.address({1, 0}) != before);
    CHECK(part.address({0, 0}) == a.row(1));

    const auto from = *allot::alloc_tensor(it.plain, 0, {8}, int32);
    const auto last = *allot::slice(b, {2, 0}, {1, 8});
    CHECK(allot::copy_tensor(from, last));  // row 2 has one owner
    const auto to = *allot::alloc_tensor(it.plain, 64, {2, 8}, int32);
    CHECK(allot::copy_tensor(part, to));
    CHECK(error_of(allot::copy_tensor(to, part)).reason == tensor_refusal::shared_row);

    const auto row = b.row(2);
    b.kill();
    CHECK(part.address({1, 0}) == row);
    CHECK(allot::row_references(a, 1) == 2);
    part.kill();
    CHECK_FALSE(part);
    CHECK(allot::row_references(a, 1) == 2);  // `last` keeps the tensor
}

TEST_CASE("as_tensor: adjacent rows are a tensor on the same bytes") {
    memories it;
    const auto rows = it.alloc({1024, 1056, 1088, 512}, {4, 8}, int32);
    CHECK(error_of(allot::as_tensor(rows)).reason == tensor_refusal::not_compact);
    CHECK(error_of(allot::as_tensor(rows)).row == 3);
    const auto three = allot::slice(rows, {0, 0}, {3, 8});
    std::vector<std::size_t> runs;
    const auto note = [&runs](auto, std::size_t bytes) noexcept { runs.push_back(bytes); };
    REQUIRE(allot::for_each_run(*allot::slice(rows, {0, 0}, {4, 8}), note).reason == tensor_refusal::none);
    CHECK(runs == std::vector<std::size_t>{96, 32});
    auto whole = allot::as_tensor(*three);
    REQUIRE(whole);
    CHECK(whole->data() == rows.row(0));
    CHECK(whole->shape() == shape{3, 8});
    CHECK(whole->is_compact());
    CHECK_FALSE(whole->is_read_only());
    const auto columns = allot::as_tensor(*allot::slice(rows, {1, 2}, {2, 3}));
    REQUIRE(columns);
    CHECK(columns->data() == static_cast<std::byte*>(rows.row(1)) + 8);
    CHECK(columns->strides() == shape{8, 1});
    CHECK(allot::as_tensor(*allot::slice(rows, {3, 1}, {1, 7})));  // inside one row
    const auto backwards = it.alloc({2080, 2048}, {2, 8}, int32);
    CHECK(error_of(allot::as_tensor(backwards)).reason == tensor_refusal::not_compact);
    const auto none = allot::as_tensor(*allot::slice(rows, {0, 0}, {0, 8}));
    REQUIRE(none);
    CHECK(none->size() == 0);
}

TEST_CASE("as_tensor: shared rows are read-only, and a write leaves them unchanged") {
    memories it;
    const auto shared = *allot::share_rows(it.data, it.tables, 10);
    auto a = *allot::alloc_discontiguous_tensor(it.tables, anywhere, shared, {64, 96, 128}, {3, 8}, int32);
    auto last_two = *allot::as_tensor(*allot::slice(a, {1, 0}, {2, 8}));
    CHECK(last_two.is_read_only());
    CHECK(allot::row_references(a, 0) == 1);
    CHECK(allot::row_references(a, 2) == 2);
    std::memset(last_two.data(), 7, 64);
    const auto to = allot::write(a, 1);
    REQUIRE(to);
    CHECK(*to != last_two.data());
    std::memset(*to, 9, 32);
    CHECK(static_cast<const unsigned char*>(last_two.data())[0] == 7);
    CHECK(error_of(allot::copy_tensor(*allot::alloc_tensor(it.plain, 0, {2, 8}, int32), last_two)).reason ==
          tensor_refusal::read_only);
    a.kill();
    CHECK(static_cast<const unsigned char*>(last_two.data())[63] == 7);
    last_two.kill();
    CHECK(it.data.diagnose({8192, 8}).reason == allot::refusal::none);
}

TEST_CASE("row_view: memory without offsets takes views that begin with a row") {
    allot::naive<allot::separate<allot::host::heap>> memory;
    heap_arena host{{}, 65536};
    const auto tables = *allot::alloc_storage(host, 1024);
    const auto data = *allot::alloc_storage(memory, 4096, 8);
    const auto rows = *allot::alloc_discontiguous_tensor(tables, anywhere, data, anywhere, {4, 8}, int32);
    CHECK(allot::slice(rows, {2, 0}, {2, 5}));
    CHECK(error_of(allot::slice(rows, {2, 1}, {2, 5})).reason == tensor_refusal::no_offsets);
    CHECK(allot::view(rows, int32, {8}, 32));
    CHECK(error_of(allot::view(rows, int32, {8}, 16)).reason == tensor_refusal::no_offsets);
}

TEST_CASE("row_view: views of tensors without a heap") {
    using policies = allot::storage_policies<allot::best_fit<>, allot::references::none>;
    heap_arena memory{{}, 65536};
    allot::storage_body<heap_arena, policies> table_body, body, other_body;
    const auto tables = *allot::alloc_storage(table_body, memory, {.size = 1024});
    const auto data = *allot::alloc_storage(body, memory, {.size = 256, .align = 16});
    const auto more = *allot::alloc_storage(other_body, memory, {.size = 256, .align = 16});
    const allot::storage_list both{data, more};
    const auto rows = *allot::alloc_discontiguous_tensor(tables, anywhere, both, anywhere, {10, 8}, int32);
    const auto part = allot::slice(rows, {7, 2}, {3, 4});
    REQUIRE(part);
    CHECK(part->address({1, 0}) == static_cast<std::byte*>(rows.row(8)) + 8);
    CHECK(part->address({1, 0}) == static_cast<std::byte*>(more.base()) + 8);
}

TEST_CASE("row_view: elements smaller than a byte") {
    memories it;
    const allot::dtype int4{allot::dtype_code::integer, 4, 1};
    const auto rows = it.alloc({64, 0}, {2, 6}, int4);  // 3 bytes a row
    const auto part = allot::slice(rows, {0, 2}, {2, 3});
    REQUIRE(part);
    CHECK(part->address({1, 1}) == static_cast<std::byte*>(rows.row(1)) + 1);
    CHECK(part->shares_last_byte());
    CHECK(error_of(allot::slice(rows, {0, 1}, {2, 3})).reason == tensor_refusal::partial_bytes);
    CHECK(allot::for_each_run(*part, [](auto, std::size_t) noexcept {}).reason == tensor_refusal::partial_bytes);
    CHECK(allot::view(rows, uint8, {6}));
    CHECK(error_of(allot::view(rows, int16, {3})).reason == tensor_refusal::not_compact);
}

TEST_CASE("row_view: random slices and views find the bytes that positions in a plain vector find") {
    memories it;
    std::minstd_rand random{11};
    const auto below = [&random](std::int64_t n) { return n <= 0 ? 0 : static_cast<std::int64_t>(random() >> 8) % n; };
    const allot::dtype types[] = {uint8, int16, int32, int64};
    std::size_t views = 0, refused = 0;
    for (int game = 0; game != 300; ++game) {
        const std::int64_t rows = 1 + below(5), elements = 1 + below(12);
        const std::size_t in_element = std::size_t{1} << below(4);
        const allot::dtype type = types[std::countr_zero(in_element)];
        std::vector<std::int64_t> offsets;  // some rows are adjacent
        std::int64_t end = 0;
        for (std::int64_t row = 0; row != rows; ++row) {
            offsets.push_back((end + 7) / 8 * 8);
            end = offsets.back() + elements * static_cast<std::int64_t>(in_element) + below(2) * 24;
        }
        for (std::size_t i = offsets.size(); i > 1; --i)
            if (below(2) == 0)
                std::swap(offsets[i - 1], offsets[static_cast<std::size_t>(below(static_cast<std::int64_t>(i)))]);
        const auto tensor = it.alloc(offsets, {rows, elements}, type);
        const std::size_t row_bytes = tensor.row_bytes();
        positions model{{rows, elements}, in_element, {}};
        for (std::size_t i = 0; i != static_cast<std::size_t>(rows * elements); ++i)
            model.first.push_back(i * in_element);
        auto seen = *allot::slice(tensor, {0, 0}, {rows, elements});

        for (int step = 0; step != 6; ++step) {
            if (below(2) == 0) {
                shape begin = model.extents, sizes = model.extents;
                for (std::size_t axis = 0; axis != model.extents.rank(); ++axis) {
                    begin[axis] = below(model.extents[axis]);
                    sizes[axis] = 1 + below(model.extents[axis] - begin[axis]);
                }
                const auto part = allot::slice(seen, begin, sizes);
                REQUIRE(part);
                model = model.sliced(begin, sizes);
                seen = *part;
            } else {
                const std::size_t bytes = model.first.size() * model.element, element = std::size_t{1} << below(4);
                const auto count = static_cast<std::int64_t>(bytes / element);
                if (count == 0) continue;
                const std::int64_t inner = count % 3 == 0 ? 3 : count % 2 == 0 ? 2 : 1;
                positions other{{count / inner, inner}, element, {}};
                for (std::size_t i = 0; i != static_cast<std::size_t>(count); ++i)
                    other.first.push_back(model.first[0] + i * element);
                const auto made = allot::view(seen, types[std::countr_zero(element)], other.extents);
                const bool is_aligned = element <= model.element || model.first[0] % row_bytes % element == 0;
                const bool is_possible = model.follow() && !other.has_element_in_two_rows(row_bytes) && is_aligned;
                CHECK(static_cast<bool>(made) == is_possible);
                refused += !made;
                if (!made) continue;
                model = other;
                seen = *made;
            }
            ++views;
            std::vector<unsigned char> expected, found;
            for (const std::size_t at : model.first)
                for (std::size_t i = 0; i != model.element; ++i) expected.push_back(static_cast<unsigned char>(at + i));
            REQUIRE(allot::for_each_run(seen, [&found](const void* at, std::size_t n) noexcept {
                        const auto* const bytes = static_cast<const unsigned char*>(at);
                        found.insert(found.end(), bytes, bytes + n);
                    }).reason == tensor_refusal::none);
            CHECK(found == expected);
            shape last = model.extents;
            for (std::size_t axis = 0; axis != last.rank(); ++axis) --last[axis];
            CHECK(*static_cast<const unsigned char*>(seen.address(last)) ==
                  static_cast<unsigned char>(model.first.back()));

            if (const auto same = allot::as_tensor(seen)) {
                CHECK(same->data() ==
                      seen.address(shape{std::span<const std::int64_t>{std::vector<std::int64_t>(last.rank())}}));
                const auto copy = *allot::alloc_tensor(it.plain, 0, same->shape(), same->dtype());
                REQUIRE(allot::copy_tensor(*same, copy));
                CHECK(std::memcmp(copy.data(), expected.data(), expected.size()) == 0);
            }
            // A copy into a view changes its bytes and no others.
            if (below(4) == 0) {
                auto before = *allot::alloc_tensor(it.plain, 4096, tensor.shape(), tensor.dtype());
                REQUIRE(allot::copy_tensor(tensor, before));
                const auto fresh = *allot::alloc_tensor(it.plain, 0, seen.shape(), seen.dtype());
                std::memset(fresh.data(), 0xEE, fresh.size_bytes());
                REQUIRE(allot::copy_tensor(fresh, seen));
                std::vector<unsigned char> all(tensor.size_bytes());
                for (std::size_t at = 0; at != all.size(); ++at) all[at] = static_cast<unsigned char>(at);
                for (const std::size_t at : model.first) std::memset(all.data() + at, 0xEE, model.element);
                for (std::size_t at = 0; at != all.size(); ++at)
                    CHECK(static_cast<const unsigned char*>(tensor.row(at / row_bytes))[at % row_bytes] == all[at]);
                REQUIRE(allot::copy_tensor(before, tensor));
            }
        }
    }
    CHECK(views > 900);
    CHECK(refused > 100);
}
