// Memory that crosses fake drivers: payloads behind descriptors, and the rules of their owners. A payload is a memfd
// whose name is its kind, so that a byte that one fake driver writes is the byte that another one reads, and the kernel
// itself counts references.
//
//     rule                                                           broken by
//     a descriptor of an import is open and of the stated kind       a closed descriptor, an opaque one for a DMA buffer
//     a payload has at least the stated bytes                        a size that is too large
//     an imported descriptor belongs to the driver                   a close by the program after a successful import
//     each exported descriptor is closed once                        open_descriptors() at the end of a test
#pragma once

#include <cstdint>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace fake {

inline constexpr const char *dma_buffer = "dma_buffer", *opaque = "opaque";

/// Returns the number of open descriptors of this process.
[[nodiscard]] inline std::size_t open_descriptors() {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator{"/proc/self/fd"}) ++count;
    return count;
}

/// Returns a descriptor of a new payload, or -1.
[[nodiscard]] inline int make_payload(const char* kind, std::size_t size) {
    const int made = ::memfd_create(kind, MFD_CLOEXEC);
    if (made >= 0 && ::ftruncate(made, static_cast<off_t>(size)) != 0) return ::close(made), -1;
    return made;
}
[[nodiscard]] inline bool is_of_kind(int descriptor, const char* kind) {
    std::error_code failed;
    const auto name = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(descriptor), failed);
    return !failed && name.string().find(std::string{"/memfd:"} + kind + ' ') == 0;
}
/// A number that all descriptors of one payload share, or 0 for a closed descriptor.
[[nodiscard]] inline std::uint64_t identity_of(int descriptor) {
    struct ::stat about {};
    return ::fstat(descriptor, &about) == 0 ? about.st_ino : 0;
}
[[nodiscard]] inline std::size_t size_of(int descriptor) {
    struct ::stat about {};
    return ::fstat(descriptor, &about) == 0 ? static_cast<std::size_t>(about.st_size) : 0;
}

/// Number of descriptors that the program closed after a driver had become their owner. Tests check that it is 0.
inline std::size_t lost_descriptors = 0;

/// A payload in a driver, which owns the descriptor from now on.
class held_payload {
public:
    explicit held_payload(int descriptor)
        : descriptor_{descriptor}, identity_{identity_of(descriptor)}, size_{size_of(descriptor)} {
        void* const at = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
        if (at == MAP_FAILED) std::abort();
        bytes_ = static_cast<std::byte*>(at);
    }
    held_payload(const held_payload&) = delete;
    held_payload& operator=(const held_payload&) = delete;
    ~held_payload() {
        const bool is_kept = identity_of(descriptor_) == identity_;
        if (is_kept) ::close(descriptor_);
        else ++lost_descriptors;
        ::munmap(bytes_, size_);
    }

    [[nodiscard]] std::byte* data() const { return bytes_; }
    [[nodiscard]] int descriptor() const { return descriptor_; }
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] std::uint64_t identity() const { return identity_; }
    /// Returns a new descriptor, for the program.
    [[nodiscard]] int share() const { return ::fcntl(descriptor_, F_DUPFD_CLOEXEC, 0); }

private:
    int descriptor_;
    std::uint64_t identity_;
    std::size_t size_;
    std::byte* bytes_ = nullptr;
};

}  // namespace fake
