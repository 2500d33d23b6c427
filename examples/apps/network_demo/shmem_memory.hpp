// SPDX-License-Identifier: BSL-1.0
// shmem: one storage in the symmetric heap of OpenSHMEM, in a program with one processing element (oshrun -n 1).
// Tensors are the object and an offset. The host computes in its own part.
#pragma once

#include "../shmem_session.hpp"
#include "storages.hpp"

#include <allot/shmem/heap.hpp>

namespace demo {

class shmem_places : public planned_places<allot::shmem::heap> {
public:
    shmem_places(const network& net, tally& counts) : planned_places{net, counts, {ranks()}} {}

    [[nodiscard]] static void* reach(allot::shmem::heap::address at) noexcept { return allot::shmem::heap::local(at); }

private:
    [[nodiscard]] static allot::shmem::processing_elements& ranks() {
        if (allot::shmem::processing_elements* const running = shmem_session()) return *running;
        throw unavailable{"this program must be started by OpenSHMEM's launcher: oshrun -n 1 network_demo"};
    }
};

using shmem_memory = mixed_by_host<shmem_places>;

}  // namespace demo
