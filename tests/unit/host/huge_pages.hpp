// Huge pages for a test: as root, who fills the system's reserve for that time.
#pragma once

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <fstream>

namespace huge_pages {

/// Huge pages in the system's reserve, until it ends. Programs that do this at the same time take turns.
class reserve {
public:
    explicit reserve(std::size_t pages) : lock_{::open(path, O_RDONLY | O_CLOEXEC)} {
        ::flock(lock_, LOCK_EX);
        std::ifstream{path} >> before_;
        set(before_ + pages);
        std::size_t now = 0;
        std::ifstream{path} >> now;
        holds_ = now >= before_ + pages;
        if (!holds_) std::puts("skipped: no huge pages are to be had (that takes root, and memory that is not cut up)");
    }
    reserve(const reserve&) = delete;
    reserve& operator=(const reserve&) = delete;
    ~reserve() {
        set(before_);
        ::close(lock_);
    }
    explicit operator bool() const { return holds_; }
    /// What others keep free stays free: as many pages as are free now can be taken.
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
