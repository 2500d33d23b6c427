// One arena in two processes (Linux): the child allocates a block, and the parent reads it and frees it.
#include <allot/allot.hpp>
#include <allot/arena/shared_arena.hpp>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <utility>

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace allot::literals;

static int child(int socket) {
    auto memory = allot::host::shared_memory::receive(socket);
    if (!memory) return 1;
    auto arena = allot::shared_arena<>::attach(std::move(*memory));
    if (!arena) return 1;
    const auto block = arena->allocate({.size = 4096, .align = 64});
    if (!block) return 1;
    std::strcpy(static_cast<char*>(block.address), "written by the child");
    const std::uint64_t offset = arena->offset_of(block);  // a pointer is valid in one process only
    return ::write(socket, &offset, sizeof offset) == sizeof offset ? 0 : 1;
}

int main() {
    int sockets[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0) return 1;
    const pid_t other = ::fork();
    ::close(sockets[other == 0 ? 0 : 1]);
    if (other < 0) return 1;
    if (other == 0) _exit(child(sockets[1]));

    auto memory = allot::host::shared_memory::create(1_MiB);
    if (!memory) return 1;
    auto arena = allot::shared_arena<>::create(std::move(*memory));
    if (!arena || arena->memory().send(sockets[0]) != 0) return 1;  // the child attaches to a complete arena

    std::uint64_t offset = 0;
    if (::read(sockets[0], &offset, sizeof offset) != sizeof offset) return 1;
    const auto block = arena->block_at(offset, 4096);
    std::printf("%s, at byte %llu of the memory\n", static_cast<const char*>(block.address),
                static_cast<unsigned long long>(offset));
    arena->deallocate(block);

    int status = 1;
    ::waitpid(other, &status, 0);
    return status;
}
