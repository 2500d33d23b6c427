// SPDX-License-Identifier: BSL-1.0
// progress: reports the current work on standard error. On a terminal, one line that is rewritten; otherwise a line for
// each finished piece of work.
#pragma once

#include <chrono>
#include <cstdio>
#include <string>

#if __has_include(<unistd.h>)
#include <unistd.h>
#endif

namespace demo {

class progress {
    using clock = std::chrono::steady_clock;

public:
    void begin(std::string what) {
        what_ = std::move(what);
        started_ = clock::now();
        shown_ = {};
    }
    void at(std::size_t now, std::size_t all) {
        if (!terminal_ || clock::now() - shown_ < std::chrono::milliseconds{50}) return;
        shown_ = clock::now();
        std::fprintf(stderr, "\r\033[K%s  step %zu of %zu", what_.c_str(), now + 1, all);
        std::fflush(stderr);
    }
    void end() {
        const std::chrono::duration<double> took = clock::now() - started_;
        if (!terminal_) std::fprintf(stderr, "%s  %.2f s\n", what_.c_str(), took.count());
    }
    /// Prints a line that is not overwritten.
    void say(const std::string& what) {
        clear();
        std::fprintf(stderr, "%s\n", what.c_str());
    }
    void clear() {
        if (terminal_) std::fputs("\r\033[K", stderr);
    }

private:
#if __has_include(<unistd.h>)
    bool terminal_ = ::isatty(2) != 0;
#else
    bool terminal_ = false;
#endif
    std::string what_;
    clock::time_point started_{}, shown_{};
};

}  // namespace demo
