// SPDX-License-Identifier: BSL-1.0
// Starts OpenSHMEM for a program with one processing element.
#pragma once

#include <allot/shmem/heap.hpp>

#include <cstdlib>
#include <optional>

/// Returns the processing elements, or null if OpenSHMEM's launcher did not start this program. OpenSHMEM can be
/// initialized only once in a process, and is finalized at its end.
[[nodiscard]] inline allot::shmem::processing_elements* shmem_session() {
    struct session {
        session() {
            // Without its launcher, Open MPI's OpenSHMEM starts but does not terminate.
            if (std::getenv("OMPI_COMM_WORLD_SIZE") == nullptr && std::getenv("PMI_SIZE") == nullptr) return;
            ::shmem_init();
            elements.emplace();
        }
        ~session() {
            if (!elements) return;
            elements.reset();
            ::shmem_finalize();
        }
        std::optional<allot::shmem::processing_elements> elements;
    };
    static session running;
    return running.elements ? &*running.elements : nullptr;
}
