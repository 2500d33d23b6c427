// SPDX-License-Identifier: BSL-1.0
// metal: scope global.vtcm is a Metal buffer in shared storage, on the device that `Open` returns. A tensor is the
// buffer and an offset. The host copies and computes in the buffer's contents.
#pragma once

#include "host_memory.hpp"

#include <allot/metal/memory.hpp>

namespace vm {

template <class Device, Device* (*Open)()>
class metal_memory : public host_access {
    using buffer = allot::metal::buffer<Device>;
    using address = typename buffer::address;
    using buffer_operand = operand<address>;

    [[nodiscard]] static buffer open() {
        Device* const found = Open();
        if (found == nullptr) throw unavailable{"Metal found no device"};
        return buffer{found};
    }

public:
    using vtcm_allocator = allot::arena<buffer, placement>;

    explicit metal_memory(const memory_sizes& sizes)
        : global{arena_of<heap_arena>({}, sizes.global)},
          vtcm{arena_of<vtcm_allocator>(open(), sizes.vtcm), arena_of<vtcm_allocator>(open(), sizes.vtcm)} {}

    using host_access::copy;
    [[nodiscard]] long copy(const void* from, address to, std::size_t bytes) const noexcept {
        return copy(from, allot::metal::contents(to), bytes);
    }
    [[nodiscard]] long copy(address from, void* to, std::size_t bytes) const noexcept {
        return copy(allot::metal::contents(from), to, bytes);
    }
    [[nodiscard]] long copy(address from, address to, std::size_t bytes) const noexcept {
        return copy(allot::metal::contents(from), allot::metal::contents(to), bytes);
    }

    using host_access::run;
    [[nodiscard]] long run(operation what, allot::dtype type, std::size_t count, const buffer_operand& a,
                           const buffer_operand& b, const buffer_operand& c) const {
        const auto rows_of = [](const buffer_operand& of) {
            return host_rows{typename buffer::address_model{}, of,
                             [](address at) { return allot::metal::contents(at); }};
        };
        return run_on_host(what, type, count, rows_of(a), rows_of(b), rows_of(c));
    }

    heap_arena global;
    vtcm_allocator vtcm[2];
};

}  // namespace vm
