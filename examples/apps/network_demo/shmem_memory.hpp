// SPDX-License-Identifier: BSL-1.0
// shmem: one storage in the symmetric heap of OpenSHMEM, in a program with one processing element (oshrun -n 1).
// Tensors are the object and an offset. The host computes in its own part.
#pragma once

#include "storages.hpp"

#include <allot/shmem/heap.hpp>

#include <cstdlib>
#include <optional>

namespace demo {

class shmem_places : public planned_places<allot::shmem::heap> {
public:
    shmem_places(const network& net, tally& counts) : planned_places{net, counts, {ranks()}} {}

    [[nodiscard]] static void* reach(allot::shmem::heap::address at) noexcept { return allot::shmem::heap::local(at); }

private:
    /// OpenSHMEM can be initialized only once in a process, and is finalized at its end.
    [[nodiscard]] static allot::shmem::processing_elements& ranks() {
        struct session {
            session() {
                // Without its launcher, Open MPI's OpenSHMEM starts but does not terminate.
                if (std::getenv("OMPI_COMM_WORLD_SIZE") == nullptr && std::getenv("PMI_SIZE") == nullptr)
                    throw unavailable{"this program must be started by OpenSHMEM's launcher: oshrun -n 1 network_demo"};
                ::shmem_init();
                elements.emplace();
            }
            ~session() {
                elements.reset();
                ::shmem_finalize();
            }
            std::optional<allot::shmem::processing_elements> elements;
        };
        static session running;
        return *running.elements;
    }
};

using shmem_memory = mixed_by_host<shmem_places>;

}  // namespace demo
