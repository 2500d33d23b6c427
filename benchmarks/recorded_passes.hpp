// SPDX-License-Identifier: BSL-1.0
// The passes of event logs of bindings/pytorch/record_torch_cpu.py, and passes that differ from them.
#pragma once

#include "trace_files.hpp"

#include <allot/inspect/event_log.hpp>
#include <allot/plan/pass.hpp>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace benchmarks {

inline constexpr std::uint64_t unit = 16;  // sizes are rounded up to it

/// A call of a pass: a request, or the deallocation of the block of a request of this pass or the last one.
struct pass_call {
    std::uint32_t request = 0;
    bool is_deallocation = false;
    bool of_last_pass = false;
};

/// The calls of one step of a program.
struct recorded_pass {
    std::string phase{};
    std::vector<allot::pass_request> requests{};
    std::vector<pass_call> calls{};
};

/// Returns the steps of a log. Blocks that live longer than the next step of the same phase live on.
inline std::vector<recorded_pass> passes_of(const allot::event_log& log) {
    struct origin {
        std::size_t pass;
        std::uint32_t request;
    };
    std::map<std::uint64_t, origin> live;
    std::vector<recorded_pass> all;
    std::uint64_t time = 0;
    std::uint32_t turn = 0;
    for (const allot::memory_event& event : log.events) {
        if (all.empty() || event.time != time) {
            time = event.time;
            turn = 0;
            all.emplace_back();
        }
        recorded_pass& pass = all.back();
        const auto count = static_cast<std::uint32_t>(pass.requests.size());
        if (event.action == allot::memory_action::allocate) {
            const std::string tag{log.name_of(event.tag)};
            pass.phase = tag.substr(0, tag.find(':'));
            live[event.address] = {all.size() - 1, count};
            pass.requests.push_back({.size = event.size, .align = std::uint64_t{1} << event.align_log2});
            pass.calls.push_back({count});
            continue;
        }
        const auto found = live.find(event.address);
        if (found == live.end()) continue;
        const auto [number, request] = found->second;
        live.erase(found);
        const bool is_last = number + 2 == all.size();
        if (!is_last && number + 1 != all.size()) continue;
        recorded_pass& owner = all[number];
        if (is_last && owner.phase != pass.phase && !pass.phase.empty()) continue;
        allot::pass_request& freed = owner.requests[request];
        freed.until = static_cast<std::uint32_t>(owner.requests.size());
        freed.is_carried = is_last;
        if (is_last) freed.after = count;
        else freed.until = count;
        freed.turn = turn++;
        pass.calls.push_back({request, true, is_last});
    }
    return all;
}

inline std::vector<recorded_pass> passes_in(const std::string& file) {
    const auto read = allot::read_event_log(contents(file).bytes);
    if (!read) throw std::runtime_error{file + ": " + read.error.what()};
    return passes_of(read.value);
}

/// How passes differ from the recording.
enum class change : unsigned char { nothing, size, missing, order, more, mixed };

/// A request or a deallocation of several passes. A block has a number of its own.
struct played_call {
    enum class kind : unsigned char { begin, request, deallocation } what = kind::begin;
    std::uint32_t block = 0;
    std::uint64_t size = 0, align = 1;
    bool lives_on = false;
};
struct played_passes {
    std::vector<played_call> calls{};
    std::uint32_t blocks = 0;
    std::uint64_t bound = 0;  // the maximum of live bytes
};

/// Plays a pass `times` times. In each, `percent` of the requests are changed.
inline played_passes played(const recorded_pass& pass, int times, change how, unsigned percent,
                            std::uint64_t random_seed) {
    constexpr std::uint32_t none = ~std::uint32_t{0};
    std::mt19937_64 random{random_seed};
    using kind = played_call::kind;
    played_passes made;
    std::map<std::uint32_t, std::uint64_t> sizes;
    std::vector<std::uint32_t> last(pass.requests.size(), none);
    std::uint64_t live = 0;
    const auto free = [&](std::uint32_t& block) {
        if (block == none) return;
        made.calls.push_back({kind::deallocation, block});
        live -= sizes[block];
        block = none;
    };
    const auto request = [&](std::uint64_t size, const allot::pass_request& wanted) {
        const std::uint32_t block = made.blocks++;
        made.calls.push_back({kind::request, block, size, wanted.align, wanted.until == allot::lives_on});
        live += sizes[block] = allot::align_up<std::uint64_t>(size, unit);
        made.bound = std::max(made.bound, live);
        return block;
    };
    for (int i = 0; i != times; ++i) {
        made.calls.push_back({});
        std::uint32_t more = none;  // a block that the recording does not have
        std::vector<std::uint32_t> now(pass.requests.size(), none);
        std::vector<pass_call> calls = pass.calls;
        std::vector<change> changes(pass.requests.size(), change::nothing);
        for (change& each : changes)
            if (random() % 100 < percent) each = how == change::mixed ? static_cast<change>(1 + random() % 4) : how;
        for (std::size_t c = 0; c + 1 < calls.size(); ++c)
            if (!calls[c].is_deallocation && !calls[c + 1].is_deallocation &&
                changes[calls[c].request] == change::order) {
                std::swap(calls[c], calls[c + 1]);
                ++c;
            }
        for (const pass_call& call : calls) {
            if (call.is_deallocation) {
                free((call.of_last_pass ? last : now)[call.request]);
                continue;
            }
            const allot::pass_request& wanted = pass.requests[call.request];
            if (changes[call.request] == change::missing) continue;
            std::uint64_t size = wanted.size;
            if (changes[call.request] == change::size) size = size / 2 + random() % (size + size / 2 + 1) + 1;
            now[call.request] = request(size, wanted);
            if (more != none && random() % 2 == 0) free(more);
            if (changes[call.request] == change::more && more == none)
                more = request(pass.requests[static_cast<std::size_t>(random() % pass.requests.size())].size,
                               {.align = wanted.align, .until = 0});
        }
        free(more);
        for (std::uint32_t& block : last) free(block);  // those that the program did not free in time
        for (std::uint32_t r = 0; r != now.size(); ++r)
            if (pass.requests[r].until == allot::lives_on) free(now[r]);
        last = std::move(now);
    }
    return made;
}

}  // namespace benchmarks
