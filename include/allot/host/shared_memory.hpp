// SPDX-License-Identifier: BSL-1.0
// shared_memory: memory that several processes map, each at its own address (Linux). It is anonymous or named.
//
//     auto memory = allot::host::shared_memory::create(64_MiB).value();            // in one process
//     memory.send(socket);
//     auto same = allot::host::shared_memory::receive(socket).value();             // in the other process
//     auto named = allot::host::shared_memory::create("/frames", 64_MiB).value();  // or: open("/frames") elsewhere
//
//     process 1   │ 0x7f10… ▓▓▓▓ block ▓▓ │          the same bytes: processes exchange the offset of a block from the
//     process 2          │ 0x7f98… ▓▓▓▓ block ▓▓ │   base, because a pointer is valid in one process only
//
// The device has one window. An arena over it serves one process, and other processes find its blocks by offset. To let
// every process allocate and free in one arena, pass the device to a `shared_arena`.
//
// System rules: the size of a memfd_create(2) file is sealed, so that no other process can truncate the memory. A
// shm_overview(7) name begins with a slash and lasts until `shm_unlink`. Any process with write permission can truncate
// named memory. Descriptors travel over a UNIX socket (unix(7), cmsg(3)).
// Reservation: named memory is reserved on creation, which fails with ENOSPC if /dev/shm is full. The system allocates
// anonymous memory on first access.
//
// When to use: for zero-copy exchange between trusted processes on one host.
// When not to use: between processes that do not trust each other, and for memory of one process. Use `pages` for the
// latter.
// Complexity: a few system calls for each object. `acquire` and `release` take constant time.
// Memory: whole pages. The object stores a descriptor, an address, a size, and a flag.
// Thread safety: not synchronized.
#pragma once

#include <allot/address/raw_pointer.hpp>
#include <allot/core/device.hpp>

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace allot {
inline namespace v1 {
namespace host {

namespace detail {

// A message of one byte with space for one descriptor.
struct descriptor_message {
    char byte = 0;
    iovec bytes{&byte, 1};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))]{};
    msghdr header{};

    descriptor_message() noexcept {
        header.msg_iov = &bytes;
        header.msg_iovlen = 1;
        header.msg_control = control;
        header.msg_controllen = CMSG_LEN(sizeof(int));  // excludes the padding, in which a second descriptor would fit
    }
    descriptor_message(const descriptor_message&) = delete;
    descriptor_message& operator=(const descriptor_message&) = delete;
};

}  // namespace detail

/// Device over one mapping that other processes share.
class shared_memory : public pointer_memory_traits<shared_memory> {
public:
    using error = int;                              ///< An `errno` value.
    static constexpr std::size_t min_align = 4096;  ///< Minimum alignment in every process, in bytes.
    static constexpr std::size_t granularity = 1;   ///< Region sizes are multiples of this, in bytes.
    using made = result<shared_memory, error>;      ///< Result of the functions that create a device.

    /// Creates a device without memory. Every acquisition fails.
    shared_memory() noexcept = default;
    /// Creates zeroed, unnamed memory whose size cannot change. Fails with an `errno` value: EINVAL for a size of 0,
    /// EFBIG for a size above the limit of a file, otherwise the error of the system call.
    [[nodiscard]] static made create(std::size_t size) noexcept {
        constexpr int sealed = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
        return sized(::memfd_create("allot", MFD_CLOEXEC | MFD_ALLOW_SEALING), size,
                     [](int file, off_t) { return ::fcntl(file, F_ADD_SEALS, sealed) == 0 ? 0 : errno; });
    }
    /// Creates zeroed memory under a new name, accessible to this user. Fails with an `errno` value: EEXIST if the name
    /// is in use, ENOSPC if /dev/shm is full.
    [[nodiscard]] static made create(const char* name, std::size_t size) noexcept {
        const int created = ::shm_open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
        if (created < 0) return made::failure(errno);
        made answer = sized(created, size, [](int file, off_t whole) { return ::posix_fallocate(file, 0, whole); });
        if (!answer) ::shm_unlink(name);
        return answer;
    }
    /// Opens the memory of a name. Fails with an `errno` value: ENOENT if the name does not exist, EAGAIN while another
    /// process is creating the memory.
    [[nodiscard]] static made open(const char* name) noexcept {
        const int file = ::shm_open(name, O_RDWR | O_CLOEXEC, 0);
        return file < 0 ? made::failure(errno) : attach(file);
    }
    /// Receives the memory that the other side of a UNIX socket sends. Fails with an `errno` value: ECONNRESET if that
    /// side is closed, EBADMSG if the message does not carry exactly one descriptor, ENOBUFS if this process cannot
    /// open more descriptors.
    [[nodiscard]] static made receive(int socket) noexcept {
        detail::descriptor_message message;
        ssize_t got = 0;
        while ((got = ::recvmsg(socket, &message.header, MSG_CMSG_CLOEXEC)) < 0) {
            if (errno != EINTR) return made::failure(errno);
        }
        int file = -1;
        if (const cmsghdr* const rights = CMSG_FIRSTHDR(&message.header);
            rights != nullptr && rights->cmsg_level == SOL_SOCKET && rights->cmsg_type == SCM_RIGHTS)
            std::memcpy(&file, CMSG_DATA(rights), sizeof file);
        const bool is_cut = (message.header.msg_flags & MSG_CTRUNC) != 0;
        if (file < 0) return made::failure(is_cut ? ENOBUFS : got == 0 ? ECONNRESET : EBADMSG);
        return is_cut ? refuse(file, EBADMSG) : attach(file);  // more than one descriptor
    }
    /// Maps the memory behind a descriptor. Takes ownership of the descriptor and closes it on failure. Fails with an
    /// `errno` value: EAGAIN for an empty file, EFBIG for a file above the address space.
    [[nodiscard]] static made attach(int descriptor) noexcept {
        struct stat about {};
        if (::fstat(descriptor, &about) != 0) return refuse(descriptor, errno);
        if (about.st_size == 0) return refuse(descriptor, EAGAIN);
        if (static_cast<std::uint64_t>(about.st_size) > std::numeric_limits<std::size_t>::max())
            return refuse(descriptor, EFBIG);
        const auto size = static_cast<std::size_t>(about.st_size);
        void* const base = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
        if (base == MAP_FAILED) return refuse(descriptor, errno);
        return shared_memory{descriptor, base, size};
    }

