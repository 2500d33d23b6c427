// SPDX-License-Identifier: BSL-1.0
// tightly_coupled: scope global.vtcm is a memory of fixed size at a fixed address, as the TCM of a microcontroller or
// the VTCM of a Hexagon. Here, arrays replace these memories.
#pragma once

#include "host_memory.hpp"

#include <memory>

namespace vm {

class tightly_coupled_memory : public host_access {
    struct alignas(region_align) page {
        std::byte bytes[region_align];
    };
    using window = std::unique_ptr<page[]>;

    [[nodiscard]] static window make(std::size_t size) { return std::make_unique<page[]>(size / sizeof(page)); }

    window first_, second_;  // declared first, because they must outlive the arenas

public:
    using vtcm_allocator = allot::arena<allot::host::tightly_coupled, placement>;

    explicit tightly_coupled_memory(const memory_sizes& sizes)
        : first_{make(sizes.vtcm)},
          second_{make(sizes.vtcm)},
          global{arena_of<heap_arena>({}, sizes.global)},
          vtcm{vtcm_allocator{{first_.get(), sizes.vtcm}}, vtcm_allocator{{second_.get(), sizes.vtcm}}} {}

    heap_arena global;
    vtcm_allocator vtcm[2];
};

}  // namespace vm
