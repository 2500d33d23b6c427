// Huge pages for a test. Needs root, which fills the system's reserve during the test.
#pragma once

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <fstream>

namespace huge_pages {

/// Adds huge pages to the system's reserve for the lifetime of the object. Concurrent programs take turns.
class reserve {
public:
    explicit reserve(std::size_t pages) : lock_{::open(path, O_RDONLY | O_CLOEXEC)} {
        ::flock(lock_, LOCK_EX);
        std::ifstream{path} >> before_;
        set(before_ + pages);
        std::size_t now = 0;
        std::ifstream{path} >> now;
        holds_ = now >= before_ + pages;
        if (!holds_) std::puts("skipped: no huge pages are available (needs root, and memory that is not fragmented)");
    }
    reserve(const reserve&) = delete;
    reserve& operator=(const reserve&) = delete;
    ~reserve() {
        set(before_);
        ::close(lock_);
    }
    explicit operator bool() const { return holds_; }
    /// Returns the number of free huge pages. All of them can be acquired, because other programs wait.
    [[nodiscard]] static std::size_t free() {
        std::size_t pages = 0;
        std::ifstream{"/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages"} >> pages;
        return pages;
    }

private:
    static constexpr const char* path = "/proc/sys/vm/nr_hugepages";
    static void set(std::size_t pages) { std::ofstream{path} << pages; }

    int lock_;
    std::size_t before_ = 0;
    bool holds_ = false;
};

}  // namespace huge_pages