    /// Moves the mapping. The source has no memory afterward.
    shared_memory(shared_memory&& other) noexcept
        : descriptor_{std::exchange(other.descriptor_, -1)},
          base_{std::exchange(other.base_, nullptr)},
          size_{std::exchange(other.size_, 0)},
          in_use_{std::exchange(other.in_use_, false)} {}
    shared_memory& operator=(shared_memory&&) = delete;
    /// Unmaps the memory from this process. The memory lives until its last mapping, descriptor, and name are gone.
    ~shared_memory() {
        if (base_ != nullptr) ::munmap(base_, size_);
        if (descriptor_ >= 0) ::close(descriptor_);
    }

    /// Sends the memory over a UNIX socket. The other side receives its own descriptor. Returns 0 or an `errno` value.
    [[nodiscard]] error send(int socket) const noexcept {
        detail::descriptor_message message;
        cmsghdr* const rights = CMSG_FIRSTHDR(&message.header);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(sizeof descriptor_);
        std::memcpy(CMSG_DATA(rights), &descriptor_, sizeof descriptor_);
        while (::sendmsg(socket, &message.header, MSG_NOSIGNAL) < 0) {
            if (errno != EINTR) return errno;
        }
        return 0;
    }

    /// Returns the descriptor, which the device owns.
    [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
    /// Returns the address of the first byte in this process.
    [[nodiscard]] void* base() const noexcept { return base_; }
    /// Returns the size in bytes.
    [[nodiscard]] std::size_t capacity() const noexcept { return size_; }

    /// Acquires all of the memory for one allocator of this process. Fails with an `errno` value: EBUSY if the memory
    /// is already acquired; EINVAL for an invalid layout or an alignment above `min_align`, which the mappings of other
    /// processes may lack; ENOMEM if the memory is too small.
    [[nodiscard]] acquired<shared_memory> acquire(layout wanted) noexcept {
        if (in_use_) return acquired<shared_memory>::failure(EBUSY);
        if (!wanted.is_valid() || wanted.align > min_align) return acquired<shared_memory>::failure(EINVAL);
        if (wanted.size > size_) return acquired<shared_memory>::failure(ENOMEM);
        in_use_ = true;
        return region<void*>{base_, size_, min_align};
    }
    /// Makes the memory available again.
    void release(region<void*>) noexcept { in_use_ = false; }

private:
    shared_memory(int descriptor, void* base, std::size_t size) noexcept
        : descriptor_{descriptor}, base_{base}, size_{size} {}

    [[nodiscard]] static made refuse(int descriptor, error reason) noexcept {
        ::close(descriptor);
        return made::failure(reason);
    }
    // Sets the size of a new file, calls `settle` on it, and maps it.
    template <class Settle>
    [[nodiscard]] static made sized(int file, std::size_t size, Settle settle) noexcept {
        if (file < 0) return made::failure(errno);
        if (size == 0) return refuse(file, EINVAL);
        constexpr auto most = static_cast<std::make_unsigned_t<off_t>>(std::numeric_limits<off_t>::max());
        if (size > most) return refuse(file, EFBIG);
        const auto whole = static_cast<off_t>(size);
        if (::ftruncate(file, whole) != 0) return refuse(file, errno);
        if (const error reason = settle(file, whole); reason != 0) return refuse(file, reason);
        return attach(file);
    }

    int descriptor_ = -1;
    void* base_ = nullptr;
    std::size_t size_ = 0;
    bool in_use_ = false;
};

static_assert(bounded_device<shared_memory>);

}  // namespace host
}  // namespace v1
}  // namespace allot
