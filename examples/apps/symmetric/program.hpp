// SPDX-License-Identifier: BSL-1.0
// The program, for any memory with a part on every rank. The output of rank 0 is independent of the number of ranks.
#pragma once

#include "cache.hpp"
#include "halo.hpp"

#include <cstdio>
#include <cstring>

namespace example {

template <class Device, class Ranks>
void run(Ranks& ranks, bool diverging) {
    memory_of_ranks<Device, Ranks> memory{{Device{ranks}, 1_MiB}, ranks};
    // Deliberate error: one rank allocates, and the others do not.
    if (diverging && ranks.rank() == ranks.size() - 1) static_cast<void>(memory.allocate({.size = 64}));

    plate<Device, Ranks> heat{memory, ranks};
    for (int step = 0; step != heat_steps; ++step) heat.step();
    const std::uint64_t heat_sum = heat.sum();

    cache<Device, Ranks> values{memory, ranks};
    serve_all(values);
    const std::uint64_t values_sum = values.sum();

    if (ranks.rank() != 0) return;
    std::printf("heat: %d x %d cells, %d steps: %016llx\n", plate_rows, plate_columns, heat_steps,
                static_cast<unsigned long long>(heat_sum));
    std::printf("cache: %d hits, %d misses, %d evictions: %016llx\n", values.counts().hits, values.counts().misses,
                values.counts().evictions, static_cast<unsigned long long>(values_sum));
}

/// Implements `main`. Returns 0; 1 with a line on standard error on failure; 2 for invalid usage.
template <class Device, class Ranks>
[[nodiscard]] int run_program(Ranks& ranks, int argc, char** argv) {
    const bool diverging = argc == 2 && std::strcmp(argv[1], "--diverge") == 0;
    if (argc > 1 && !diverging) {
        if (ranks.rank() == 0) std::fprintf(stderr, "usage: mpirun -n RANKS %s [--diverge]\n", argv[0]);
        return 2;
    }
    try {
        run<Device>(ranks, diverging);
    } catch (const std::exception& reason) {
        std::fprintf(stderr, "rank %d: %s\n", ranks.rank(), reason.what());
        return 1;
    }
    return 0;
}

}  // namespace example
