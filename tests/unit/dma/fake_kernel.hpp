// A fake kernel with DMA buffers at the level of `ioctl`: nodes are ordinary files, and buffers are memfds. While an
// object exists, it answers the requests that the real kernel rejects (ENOTTY). fake_ioctl.hpp defines the `ioctl` that
// calls it. real_test.cpp tests the real drivers in the VM of tests/vm.
#pragma once

#include "../../fakes/payloads.hpp"

#include <doctest/doctest.h>

#include <linux/dma-buf.h>
#include <linux/dma-heap.h>
#include <linux/udmabuf.h>

#include <cerrno>
#include <cstdint>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace tests {

/// Temporary directory that is removed with the object.
class temporary_directory {
public:
    temporary_directory() {
        char name[] = "/tmp/allot-XXXXXX";
        REQUIRE(::mkdtemp(name) != nullptr);
        path_ = name;
    }
    temporary_directory(const temporary_directory&) = delete;
    temporary_directory& operator=(const temporary_directory&) = delete;
    ~temporary_directory() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + '/' + name; }
    void write(const std::string& name, const std::string& text) const { std::ofstream{*this / name} << text; }
    [[nodiscard]] std::string read(const std::string& name) const {
        std::ifstream file{*this / name};
        return {std::istreambuf_iterator<char>{file}, {}};
    }

private:
    std::string path_;
};

class fake_kernel {
public:
    fake_kernel() : udmabuf_{directory_ / "udmabuf"}, physical_node_{directory_ / "dma-buf-phys"} {
        REQUIRE(running == nullptr);
        running = this;
        directory_.write("reserved", "");
        directory_.write("udmabuf", "");
        directory_.write("dma-buf-phys", "");
    }
    fake_kernel(const fake_kernel&) = delete;
    fake_kernel& operator=(const fake_kernel&) = delete;
    ~fake_kernel() { running = nullptr; }

    static inline fake_kernel* running = nullptr;

    [[nodiscard]] const char* heaps() const { return directory_.path().c_str(); }  // one heap, "reserved"
    [[nodiscard]] const char* udmabuf() const { return udmabuf_.c_str(); }
    [[nodiscard]] const char* physical_node() const { return physical_node_.c_str(); }
    /// Returns the physical address of a buffer: 256 MiB for each, from 2 GiB on.
    [[nodiscard]] std::uint64_t physical_of(int descriptor) {
        return places_.try_emplace(fake::identity_of(descriptor), places_.size() + 8).first->second << 28;
    }

    int refuse_with = 0;               // errno of every allocation, or 0 for success
    bool contiguous = true;            // buffers are, which /dev/dma-buf-phys checks
    bool unmappable = false;           // buffers cannot be mapped for writing
    std::vector<int> sync_errors;      // results of the next calls of SYNC
    std::size_t allocations = 0;       // number of requests
    std::vector<std::uint64_t> syncs;  // flags of successful calls

    [[nodiscard]] int answer(int descriptor, unsigned long request, void* argument) {
        switch (request) {
            case DMA_BUF_IOCTL_SYNC: return sync(descriptor, *static_cast<dma_buf_sync*>(argument));
            case DMA_HEAP_IOCTL_ALLOC: return allocate(*static_cast<dma_heap_allocation_data*>(argument));
            case UDMABUF_CREATE: return create(*static_cast<udmabuf_create*>(argument));
            case _IOWR('D', 0, attached): return attach(descriptor, *static_cast<attached*>(argument));
            case _IOW(DMA_BUF_BASE, 10, unsigned long):
                if (!fake::is_of_kind(descriptor, fake::dma_buffer)) return fail(ENOTTY);
                *static_cast<unsigned long*>(argument) = static_cast<unsigned long>(physical_of(descriptor));
                return 0;
            default: return fail(ENOTTY);
        }
    }

private:
    struct attached {  // dma_buf_phys_data of Texas Instruments' kernels
        std::uint32_t fd;
        std::uint64_t phys;
    };
    // Each open file of the node has at most one attachment.
    int attach(int node, attached& asked) {
        if (!fake::is_of_kind(static_cast<int>(asked.fd), fake::dma_buffer)) return fail(EBADF);
        if (::lseek(node, 0, SEEK_CUR) != 0) return fail(EFAULT);
        if (!contiguous) return fail(EINVAL);
        ::lseek(node, 1, SEEK_SET);
        asked.phys = physical_of(static_cast<int>(asked.fd));
        return 0;
    }

    static int fail(int reason) {
        errno = reason;
        return -1;
    }
    int sync(int descriptor, const dma_buf_sync& asked) {
        if (!fake::is_of_kind(descriptor, fake::dma_buffer)) return fail(ENOTTY);
        if (!sync_errors.empty()) {
            const int reason = sync_errors.front();
            sync_errors.erase(sync_errors.begin());
            if (reason != 0) return fail(reason);
        }
        syncs.push_back(asked.flags);
        return 0;
    }
    int allocate(dma_heap_allocation_data& wanted) {
        ++allocations;
        if (refuse_with != 0) return fail(refuse_with);
        if (wanted.len == 0 || wanted.fd != 0 || wanted.heap_flags != 0 || wanted.fd_flags != (O_RDWR | O_CLOEXEC))
            return fail(EINVAL);
        const int memory = fake::make_payload(fake::dma_buffer, static_cast<std::size_t>(wanted.len));
        if (memory < 0) return fail(ENOMEM);
        wanted.fd = static_cast<std::uint32_t>(given(memory));
        return 0;
    }
    int create(const udmabuf_create& wanted) {
        ++allocations;
        if (refuse_with != 0) return fail(refuse_with);
        const int memory = static_cast<int>(wanted.memfd);
        const int seals = ::fcntl(memory, F_GET_SEALS);
        if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || (seals & F_SEAL_WRITE) != 0) return fail(EINVAL);
        if (wanted.size == 0 || wanted.size % 4096 != 0 || wanted.offset != 0) return fail(EINVAL);
        if (::lseek(memory, 0, SEEK_END) != static_cast<off_t>(wanted.size)) return fail(EINVAL);
        return given(fake::make_payload(fake::dma_buffer, static_cast<std::size_t>(wanted.size)));
    }
    [[nodiscard]] int given(int memory) const {
        if (!unmappable) return memory;
        const int readable = ::open(("/proc/self/fd/" + std::to_string(memory)).c_str(), O_RDONLY | O_CLOEXEC);
        ::close(memory);
        return readable;
    }

    temporary_directory directory_;
    std::string udmabuf_, physical_node_;
    std::map<std::uint64_t, std::uint64_t> places_;
};

using fake::open_descriptors;

}  // namespace tests
