// SPDX-License-Identifier: BSL-1.0
// shmem: scope global.vtcm is an object in the symmetric heap of OpenSHMEM, for a program with one processing element
// (oshrun -n 1). A tensor is the object and an offset. Copies are puts and gets to this element's own part. Kernels run
// on the host through the part's address.
#pragma once

#include "../shmem_session.hpp"
#include "host_memory.hpp"

#include <allot/shmem/heap.hpp>

namespace vm {

class shmem_memory : public host_access {
    using heap = allot::shmem::heap;
    using address = heap::address;
    using heap_operand = operand<address>;

    [[nodiscard]] static allot::shmem::processing_elements& ranks() {
        if (allot::shmem::processing_elements* const running = shmem_session()) return *running;
        throw unavailable{"the program must be started by OpenSHMEM's launcher: oshrun -n 1 tensor_vm"};
    }
    [[nodiscard]] heap::remote_address own(address at) const noexcept {
        return {{at.handle, ranks_->rank()}, at.offset};
    }

    allot::shmem::processing_elements* ranks_ = &ranks();

public:
    using vtcm_allocator =
        allot::arena<heap, placement, allot::growth::none<>, allot::arena_options{.align = region_align}>;

    explicit shmem_memory(const memory_sizes& sizes)
        : global{arena_of<heap_arena>({}, sizes.global)},
          vtcm{arena_of<vtcm_allocator>({*ranks_}, sizes.vtcm), arena_of<vtcm_allocator>({*ranks_}, sizes.vtcm)} {}

    using host_access::copy;
    [[nodiscard]] long copy(const void* from, address to, std::size_t bytes) const noexcept {
        const heap::error put = heap::put(from, own(to), bytes);
        return static_cast<long>(put != heap::error::none ? put : heap::flush(own(to).handle));
    }
    [[nodiscard]] long copy(address from, void* to, std::size_t bytes) const noexcept {
        return static_cast<long>(heap::get(own(from), to, bytes));
    }
    [[nodiscard]] long copy(address from, address to, std::size_t bytes) const noexcept {
        return copy(heap::local(from), to, bytes);
    }

    using host_access::run;
    [[nodiscard]] long run(operation what, allot::dtype type, std::size_t count, const heap_operand& a,
                           const heap_operand& b, const heap_operand& c) const {
        const auto rows_of = [](const heap_operand& of) {
            return host_rows{heap::address_model{}, of, [](address at) { return heap::local(at); }};
        };
        return run_on_host(what, type, count, rows_of(a), rows_of(b), rows_of(c));
    }

    heap_arena global;
    vtcm_allocator vtcm[2];
};

}  // namespace vm
