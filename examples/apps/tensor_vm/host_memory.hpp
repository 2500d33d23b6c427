// SPDX-License-Identifier: BSL-1.0
// host: every scope is an arena on the heap. This header also has the parts that all memories share: the arena of scope
// `global`, which is always on the heap, and kernels and copies over memory that the host can access.
//
//     kernel operand    address, rows  ──►  row r begins at address + entry r; without entries, there is one row
#pragma once

#include "elements.hpp"

#include <allot/allot.hpp>
#include <allot/tensor.hpp>

#include <span>

namespace vm {

/// Thrown when this machine lacks the memory. The text describes the missing part.
struct unavailable : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The bytes of each memory. No memory grows, so a program cannot allocate more.
struct memory_sizes {
    std::size_t global = 16 << 20;
    std::size_t vtcm = 1 << 20;     // of each of the two devices
    std::size_t caller = 16 << 20;  // inputs and outputs
};

inline constexpr std::size_t region_align = 4096;
/// Records are in a side table in every memory, so that each memory has the same capacity.
using placement = allot::best_fit<allot::best_fit_options{.store = allot::node_store::side_table}>;
using heap_arena =
    allot::arena<allot::host::heap, placement, allot::growth::none<>, allot::arena_options{.align = region_align}>;
/// The entries of a table: four bytes, as pointers of 32-bit machines, that count bytes from the storage's base.
using row_entry = allot::row_offset<std::uint32_t>;

/// A tensor as an argument of a kernel.
template <class Address>
struct operand {
    Address address{};
    std::span<const std::uint32_t> rows{};
    std::size_t row_elements = 0;
};

/// The rows of an operand as pointers of the host. `reach(address)` returns a pointer to a byte.
struct host_rows {
    template <class Model, class Reach>
    host_rows(Model, const operand<typename Model::address>& of, Reach&& reach) : row_elements{of.row_elements} {
        if (of.rows.empty()) begins.push_back(reach(of.address));
        for (const std::uint32_t entry : of.rows) begins.push_back(reach(Model::locate(of.address, entry)));
    }
    std::vector<void*> begins;
    std::size_t row_elements;
};

/// Computes c = a (operation) b. Returns 0, or -1 for an unsupported dtype.
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

/// Copies and kernels for memory with pointers, which every memory includes.
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

/// Returns an arena of `size` bytes. Throws `unavailable` when the device cannot allocate them.
template <class Arena>
[[nodiscard]] Arena arena_of(typename Arena::device_type device, std::size_t size) {
    Arena made{std::move(device), size};
    if (made.size() < size)
        throw unavailable{"the memory cannot allocate " + std::to_string(size) + " contiguous bytes"};
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
