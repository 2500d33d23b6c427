// SPDX-License-Identifier: BSL-1.0
// host: every scope is an arena on the heap. And what all memories share: the arena of `global`, which is on the heap
// in each of them, and kernels and copies over memory that the host reaches.
//
//     kernel operand    address, rows  ──►  row r begins at entry r from the address; without rows, all is one row
#pragma once

#include "elements.hpp"

#include <allot/allot.hpp>
#include <allot/tensor.hpp>

#include <span>

namespace vm {

/// What is missing on this machine: said to the user.
struct unavailable : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Bytes of each memory. None grows, so that no program takes more.
struct memory_sizes {
    std::size_t global = 16 << 20;
    std::size_t vtcm = 1 << 20;    // of each of the two
    std::size_t caller = 16 << 20;  // inputs and outputs
};

inline constexpr std::size_t region_align = 4096;
/// Records lie beside the memory everywhere, so that the same bytes can be had of each.
using placement = allot::best_fit<allot::best_fit_options{.store = allot::node_store::side_table}>;
using heap_arena =
    allot::arena<allot::host::heap, placement, allot::growth::none, allot::arena_options{.align = region_align}>;
/// Entries of a table: bytes from the storage's base, as 32-bit machines have pointers of four bytes.
using row_entry = allot::row_offset<std::uint32_t>;

/// A tensor as a kernel takes it.
template <class Address>
struct operand {
    Address address{};
    std::span<const std::uint32_t> rows{};
    std::size_t row_elements = 0;
};

/// The rows of an operand, as the host finds them: `reach(address)` is a pointer to a byte.
struct host_rows {
    template <class Model, class Reach>
    host_rows(Model, const operand<typename Model::address>& of, Reach&& reach) : row_elements{of.row_elements} {
        if (of.rows.empty()) begins.push_back(reach(of.address));
        for (const std::uint32_t entry : of.rows) begins.push_back(reach(Model::locate(of.address, entry)));
    }
    std::vector<void*> begins;
    std::size_t row_elements;
};

/// `c = a what b`; -1 for elements that it does not know.
[[nodiscard]] inline long run_on_host(operation what, allot::dtype type, std::size_t count, const host_rows& a,
                                      const host_rows& b, const host_rows& c) {
    const bool is_known = with_element(type, [&](auto element) {
        using T = decltype(element);
        for (std::size_t i = 0; i != count; ++i) {
            const T x = load<T>(a.begins[i / a.row_elements], i % a.row_elements);
            const T y = load<T>(b.begins[i / b.row_elements], i % b.row_elements);
            store(c.begins[i / c.row_elements], i % c.row_elements, apply(what, x, y));
        }
    });
    return is_known ? 0 : -1;
}

/// Memory with pointers, which is a part of every memory here.
struct host_access {
    [[nodiscard]] static long copy(const void* from, void* to, std::size_t bytes) noexcept {
        std::memcpy(to, from, bytes);
        return 0;
    }
    [[nodiscard]] static long run(operation what, allot::dtype type, std::size_t count, const operand<void*>& a,
                                  const operand<void*>& b, const operand<void*>& c) {
        const auto rows_of = [](const operand<void*>& of) {
            return host_rows{allot::raw_pointer{}, of, [](void* at) { return at; }};
        };
        return run_on_host(what, type, count, rows_of(a), rows_of(b), rows_of(c));
    }
};

/// An arena of so many bytes; throws `unavailable` where they are not to be had.
template <class Arena>
[[nodiscard]] Arena arena_of(typename Arena::device_type device, std::size_t size) {
    Arena made{std::move(device), size};
    if (made.size() < size) throw unavailable{"the memory gives no " + std::to_string(size) + " bytes at once"};
    return made;
}

class host_memory : public host_access {
public:
    using vtcm_allocator = heap_arena;

    explicit host_memory(const memory_sizes& sizes)
        : global{arena_of<heap_arena>({}, sizes.global)},
          vtcm{arena_of<heap_arena>({}, sizes.vtcm), arena_of<heap_arena>({}, sizes.vtcm)} {}

    heap_arena global;
    heap_arena vtcm[2];
};

}  // namespace vm
