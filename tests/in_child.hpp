// Runs a part of a test in a child process, so that changes to limits and privileges end with the child.
#pragma once

#include <linux/capability.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace processes {

/// Returns the result of `body`, 0 to 255, through the exit status of the child. Returns -1 if the child ended in
/// another way. The child runs no destructors and no handlers of the test program.
template <class Body>
[[nodiscard]] int in_child(Body&& body) {
    const pid_t child = ::fork();
    if (child < 0) return -1;
    if (child == 0) ::_exit(body());
    int status = 0;
    return ::waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// Removes one capability from this process. Succeeds if the process lacks the capability.
[[nodiscard]] inline bool drop_capability(unsigned which) {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct data[2]{};
    if (::syscall(SYS_capget, &header, data) != 0) return false;
    data[which / 32].effective &= ~(1U << which % 32);
    data[which / 32].permitted &= ~(1U << which % 32);
    return ::syscall(SYS_capset, &header, data) == 0;
}

}  // namespace processes
