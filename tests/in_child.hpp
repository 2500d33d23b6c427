// A part of a test in a process of its own: what it does to its limits and privileges ends with it.
#pragma once

#include <linux/capability.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace processes {

/// What `body` returns, 0 to 255, as the child's exit status; -1 when it died otherwise. The child runs no destructors
/// and no handlers of the test program.
template <class Body>
[[nodiscard]] int in_child(Body&& body) {
    const pid_t child = ::fork();
    if (child < 0) return -1;
    if (child == 0) ::_exit(body());
    int status = 0;
    return ::waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// Takes one capability away from this process; fine when it has none.
[[nodiscard]] inline bool drop_capability(unsigned which) {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct data[2]{};
    if (::syscall(SYS_capget, &header, data) != 0) return false;
    data[which / 32].effective &= ~(1U << which % 32);
    data[which / 32].permitted &= ~(1U << which % 32);
    return ::syscall(SYS_capset, &header, data) == 0;
}

}  // namespace processes
