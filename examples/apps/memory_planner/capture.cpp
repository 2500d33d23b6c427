// SPDX-License-Identifier: BSL-1.0
#include "capture.hpp"

#include <allot/core/arithmetic.hpp>

#include <nlohmann/json.hpp>

#include <map>
#include <set>
#include <unordered_map>

namespace planner {
namespace {

using nlohmann::json;

/// The member that holds the line at which an object begins, because the library does not report lines.
const std::string line_key = "\n";

/// Counts the lines that the parser reads.
struct counting_iterator {
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;

    const char* at;
    std::size_t* line;

    reference operator*() const { return *at; }
    counting_iterator& operator++() {
        if (*at++ == '\n') ++*line;
        return *this;
    }
    [[maybe_unused]] friend bool operator==(counting_iterator a, counting_iterator b) { return a.at == b.at; }
};

class capture_reader {
public:
    explicit capture_reader(std::string path) { made_.path = std::move(path); }

    [[nodiscard]] input read(std::string_view text) {
        const json whole = parse(text);
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
    [[noreturn]] void refuse(const std::string& reason) const {
        throw input_error{made_.path + ":" + std::to_string(line_) + ": " + reason};
    }

    [[nodiscard]] json parse(std::string_view text) {
        constexpr int deepest = 32;
        std::size_t line = 1;
        struct open_object {
            std::size_t line;
            std::set<std::string> keys;
        };
        std::vector<open_object> open;
        const auto keep_lines = [&](int depth, json::parse_event_t event, json& parsed) {
            line_ = line;
            if (depth > deepest) refuse("the nesting exceeds " + std::to_string(deepest) + " levels");
            if (event == json::parse_event_t::object_start) open.push_back({line, {}});
            if (event == json::parse_event_t::key && !open.back().keys.insert(parsed.get<std::string>()).second)
                refuse("\"" + parsed.get<std::string>() + "\" is given twice");
            if (event == json::parse_event_t::object_end) {
                parsed[line_key] = open.back().line;
                open.pop_back();
            }
            return true;
        };
        try {
            return json::parse(counting_iterator{text.data(), &line},
                               counting_iterator{text.data() + text.size(), &line}, keep_lines);
        } catch (const json::exception& reason) {
            line_ = line;
            const std::string what = reason.what();
            refuse("invalid JSON" + what.substr(std::min(what.find(": "), what.size())));
        }
    }

    /// Returns an object. Messages name its line from now on.
    const json& at(const json& object, const std::string& what) {
        if (!object.is_object()) refuse(what + " is not an object");
        line_ = object.at(line_key).get<std::size_t>();
        return object;
    }
    const json& member(const json& object, const char* name) const {
        const auto found = object.find(name);
        if (found == object.end()) refuse("\"" + std::string{name} + "\" is missing");
        return *found;
    }
    const json& member(const json& object, const char* name, json::value_t kind) const {
        const json& value = member(object, name);
        if (value.type() != kind) refuse("\"" + std::string{name} + "\" is not of type " + json(kind).type_name());
        return value;
    }
    [[nodiscard]] std::string string(const json& object, const char* name) const {
        return member(object, name, json::value_t::string).get<std::string>();
    }
    [[nodiscard]] std::uint64_t number_of(const json& value, const char* name) const {
        if (!value.is_number_unsigned()) refuse("\"" + std::string{name} + "\" is not an unsigned 64-bit integer");
        return value.get<std::uint64_t>();
    }
    [[nodiscard]] std::uint64_t number(const json& object, const char* name) const {
        return number_of(member(object, name), name);
    }
    [[nodiscard]] std::int64_t step(const json& object, const char* name) const {
        const json& value = member(object, name);
        const bool fits =
            value.is_number_unsigned() ? value.get<std::uint64_t>() <= INT64_MAX : value.is_number_integer();
        if (!fits) refuse("\"" + std::string{name} + "\" is not a 64-bit integer");
        return value.get<std::int64_t>();
    }
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
    std::size_t line_ = 1;
    std::uint64_t sum_ = 0;
};

}  // namespace

input read_capture(std::string_view text, std::string path) { return capture_reader{std::move(path)}.read(text); }

}  // namespace planner
