// The machine of these tests: MPI's ranks and windows.
#pragma once

#include <allot/mpi/window.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

namespace machine {

using device = allot::mpi::window;
using ranks_type = allot::mpi::communicator;
inline constexpr const char* device_name = "mpi::window";
inline constexpr auto not_the_same = static_cast<device::error>(MPI_ERR_NOT_SAME);

inline std::string driver() {
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(text, &length);
    std::string all{text,
                    static_cast<std::size_t>(length)};  // "Open MPI v4.1.4, package: …", "MPICH Version:\t4.0.2\n…"
    std::replace(all.begin(), all.end(), '\t', ' ');
    return all.substr(0, all.find_first_of(",\n"));
}

/// All ranks, from before the first test until after the last.
inline ranks_type& ranks() {
    struct session {
        session() { MPI_Init(nullptr, nullptr); }
        ~session() { MPI_Finalize(); }
    };
    static session running;
    static ranks_type all{MPI_COMM_WORLD};
    return all;
}

}  // namespace machine
