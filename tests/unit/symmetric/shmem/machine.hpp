// The machine of these tests: OpenSHMEM's processing elements and symmetric heap.
#pragma once

#include <allot/shmem/heap.hpp>

#include <doctest/doctest.h>

#include <string>

namespace machine {

using device = allot::shmem::heap;
using ranks_type = allot::shmem::processing_elements;
inline constexpr const char* device_name = "shmem::heap";
inline constexpr auto not_the_same = allot::shmem::heap_error::not_the_same;

inline std::string driver() {
    char name[SHMEM_MAX_NAME_LEN];
    int major = 0, minor = 0;
    ::shmem_info_get_name(name);
    ::shmem_info_get_version(&major, &minor);
    std::string vendor{name};  // "http://www.open-mpi.org/"
    if (const auto scheme = vendor.find("://"); scheme != std::string::npos) vendor.erase(0, scheme + 3);
    if (!vendor.empty() && vendor.back() == '/') vendor.pop_back();
    return "OpenSHMEM " + std::to_string(major) + "." + std::to_string(minor) + " of " + vendor;
}

/// All ranks, from before the first test until after the last.
inline ranks_type& ranks() {
    struct session {
        session() { ::shmem_init(); }
        ~session() { ::shmem_finalize(); }
    };
    static session running;
    static ranks_type all;
    return all;
}

}  // namespace machine
