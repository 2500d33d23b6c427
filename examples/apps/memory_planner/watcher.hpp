// SPDX-License-Identifier: BSL-1.0
// watcher: ends a search that takes longer than it may or that somebody interrupts, and tells how it goes on standard error:
// one line that is written over and over on a terminal, and elsewhere now and then a line.
#pragma once

#include "report.hpp"

#include <chrono>
#include <csignal>
#include <cstdio>

#if __has_include(<unistd.h>)
#include <unistd.h>
#endif

namespace planner {

/// Set by Ctrl-C. A second one ends the program.
inline volatile std::sig_atomic_t interrupted = 0;

extern "C" inline void planner_interrupt(int signal) {
    interrupted = 1;
    std::signal(signal, SIG_DFL);
}

class watcher {
    using clock = std::chrono::steady_clock;

public:
    /// Time counts from here, and signals are heeded from here on. `of_cost`: the search tells costs, not bytes.
    watcher(const input& given, std::optional<double> budget, bool of_cost) : given_{given}, budget_{budget}, of_cost_{of_cost} { std::signal(SIGINT, planner_interrupt); }
    watcher(const watcher&) = delete;
    watcher& operator=(const watcher&) = delete;

    /// Whether the work on this memory is to end. Every memory has its share of the time that is left.
    [[nodiscard]] bool operator()(std::size_t memory, allot::plan_progress now) {
        if (interrupted) return true;
        const double passed = seconds();
        if (memory != memory_) {
            memory_ = memory;
            begun_ = passed;
        }
        show(passed, now);
        const auto left = static_cast<double>(given_.memories.size() - memory);
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
        const std::string which = given_.memories.size() > 1 ? given_.memories[memory_].name + ": " : "";
        std::fprintf(stderr, "%s%s%s%s%s, lower bound %s, %.0f s; Ctrl-C ends with this plan%s", terminal_ ? "\r\033[K" : "", which.c_str(),
                     of_cost_ ? "cost " : "", bytes(now.peak).c_str(), of_cost_ ? "" : " bytes", bytes(now.bound).c_str(), passed,
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
