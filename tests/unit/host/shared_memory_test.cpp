#include "../../in_child.hpp"

#include <allot/allot.hpp>
#include <allot/host/shared_memory.hpp>

#include <doctest/doctest.h>

#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include <cstdio>
#include <cstring>
#include <string>

namespace {

using namespace allot::literals;
using allot::host::shared_memory;

/// Returns a name that is unique to this process.
std::string name_for(const char* what) { return "/allot-" + std::to_string(::getpid()) + "-" + what; }

/// The two ends of a connection.
struct connection {
    int ends[2] = {-1, -1};
    connection() { REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0); }
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;
    ~connection() {
        for (const int end : ends) ::close(end);
    }
    void close(int which) {
        ::close(ends[which]);
        ends[which] = -1;
    }
};

/// Sends one descriptor twice in one message.
bool send_two(int socket, int descriptor) {
    const int both[2] = {descriptor, descriptor};
    char byte = 0;
    iovec bytes{&byte, 1};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof both)]{};
    msghdr message{};
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* const rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof both);
    std::memcpy(CMSG_DATA(rights), both, sizeof both);
    return ::sendmsg(socket, &message, 0) == 1;
}

std::size_t open_descriptors() {
    std::size_t n = 0;
    for (int i = 0; i != 256; ++i) n += ::fcntl(i, F_GETFD) >= 0;
    return n;
}

}  // namespace

