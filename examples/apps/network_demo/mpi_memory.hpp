// SPDX-License-Identifier: BSL-1.0
// mpi: one storage in an MPI window of this process alone, as large as the plan's peak. Tensors are the window and an
// offset. The host computes in its own part of the window through its local address.
#pragma once

#include "storages.hpp"

#include <allot/mpi/window.hpp>

namespace demo {

class mpi_places : public planned_places<allot::mpi::window> {
public:
    mpi_places(const network& net, tally& counts) : planned_places{net, counts, {ranks()}} {}

    [[nodiscard]] static void* reach(allot::mpi::window::address at) noexcept { return allot::mpi::window::local(at); }

private:
    /// MPI can be initialized only once in a process, and is finalized at its end.
    [[nodiscard]] static allot::mpi::communicator& ranks() {
        struct session {
            session() { ::MPI_Init(nullptr, nullptr); }
            ~session() {
                if (allot::mpi::communicator::is_running()) ::MPI_Finalize();  // OpenSHMEM may finalize it, too
            }
        };
        static const session running;
        static allot::mpi::communicator this_process{MPI_COMM_SELF};
        return this_process;
    }
};

using mpi_memory = mixed_by_host<mpi_places>;

}  // namespace demo
