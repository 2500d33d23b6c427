// SPDX-License-Identifier: BSL-1.0
// mpi: scope global.vtcm is an MPI window of this process alone. A tensor is the window and an offset. Copies are puts
// and gets to this process's own part. Kernels run on the host through the part's address.
#pragma once

#include "host_memory.hpp"

#include <allot/mpi/window.hpp>

namespace vm {

class mpi_memory : public host_access {
    using window = allot::mpi::window;
    using address = window::address;
    using window_operand = operand<address>;

    /// MPI can be initialized only once in a process, and is finalized at its end.
    static void begin() {
        struct session {
            session() { ::MPI_Init(nullptr, nullptr); }
            ~session() {
                if (allot::mpi::communicator::is_running()) ::MPI_Finalize();
            }
        };
        static const session running;
    }
    [[nodiscard]] static MPI_Comm this_process() {
        begin();
        return MPI_COMM_SELF;
    }
    [[nodiscard]] static window::remote_address own(address at) noexcept { return {{at.handle, 0}, at.offset}; }
    [[nodiscard]] static long done(int code, address at) noexcept {
        return code != MPI_SUCCESS ? code : window::flush({at.handle, 0});
    }

    allot::mpi::communicator ranks_;

public:
    using vtcm_allocator =
        allot::arena<window, placement, allot::growth::none<>, allot::arena_options{.align = region_align}>;

    explicit mpi_memory(const memory_sizes& sizes)
        : ranks_{this_process()},
          global{arena_of<heap_arena>({}, sizes.global)},
          vtcm{arena_of<vtcm_allocator>({ranks_}, sizes.vtcm), arena_of<vtcm_allocator>({ranks_}, sizes.vtcm)} {}

    using host_access::copy;
    [[nodiscard]] long copy(const void* from, address to, std::size_t bytes) const noexcept {
        return done(window::put(from, own(to), bytes), to);
    }
    [[nodiscard]] long copy(address from, void* to, std::size_t bytes) const noexcept {
        return done(window::get(own(from), to, bytes), from);
    }
    [[nodiscard]] long copy(address from, address to, std::size_t bytes) const noexcept {
        return copy(window::local(from), to, bytes);
    }

    using host_access::run;
    [[nodiscard]] long run(operation what, allot::dtype type, std::size_t count, const window_operand& a,
                           const window_operand& b, const window_operand& c) const {
        const auto rows_of = [](const window_operand& of) {
            return host_rows{window::address_model{}, of, [](address at) { return window::local(at); }};
        };
        return run_on_host(what, type, count, rows_of(a), rows_of(b), rows_of(c));
    }

    heap_arena global;
    vtcm_allocator vtcm[2];
};

}  // namespace vm
