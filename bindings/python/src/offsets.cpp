// SPDX-License-Identifier: BSL-1.0
// An allocator of offsets. It has no memory: the bytes may be on any device, in a file or in another process.
#include "module.hpp"

#include <allot/inspect/snapshot.hpp>
#include <allot/strategy/best_fit.hpp>

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <unordered_map>

namespace allot_python {

namespace {

/// Offsets from 0 to `size`. Every live block is in a table, so that a wrong call of `free` is an exception.
class offset_allocator {
    using strategy = allot::best_fit<allot::best_fit_options{.store = allot::node_store::side_table}, std::uint64_t>;
    using allocation = allot::allocation_of<strategy>;
    using number = natural<std::uint64_t>;

public:
    explicit offset_allocator(number size) : size_{size} { insert(); }

    std::uint64_t allocate(number size, number alignment) {
        const auto made = strategy_.allocate({size, alignment});
        if (!made) refuse(strategy_.diagnose({size, alignment}));
        return keep(made);
    }
    std::uint64_t allocate_at(number offset, number size) {
        const auto made = strategy_.allocate_at({offset, size});
        if (!made) refuse(strategy_.diagnose_at({offset, size}));
        return keep(made);
    }
    void free(number offset) {
        const auto found = find(offset);
        strategy_.deallocate(found->second);
        used_ -= found->second.where.size;
        live_.erase(found);
    }
    void resize(number offset, number size) {
        if (size == 0) throw std::invalid_argument{"the size is 0"};
        allocation& held = find(offset)->second;
        if (!strategy_.resize(held, size))
            throw out_of_memory{"the block at offset " + std::to_string(offset) + " cannot have " +
                                std::to_string(size) + " bytes in place"};
        used_ += size - held.where.size;
        peak_ = std::max(peak_, used_);
        held.where.size = size;
    }
    void clear() {
        strategy_ = strategy{};
        live_.clear();
        used_ = 0;
        insert();
    }

    [[nodiscard]] std::uint64_t size() const { return size_; }
    [[nodiscard]] std::uint64_t used() const { return used_; }
    [[nodiscard]] std::uint64_t peak() const { return peak_; }
    [[nodiscard]] std::size_t count() const { return live_.size(); }
    [[nodiscard]] bool contains(std::uint64_t offset) const { return live_.contains(offset); }
    [[nodiscard]] std::uint64_t size_of(number offset) { return find(offset)->second.where.size; }
    [[nodiscard]] std::uint64_t largest_hole() const { return strategy_.diagnose({1, 1}).largest_hole; }
    [[nodiscard]] std::vector<std::pair<std::uint64_t, std::uint64_t>> holes() const {
        std::vector<std::pair<std::uint64_t, std::uint64_t>> all;
        strategy_.for_each_hole({0, size_}, [&](auto where) { all.emplace_back(where.offset, where.size); });
        return all;
    }
    [[nodiscard]] std::vector<std::pair<std::uint64_t, std::uint64_t>> blocks() const {
        std::vector<std::pair<std::uint64_t, std::uint64_t>> all;
        for (const auto& [offset, held] : live_) all.emplace_back(offset, held.where.size);
        std::ranges::sort(all);
        return all;
    }
    [[nodiscard]] std::string repr() const {
        return "<OffsetAllocator of " + std::to_string(size_) + ": " + std::to_string(live_.size()) + " blocks, " +
               std::to_string(used_) + " used, largest hole " + std::to_string(largest_hole()) + ">";
    }
    [[nodiscard]] allot::snapshot snapshot() const {
        allot::snapshot made{.allocator = "OffsetAllocator", .regions = {{0, size_}}};
        for (const auto& [offset, size] : blocks()) made.blocks.push_back({offset, size});
        for (const auto& [offset, size] : holes()) made.holes.push_back({offset, size});
        made.statistics = {.used = used_,
                           .count = live_.size(),
                           .peak = peak_,
                           .free = size_ - used_,
                           .largest_hole = largest_hole(),
                           .holes = made.holes.size()};
        return made;
    }

private:
    void insert() {
        if (!strategy_.insert({0, size_})) throw std::invalid_argument{"the size is 0"};
    }
    std::uint64_t keep(allocation made) {
        live_.emplace(made.where.offset, made);
        used_ += made.where.size;
        peak_ = std::max(peak_, used_);
        return made.where.offset;
    }
    std::unordered_map<std::uint64_t, allocation>::iterator find(std::uint64_t offset) {
        const auto found = live_.find(offset);
        if (found == live_.end()) throw std::invalid_argument{"no block starts at offset " + std::to_string(offset)};
        return found;
    }
    [[noreturn]] static void refuse(const allot::diagnosis& reason) {
        if (reason.reason == allot::refusal::empty_layout || reason.reason == allot::refusal::bad_alignment)
            throw std::invalid_argument{reason.what()};
        if (reason.reason == allot::refusal::not_free) throw out_of_memory{reason.what()};
        throw out_of_memory{std::string{reason.what()} + "; the largest hole has " +
                            std::to_string(reason.largest_hole) + " bytes"};
    }

