// SPDX-License-Identifier: BSL-1.0
// This machine as a board: prints to standard output; its interrupt is the signal of a timer.
#include "../board/interrupts.hpp"
#include "../board/sections.hpp"
#include "../board/semihosting.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <pthread.h>
#include <sys/time.h>
#include <unistd.h>

extern "C" void system_tick();

namespace board {
namespace {

/// Blocks or unblocks the signal. Returns whether it was blocked.
bool block_ticks(bool wanted) noexcept {
    sigset_t ticks, before;
    sigemptyset(&ticks);
    sigaddset(&ticks, SIGALRM);
    pthread_sigmask(wanted ? SIG_BLOCK : SIG_UNBLOCK, &ticks, &before);
    return sigismember(&before, SIGALRM) == 1;
}
void set_timer(std::uint32_t cycles) noexcept {
    const timeval each{0, static_cast<suseconds_t>(cycles / 25)};  // for a core at 25 MHz
    const itimerval timer{each, each};
    setitimer(ITIMER_REAL, &timer, nullptr);
}

}  // namespace

void print(const char* text) noexcept { std::fputs(text, stdout); }
void print(std::uint64_t number) noexcept { std::printf("%llu", static_cast<unsigned long long>(number)); }
void exit(int code) noexcept { std::exit(code); }

void interrupts_off::lock() noexcept {
    const bool before = block_ticks(true);
    before_ = before;
}
void interrupts_off::unlock() noexcept {
    if (before_ == 0) block_ticks(false);
}

void start_ticks(std::uint32_t cycles) noexcept {
    std::signal(SIGALRM, [](int) { system_tick(); });
    set_timer(cycles);
}
void stop_ticks() noexcept { set_timer(0); }
void wait_for_interrupt() noexcept { pause(); }

std::span<const section> sections() noexcept { return {}; }

}  // namespace board
