// SPDX-License-Identifier: BSL-1.0
#include "capture.hpp"

#include "json_reader.hpp"

#include <map>
#include <unordered_map>

namespace planner {
namespace {

class capture_reader : json_reader {
public:
    explicit capture_reader(std::string path) : json_reader{std::move(path)} {
        made_.path = path_;
        made_.format = "a capture";
    }

    [[nodiscard]] input read(const json& whole) {
        const json& problem = member(at(whole, "the file"), "problem", json::value_t::object);
        made_.columns = "id,lower,upper,size,alignment";
        made_.memories.clear();
        for (const json& pool : member(problem, "pools", json::value_t::array)) add_pool(at(pool, "a pool"));
        for (const json& buffer : member(problem, "buffers", json::value_t::array)) add_buffer(at(buffer, "a buffer"));
        if (made_.buffers.empty()) refuse("the file contains no buffers");
        at(problem, "the problem");
        add_constraints(member(problem, "constraints", json::value_t::object));
        return std::move(made_);
    }

private:
    [[nodiscard]] std::size_t known(const std::unordered_map<std::uint64_t, std::size_t>& all, std::uint64_t id,
                                    const char* kind) const {
        const auto found = all.find(id);
        if (found == all.end()) refuse("unknown " + std::string{kind} + " " + std::to_string(id));
        return found->second;
    }

    void add_pool(const json& pool) {
        const std::uint64_t id = number(pool, "id");
        if (!pools_.emplace(id, made_.memories.size()).second)
            refuse("the pool id " + std::to_string(id) + " is already used");
        memory fresh{string(pool, "name")};
        for (const memory& other : made_.memories)
            if (other.name == fresh.name) refuse("the pool name \"" + fresh.name + "\" is already used");
        if (const json& capacity = member(pool, "capacity"); !capacity.is_null())
            fresh.capacity = number_of(capacity, "capacity");
        for (const json& range : member(pool, "reserved_ranges", json::value_t::array)) {
            at(range, "a reserved range");
            const std::uint64_t begin = number(range, "begin"), end = number(range, "end");
            if (end < begin) refuse("the reserved range ends before it begins");
            fresh.reserved.push_back({begin, end - begin});
        }
        made_.memories.push_back(std::move(fresh));
    }

    void add_buffer(const json& buffer) {
        const std::size_t index = made_.buffers.size();
        const std::uint64_t id = number(buffer, "id");
        if (!buffers_.emplace(id, index).second) refuse("the buffer id " + std::to_string(id) + " is already used");
        allot::plan_buffer fresh{.size = number(buffer, "size"), .live = {}, .align = number(buffer, "alignment")};
        if (!allot::is_alignment(fresh.align))
            refuse("the alignment " + std::to_string(fresh.align) + " is not a power of two");
        if (!allot::checked_add(sum_, fresh.size, sum_)) refuse("the sum of the sizes up to here exceeds 64 bits");
        made_.names.push_back(string(buffer, "name"));

        const json& pools = member(buffer, "allowed_pools", json::value_t::array);
        if (pools.size() != 1) refuse("the buffer must be allowed in exactly one pool");
        made_.memory_of.push_back(known(pools_, number_of(pools[0], "allowed_pools"), "pool"));

        std::map<std::int64_t, std::int64_t> lives;  // those of this buffer
        for (const json& interval : member(buffer, "live_intervals", json::value_t::array)) {
            at(interval, "an interval");
            const allot::lifetime live{step(interval, "lower"), step(interval, "upper")};
            if (live.until <= live.from)
                refuse("upper, " + std::to_string(live.until) + ", is not above lower, " + std::to_string(live.from));
            const auto next = lives.lower_bound(live.from);
            if ((next != lives.end() && next->first < live.until) ||
                (next != lives.begin() && std::prev(next)->second > live.from))
                refuse("two lifetimes of the buffer " + std::to_string(id) + " overlap");
            if (lives.empty()) fresh.live = live;
            else made_.revivals.push_back({index, live});
            lives.emplace_hint(next, live.from, live.until);
            made_.rows.push_back({index, std::to_string(id) + ',' + std::to_string(live.from) + ',' +
                                             std::to_string(live.until) + ',' + std::to_string(fresh.size) + ',' +
                                             std::to_string(fresh.align)});
        }
        if (lives.empty()) refuse("the buffer " + std::to_string(id) + " has no lifetime");
        made_.buffers.push_back(fresh);
    }

    void add_constraints(const json& constraints) {
        at(constraints, "the constraints");
        const auto pairs = [&](const char* name, auto add) {
            for (const json& pair : member(constraints, name, json::value_t::array)) {
                at(pair, "a pair");
                const allot::plan_pair read{known(buffers_, number(pair, "first"), "buffer"),
                                            known(buffers_, number(pair, "second"), "buffer")};
                if (read.first == read.second) refuse("both buffers of the pair are the same");
                add(read, made_.memory_of[read.first] == made_.memory_of[read.second]);
            }
        };
        pairs("separations", [&](allot::plan_pair pair, bool in_one_memory) {
            if (in_one_memory) made_.apart.push_back(pair);
        });
        at(constraints, "the constraints");
        pairs("colocations", [&](allot::plan_pair pair, bool in_one_memory) {
            if (!in_one_memory) refuse("buffers of different pools cannot share an offset");
            made_.together.push_back(pair);
        });
        at(constraints, "the constraints");
        pairs("temporal_exclusions", [&](allot::plan_pair, bool) { refuse("temporal_exclusions are not supported"); });
        at(constraints, "the constraints");
        for (const json& pin : member(constraints, "pinned_allocations", json::value_t::array)) {
            at(pin, "a pin");
            const std::size_t buffer = known(buffers_, number(pin, "buffer"), "buffer");
            if (known(pools_, number(pin, "pool"), "pool") != made_.memory_of[buffer])
                refuse("the buffer is not allowed in that pool");
            if (member(pin, "exclusive_for_all_time", json::value_t::boolean).get<bool>())
                refuse("exclusive pins are not supported");
            made_.fixed.push_back({buffer, number(pin, "offset")});
        }
    }

    input made_;
    std::unordered_map<std::uint64_t, std::size_t> pools_, buffers_;  // by id
    std::uint64_t sum_ = 0;
};

}  // namespace

input read_capture(const json& whole, std::string path) { return capture_reader{std::move(path)}.read(whole); }

}  // namespace planner