    std::uint64_t size_, used_ = 0, peak_ = 0;
    strategy strategy_{};
    std::unordered_map<std::uint64_t, allocation> live_{};
};

}  // namespace

void bind_offsets(nb::module_& m) {
    nb::class_<offset_allocator>(m, "OffsetAllocator", R"(Allocates ranges of integers from 0 to size.

The integers can be bytes of a GPU buffer, of a file or of shared memory, or any other units. The allocator never accesses
them. Of the smallest suitable holes it takes one at a low offset. Freed neighbors join.

>>> from allot import OffsetAllocator
>>> memory = OffsetAllocator(1 << 20)
>>> a = memory.allocate(3000, alignment=64)
>>> b = memory.allocate(100)
>>> memory.free(a)
>>> memory.holes, memory.used
([(0, 3000), (3100, 1045476)], 100)
)")
        .def(nb::init<natural<std::uint64_t>>(), nb::arg("size"))
        .def("allocate", &offset_allocator::allocate, nb::arg("size"), nb::arg("alignment") = 1,
             "Returns the offset of a new block. Raises OutOfMemory if no hole fits.")
        .def("allocate_at", &offset_allocator::allocate_at, nb::arg("offset"), nb::arg("size"),
             "Allocates the given range and returns its offset. Raises OutOfMemory if a part of it is in use.")
        .def("free", &offset_allocator::free, nb::arg("offset"),
             "Frees the block that starts at an offset. Raises ValueError if there is none.")
        .def("resize", &offset_allocator::resize, nb::arg("offset"), nb::arg("size"),
             "Changes the size of a block in place. Raises OutOfMemory if the bytes behind it are in use.")
        .def("clear", &offset_allocator::clear, "Frees all blocks.")
        .def("snapshot", &offset_allocator::snapshot, "Returns the state of the allocator, which a notebook draws.")
        .def("size_of", &offset_allocator::size_of, nb::arg("offset"),
             "Returns the size of the block that starts at an offset.")
        .def("__contains__", &offset_allocator::contains, nb::arg("offset"))
        .def("__len__", &offset_allocator::count)
        .def("__repr__", &offset_allocator::repr)
        .def_prop_ro("size", &offset_allocator::size, "The number of managed units.")
        .def_prop_ro("used", &offset_allocator::used, "The sum of the sizes of all blocks.")
        .def_prop_ro("peak", &offset_allocator::peak, "The highest value of used so far.")
        .def_prop_ro("largest_hole", &offset_allocator::largest_hole, "The size of the largest hole.")
        .def_prop_ro("holes", &offset_allocator::holes, "The holes as pairs of offset and size, in ascending order.")
        .def_prop_ro("blocks", &offset_allocator::blocks,
                     "The blocks as pairs of offset and size, in ascending order.");
}

}  // namespace allot_python
