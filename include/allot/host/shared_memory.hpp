// SPDX-License-Identifier: BSL-1.0
// shared_memory: memory that several processes map, each wherever it likes (Linux): anonymous, passed on as a
// descriptor, or with a name.
//
//     auto memory = allot::host::shared_memory::create(64_MiB);                    // here …
//     memory->send(socket);
//     auto same = allot::host::shared_memory::receive(socket);                     // … and there
//     auto named = allot::host::shared_memory::create("/frames", 64_MiB);          // or: open("/frames") elsewhere
//
//     process 1   │ 0x7f10… ▓▓▓▓ block ▓▓ │          the same bytes: what both know of a block is its offset from the
//     process 2          │ 0x7f98… ▓▓▓▓ block ▓▓ │   base, and no pointer in the memory means anything to the other
//
// It is a device with one window: an arena over it serves one process, whose blocks others find at their offsets. For
// one arena in which every process allocates and frees, give it to a shared_arena.
// What is relied on: memfd_create(2), whose size is sealed, so that no other process can cut the memory off;
// shm_overview(7), where names begin with a slash and last until `shm_unlink`, and whoever may write can also cut it
// off; unix(7) and cmsg(3) for descriptors over a socket. Memory with a name is reserved when it is created, and
// refused with ENOSPC where /dev/shm is full; anonymous memory is taken as it is touched, as all anonymous memory is.
//
// Complexity: a few system calls. Memory: whole pages. Thread safety: none. All processes that map it trust each other.
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

/// A message of one byte, with room for one descriptor beside it.
struct descriptor_message {
    char byte = 0;
    iovec bytes{&byte, 1};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))]{};
    msghdr header{};

    descriptor_message() noexcept {
        header.msg_iov = &bytes;
        header.msg_iovlen = 1;
        header.msg_control = control;
        header.msg_controllen = CMSG_LEN(sizeof(int));  // the rest is padding, in which a second one would fit
    }
    descriptor_message(const descriptor_message&) = delete;
    descriptor_message& operator=(const descriptor_message&) = delete;
};

}  // namespace detail

class shared_memory {
public:
    using address_model = raw_pointer;
    using error = int;  // errno
    static constexpr bool host_accessible = true;
    static constexpr offset_use offsets = offset_use::arithmetic;
    static constexpr std::size_t min_align = 4096;  // in every process, however its mapping happens to lie
    static constexpr std::size_t granularity = 1;
    static constexpr dl_device_type dl_device = dl_device_type::cpu;
    using made = result<shared_memory, error>;

    /// No memory: every acquisition is refused.
    shared_memory() noexcept = default;
    /// Zeroed memory without a name, of which the size can never change. Refused with errno.
    [[nodiscard]] static made create(std::size_t size) noexcept {
        constexpr int sealed = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
        return sized(::memfd_create("allot", MFD_CLOEXEC | MFD_ALLOW_SEALING), size,
                     [](int file, off_t) { return ::fcntl(file, F_ADD_SEALS, sealed) == 0 ? 0 : errno; });
    }
    /// Zeroed memory with a name that nothing has yet, for this user. Refused with errno: EEXIST when something has it.
    [[nodiscard]] static made create(const char* name, std::size_t size) noexcept {
        const int created = ::shm_open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
        if (created < 0) return made::failure(errno);
        made answer = sized(created, size, [](int file, off_t whole) { return ::posix_fallocate(file, 0, whole); });
        if (!answer) ::shm_unlink(name);
        return answer;
    }
    /// The memory of that name. Refused with errno: ENOENT when there is none, EAGAIN while it is being made.
    [[nodiscard]] static made open(const char* name) noexcept {
        const int file = ::shm_open(name, O_RDWR | O_CLOEXEC, 0);
        return file < 0 ? made::failure(errno) : attach(file);
    }
    /// The memory that the other side of a UNIX socket sends. Refused with errno: ECONNRESET when that side is closed,
    /// EBADMSG when it sent something else, ENOBUFS when this process can take no more descriptors.
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
        return is_cut ? refuse(file, EBADMSG) : attach(file);  // one, not several
    }
    /// The memory behind a descriptor, which it keeps, or closes when it refuses. Refused with errno.
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

    shared_memory(shared_memory&& other) noexcept
        : descriptor_{std::exchange(other.descriptor_, -1)},
          base_{std::exchange(other.base_, nullptr)},
          size_{std::exchange(other.size_, 0)},
          in_use_{std::exchange(other.in_use_, false)} {}
    shared_memory& operator=(shared_memory&&) = delete;
    /// Takes this process's mapping away. The memory lives as long as a mapping, a descriptor or a name does.
    ~shared_memory() {
        if (base_ != nullptr) ::munmap(base_, size_);
        if (descriptor_ >= 0) ::close(descriptor_);
    }

    /// Sends the memory over a UNIX socket: the other side receives a descriptor of its own. Returns errno, 0 for
    /// success.
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

    [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
    [[nodiscard]] void* base() const noexcept { return base_; }
    [[nodiscard]] std::size_t capacity() const noexcept { return size_; }

    /// All of it, for one allocator of this process. Refused with EBUSY when it is acquired, EINVAL for an alignment
    /// beyond a page, which other processes' mappings need not have, and ENOMEM when it is too small.
    [[nodiscard]] acquired<shared_memory> acquire(layout wanted) noexcept {
        if (in_use_) return acquired<shared_memory>::failure(EBUSY);
        if (!wanted.is_valid() || wanted.align > min_align) return acquired<shared_memory>::failure(EINVAL);
        if (wanted.size > size_) return acquired<shared_memory>::failure(ENOMEM);
        in_use_ = true;
        return region<void*>{base_, size_, min_align};
    }
    void release(region<void*>) noexcept { in_use_ = false; }

private:
    shared_memory(int descriptor, void* base, std::size_t size) noexcept
        : descriptor_{descriptor}, base_{base}, size_{size} {}

    [[nodiscard]] static made refuse(int descriptor, error reason) noexcept {
        ::close(descriptor);
        return made::failure(reason);
    }
    /// Gives a fresh file its size, does what `settle` does with it, and maps it.
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
