// Runs code that a signal handler interrupts at any instruction.
#pragma once

#include <doctest/doctest.h>

#include <sys/time.h>

#include <atomic>
#include <csignal>
#include <cstddef>

namespace interrupted {

inline void (*handler)() noexcept = nullptr;
inline std::atomic<std::size_t> count = 0;

extern "C" inline void on_signal(int) {
    handler();
    count.fetch_add(1, std::memory_order_relaxed);
}

/// Calls `body` until a signal has interrupted it 500 times and has called `by` each time.
template <class Body>
void run(void (*by)() noexcept, Body body) {
    handler = by;
    count = 0;
    struct sigaction action {};
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    REQUIRE(::sigaction(SIGALRM, &action, nullptr) == 0);
    const itimerval often{{0, 50}, {0, 50}};  // microseconds
    REQUIRE(::setitimer(ITIMER_REAL, &often, nullptr) == 0);
    while (count.load(std::memory_order_relaxed) < 500) body();
    const itimerval never{};
    REQUIRE(::setitimer(ITIMER_REAL, &never, nullptr) == 0);
    std::signal(SIGALRM, SIG_IGN);
}

}  // namespace interrupted
