// SPDX-License-Identifier: BSL-1.0
// watcher: ends a search at its time limit or on an interrupt, and reports progress on standard error: on a terminal
// one line that is rewritten, otherwise a line from time to time.
#pragma once

#include "report.hpp"

#include <chrono>
#include <csignal>
#include <cstdio>

#if __has_include(<unistd.h>)
#include <unistd.h>
#endif

namespace planner {

/// Set by Ctrl-C. A second Ctrl-C ends the program.
inline volatile std::sig_atomic_t interrupted = 0;

extern "C" inline void planner_interrupt(int signal) {
    interrupted = 1;
    std::signal(signal, SIG_DFL);
}

class watcher {
    using clock = std::chrono::steady_clock;

public:
    /// Starts the clock and handles interrupts from now on. `of_cost`: progress is in costs instead of bytes.
    watcher(const input& given, std::optional<double> budget, bool of_cost)
        : given_{given}, budget_{budget}, of_cost_{of_cost} {
        std::signal(SIGINT, planner_interrupt);
    }
    watcher(const watcher&) = delete;
    watcher& operator=(const watcher&) = delete;

    /// Returns whether to end the work on this memory. Each memory has an equal share of the remaining time, except that
    /// a cost is that of all memories.
    [[nodiscard]] bool operator()(std::size_t memory, allot::plan_progress now) {
        if (interrupted) return true;
        const double passed = seconds();
        if (memory != memory_) {
            memory_ = memory;
            begun_ = passed;
        }
        show(passed, now);
        const auto left = static_cast<double>(of_cost_ ? 1 : given_.memories.size() - memory);
        return budget_ && passed - begun_ >= (*budget_ - begun_) / left;
    }
    [[nodiscard]] double seconds() const { return std::chrono::duration<double>(clock::now() - started_).count(); }
    void clear() const {
        if (terminal_) std::fputs("\r\033[K", stderr);
    }

private:
    void show(double passed, allot::plan_progress now) {
        if (passed < next_) return;
        next_ = terminal_ ? passed + 0.1 : 2 * passed;
        const bool is_one_of_several = !of_cost_ && given_.memories.size() > 1;
        const std::string which = is_one_of_several ? given_.memories[memory_].name + ": " : "";
        std::fprintf(stderr, "%s%s%s%s%s, lower bound %s%s, %.0f s; Ctrl-C ends with this plan%s",
                     terminal_ ? "\r\033[K" : "", which.c_str(), of_cost_ ? "cost " : "", bytes(now.peak).c_str(),
                     of_cost_ ? "" : " bytes", bytes(now.bound).c_str(), gap_text(now.peak, now.bound).c_str(), passed,
                     terminal_ ? "" : "\n");
        std::fflush(stderr);
    }

    const input& given_;
    std::optional<double> budget_;
    bool of_cost_;
    clock::time_point started_ = clock::now();
    std::size_t memory_ = ~std::size_t{0};
    double begun_ = 0, next_ = 1;  // seconds
#if __has_include(<unistd.h>)
    bool terminal_ = ::isatty(2) != 0;
#else
    bool terminal_ = false;
#endif
};

}  // namespace planner