TEST_CASE("shared memory: every mapping has the same bytes") {
    const std::size_t before = open_descriptors();
    {
        auto here = shared_memory::create(10'000);
        auto other = shared_memory::create(10'000);
        REQUIRE(here);
        REQUIRE(other);
        auto there = shared_memory::attach(::dup(here->descriptor()));
        REQUIRE(there);
        CHECK(here->base() != there->base());
        CHECK(there->capacity() == 10'000);
        auto* const bytes = static_cast<unsigned char*>(here->base());
        for (std::size_t i = 0; i != 10'000; ++i) REQUIRE(bytes[i] == 0);
        std::memset(here->base(), 7, 10'000);
        CHECK(std::memcmp(here->base(), there->base(), 10'000) == 0);
        CHECK(static_cast<unsigned char*>(other->base())[9'999] == 0);

        // The size is sealed. If another process could truncate the memory, the next access would fault.
        CHECK(::ftruncate(there->descriptor(), 0) != 0);
        CHECK(::ftruncate(there->descriptor(), 20'000) != 0);

        shared_memory moved{std::move(*there)};
        CHECK(there->capacity() == 0);
        CHECK(static_cast<unsigned char*>(moved.base())[9'999] == 7);
    }
    CHECK(open_descriptors() == before);
}

TEST_CASE("shared memory: a name finds the memory until the name is unlinked") {
    const std::string name = name_for("named");
    CHECK(shared_memory::open(name.c_str()).error() == ENOENT);
    auto first = shared_memory::create(name.c_str(), 10'000);
    REQUIRE(first);
    CHECK(shared_memory::create(name.c_str(), 10'000).error() == EEXIST);
    {
        rlimit descriptors{};
        REQUIRE(::getrlimit(RLIMIT_NOFILE, &descriptors) == 0);
        const rlimit none{.rlim_cur = 0, .rlim_max = descriptors.rlim_max};
        REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
        const auto refused = shared_memory::create(name.c_str(), 10'000);
        REQUIRE(::setrlimit(RLIMIT_NOFILE, &descriptors) == 0);
        CHECK(refused.error() == EMFILE);  // the existing name stays
    }
    auto second = shared_memory::open(name.c_str());
    REQUIRE(second);
    std::memset(first->base(), 7, 10'000);
    CHECK(static_cast<unsigned char*>(second->base())[9'999] == 7);
    CHECK(::shm_unlink(name.c_str()) == 0);
    CHECK(shared_memory::open(name.c_str()).error() == ENOENT);
    CHECK(static_cast<unsigned char*>(second->base())[9'999] == 7);

    // The creator has made the name, but the memory has no size yet.
    const int file = ::shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
    REQUIRE(file >= 0);
    CHECK(shared_memory::open(name.c_str()).error() == EAGAIN);
    ::close(file);
    ::shm_unlink(name.c_str());
}

TEST_CASE("shared memory: a failed call reports the system's error and leaves nothing behind") {
    const std::size_t before = open_descriptors();
    const std::string name = name_for("refused");
    CHECK(shared_memory::create(0).error() == EINVAL);
    CHECK(shared_memory::create(static_cast<std::size_t>(-1)).error() != 0);
    if constexpr (sizeof(std::size_t) == 8) CHECK(shared_memory::create(static_cast<std::size_t>(-1) / 4).error() != 0);
    CHECK(shared_memory::create(name.c_str(), 0).error() == EINVAL);
    CHECK(shared_memory::create(name.c_str(), static_cast<std::size_t>(-1)).error() != 0);
    CHECK(shared_memory::open(name.c_str()).error() == ENOENT);
    CHECK(shared_memory::create("/a/b", 1000).error() != 0);
    CHECK(shared_memory::attach(-1).error() == EBADF);
    CHECK(shared_memory::attach(::open("/dev", O_RDONLY | O_CLOEXEC)).error() != 0);
    CHECK(open_descriptors() == before);

    auto memory = shared_memory::create(10'000);
    REQUIRE(memory);
    CHECK(memory->acquire({.size = 0}).error() == EINVAL);
    CHECK(memory->acquire({.size = 1, .align = 3}).error() == EINVAL);
    CHECK(memory->acquire({.size = 1, .align = 8192}).error() == EINVAL);
    CHECK(memory->acquire({.size = 10'001}).error() == ENOMEM);
    const auto all = memory->acquire({.size = 1, .align = 4096});
    REQUIRE(all);
    CHECK(all->size == 10'000);
    CHECK(memory->acquire({.size = 1}).error() == EBUSY);
    memory->release(*all);
    CHECK(memory->acquire({.size = 1}));
    CHECK(shared_memory{}.acquire({.size = 1}).error() == ENOMEM);
}

TEST_CASE("shared memory: a full /dev/shm is an error on creation, not a fault on access") {
    const int status = processes::in_child([] {
        // The child has its own mount namespace, in which /dev/shm has one megabyte.
        if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
            ::mount("allot", "/dev/shm", "tmpfs", 0, "size=1m") != 0)
            return 77;
        if (shared_memory::create("/big", 2_MiB).error() != ENOSPC) return 1;
        if (shared_memory::open("/big").error() != ENOENT) return 2;
        const auto first = shared_memory::create("/first", 700_KiB);
        if (!first || shared_memory::create("/second", 700_KiB).error() != ENOSPC) return 3;
        std::memset(first->base(), 1, first->capacity());
        return 0;
    });
    if (status == 77) std::puts("skipped: only root can mount a small /dev/shm");
    CHECK((status == 0 || status == 77));
}

TEST_CASE("shared memory: a socket transfers the memory") {
    const std::size_t before = open_descriptors();
    {
        connection pair;
        const int status = processes::in_child([&] {
            auto memory = shared_memory::create(10'000);
            if (!memory) return 1;
            std::memset(memory->base(), 7, 10'000);
            return memory->send(pair.ends[1]);
        });
        CHECK(status == 0);
        const auto memory = shared_memory::receive(pair.ends[0]);  // the creator has ended
        REQUIRE(memory);
        CHECK(memory->capacity() == 10'000);
        CHECK(static_cast<unsigned char*>(memory->base())[9'999] == 7);
        CHECK((::fcntl(memory->descriptor(), F_GETFD) & FD_CLOEXEC) != 0);

        CHECK(::send(pair.ends[1], "x", 1, 0) == 1);
        CHECK(shared_memory::receive(pair.ends[0]).error() == EBADMSG);
        REQUIRE(send_two(pair.ends[1], memory->descriptor()));
        CHECK(processes::in_child([&] {  // a process without a free descriptor
                  const rlimit none{3, 3};
                  if (memory->send(pair.ends[0]) != 0 || ::setrlimit(RLIMIT_NOFILE, &none) != 0) return 1;
                  return shared_memory::receive(pair.ends[1]).error() == ENOBUFS ? 0 : 2;
              }) == 0);
        const std::size_t open = open_descriptors();
        CHECK(shared_memory::receive(pair.ends[0]).error() == EBADMSG);  // more than one descriptor
        CHECK(open_descriptors() == open);
        pair.close(1);
        CHECK(shared_memory::receive(pair.ends[0]).error() == ECONNRESET);
        CHECK(memory->send(pair.ends[0]) == EPIPE);
        CHECK(shared_memory::receive(-1).error() == EBADF);
        CHECK(memory->send(-1) == EBADF);
        CHECK(shared_memory{}.send(pair.ends[0]) == EBADF);
    }
    CHECK(open_descriptors() == before);
}

TEST_CASE("shared memory: other processes find the blocks of an arena at their offsets") {
    auto memory = shared_memory::create(64_KiB);
    REQUIRE(memory);
    auto there = shared_memory::attach(::dup(memory->descriptor()));
    REQUIRE(there);
    auto* const from = static_cast<std::byte*>(memory->base());
    allot::arena<shared_memory, allot::best_fit<>> arena{std::move(*memory)};
    const auto block = arena.allocate({.size = 1000, .align = 256});
    REQUIRE(block);
    std::memset(block.address, 9, block.size);
    const auto offset = static_cast<std::byte*>(block.address) - from;
    CHECK(static_cast<std::byte*>(there->base())[offset + 999] == std::byte{9});
    CHECK(arena.diagnose({.size = 64_KiB}).reason == allot::refusal::exhausted);
}
