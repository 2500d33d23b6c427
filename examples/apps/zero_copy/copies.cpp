// SPDX-License-Identifier: BSL-1.0
#include "copies.hpp"

#include <CL/opencl.hpp>

#include <string>

#include <fcntl.h>
#include <unistd.h>

namespace {

constexpr std::size_t few_bytes = 2048;  // the minimum to count: the sums of a frame
std::size_t calls = 0;

void count(std::size_t bytes) {
    if (bytes >= few_bytes) ++calls;
}

}  // namespace

std::size_t copying_calls() { return calls; }

// The linker redirects calls of f to __wrap_f; __real_f is the original f.
#define COUNTED(function)                                                   \
    void* __real_##function(void*, const void*, std::size_t);               \
    void* __wrap_##function(void* to, const void* from, std::size_t size) { \
        count(size);                                                        \
        return __real_##function(to, from, size);                           \
    }
extern "C" {
COUNTED(memcpy)
COUNTED(memmove)
#ifdef __clang__
#if __has_feature(address_sanitizer)  // clang mostly calls these functions then
COUNTED(__asan_memcpy)
COUNTED(__asan_memmove)
#endif
#endif
decltype(clEnqueueReadBuffer) __real_clEnqueueReadBuffer, __wrap_clEnqueueReadBuffer;
cl_int __wrap_clEnqueueReadBuffer(cl_command_queue queue, cl_mem from, cl_bool wait, std::size_t offset,
                                  std::size_t size, void* to, cl_uint events, const cl_event* before, cl_event* done) {
    count(size);
    return __real_clEnqueueReadBuffer(queue, from, wait, offset, size, to, events, before, done);
}
}

std::vector<std::uint64_t> physical_pages(pid_t process, const void* address, std::size_t size) {
    // The bits of the page number in an entry of the page map.
    constexpr std::uint64_t number = (std::uint64_t{1} << 55) - 1;
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const auto first = reinterpret_cast<std::uintptr_t>(address) / page;
    std::vector<std::uint64_t> pages(size / page);
    const int map = ::open(("/proc/" + std::to_string(process) + "/pagemap").c_str(), O_RDONLY | O_CLOEXEC);
    if (map < 0) return {};
    const std::size_t bytes = pages.size() * sizeof pages[0];
    const ssize_t got = ::pread(map, pages.data(), bytes, static_cast<off_t>(first * sizeof pages[0]));
    ::close(map);
    if (got != static_cast<ssize_t>(bytes)) return {};
    for (std::uint64_t& entry : pages) entry &= number;
    const bool hidden = std::all_of(pages.begin(), pages.end(), [](std::uint64_t entry) { return entry == 0; });
    return hidden ? std::vector<std::uint64_t>{} : pages;
}
