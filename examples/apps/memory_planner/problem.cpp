// SPDX-License-Identifier: BSL-1.0
#include "problem.hpp"

#include "../network_demo/utf8.hpp"
#include "capture.hpp"
#include "expressions.hpp"
#include "json_reader.hpp"

#include <algorithm>
#include <bit>
#include <unordered_map>
#include <unordered_set>

namespace planner {
namespace {

using nlohmann::ordered_json;

class problem_reader : json_reader {
public:
    explicit problem_reader(const std::string& path) : json_reader{path}, out_{path, "a problem in JSON"} {
        made_.columns = input_builder::columns;
    }

    [[nodiscard]] input read(const json& whole) {
        at(whole, "the file");
        only(whole, {"memories", "buffers", "together", "apart", "separate", "accesses", "own_peak", "symbols",
                     "ranges", "operators", "durations", "copy"});
        if (whole.contains("memories")) {
            made_.memories.clear();
            for (const json& each : member(whole, "memories", json::value_t::array)) add_memory(at(each, "a memory"));
            if (made_.memories.empty() || made_.memories.size() > 64) refuse("there are not 1 to 64 memories");
        }
        at(whole, "the file");
        if (whole.contains("symbols")) add_symbols(whole);
        else if (whole.contains("ranges")) refuse("the file has \"ranges\" without \"symbols\"");
        if (whole.contains("operators")) {
            made_.submitted.emplace();
            for (const char* name : {"together", "apart", "separate", "accesses", "symbols", "durations"})
                if (whole.contains(name)) refuse("\"operators\" cannot be used with \"" + std::string{name} + "\"");
            for (const memory& each : made_.memories)
                if (!each.reserved.empty()) refuse("\"operators\" cannot be used with \"reserved\"");
        }
        for (const json& each : member(whole, "buffers", json::value_t::array)) add_buffer(at(each, "a buffer"));
        at(whole, "the file");
        if (made_.buffers.empty()) refuse("the file contains no buffers");
        for (const auto& [name, pairs] : {std::pair{"together", &made_.together}, std::pair{"apart", &made_.apart},
                                          std::pair{"separate", &made_.separate}})
            if (whole.contains(name)) add_pairs(member(whole, name, json::value_t::array), *pairs, name);
        if (whole.contains("accesses"))
            for (const json& each : member(whole, "accesses", json::value_t::array)) add_access(at(each, "an access"));
        at(whole, "the file");
        add_times(whole);
        if (made_.submitted) {
            for (const json& each : member(whole, "operators", json::value_t::array))
                add_operator(at(each, "an operator"));
            at(whole, "the file");
            set_lives();
        }
        if (whole.contains("own_peak")) made_.own_peak = number(at(whole, "the file"), "own_peak");
        add_gaps();
        set_choice();
        return std::move(made_);
    }

private:
    void only(const json& object, std::initializer_list<std::string_view> names) const {
        for (const auto& [name, value] : object.items())
            if (name != line_key && std::find(names.begin(), names.end(), name) == names.end())
                refuse("\"" + name + "\" is unknown");
    }
    [[nodiscard]] std::string name_in(const json& object, const char* member_name) const {
        std::string name = string(object, member_name);
        if (name.empty() || name.find_first_of(",\"\n\r") != std::string::npos)
            refuse("\"" + std::string{member_name} + "\" is empty, or contains a quote, a comma or a line break");
        return name;
    }

    void add_memory(const json& of) {
        only(of, {"name", "capacity", "cost", "reserved"});
        memory fresh{name_in(of, "name")};
        if (!memories_.emplace(fresh.name, made_.memories.size()).second)
            refuse("the memory \"" + fresh.name + "\" is given twice");
        if (of.contains("capacity") && !of["capacity"].is_null()) fresh.capacity = number(of, "capacity");
        if (of.contains("cost")) fresh.cost = number(of, "cost");
        const std::size_t position = made_.memories.size();
        if (position != 0 && fresh.cost.value_or(position) < made_.memories.back().cost.value_or(position - 1))
            refuse("the memory \"" + fresh.name + "\" costs less than the previous one");
        if (of.contains("reserved"))
            for (const json& range : member(of, "reserved", json::value_t::array)) {
                only(at(range, "a reserved range"), {"offset", "size"});
                fresh.reserved.push_back({number(range, "offset"), number(range, "size")});
            }
        made_.memories.push_back(std::move(fresh));
    }

    void add_buffer(const json& of) {
        if (made_.submitted) only(of, {"id", "size", "alignment"});
        else only(of, {"id", "size", "alignment", "live", "memories", "offset", "uses", "paged", "rows"});
        const std::string id = name_in(of, "id");
        if (!buffers_.emplace(id, made_.buffers.size()).second) refuse("the buffer \"" + id + "\" is given twice");
        const std::vector<allot::lifetime> lives = made_.submitted ? std::vector{allot::lifetime{0, 1}} : lives_of(of);
        out_.where.line = line_;
        const std::size_t index = out_.add(
            id, {size_of(of), lives[0], of.contains("alignment") ? number(of, "alignment") : std::uint64_t{1}});
        for (std::size_t i = 1; i != lives.size(); ++i) made_.revivals.push_back({index, lives[i]});
        if (made_.submitted) return made_.allowed.push_back(every_memory);
        out_.add_row(index, id, {lives.front().from, lives.back().until});
        if (of.contains("offset")) out_.fix(index, number(of, "offset"));
        made_.uses.push_back(of.contains("uses") ? number(of, "uses") : 1);
        made_.allowed.push_back(allowed_in(of));
        if (of.contains("rows") && !made_.symbols.empty()) refuse("\"rows\" cannot be used with \"symbols\"");
        made_.row_counts.push_back(out_.rows_of(index, of.contains("rows") ? number(of, "rows") : 1));
        if (!of.contains("paged")) return;
        if (!made_.paged) made_.paged.emplace();
        if (member(of, "paged", json::value_t::boolean).get<bool>()) made_.paged->push_back(index);
    }
    [[nodiscard]] std::uint64_t size_of(const json& of) {
        if (made_.symbols.empty()) return number(of, "size");
        const json& size = member(of, "size");
        if (!size.is_string()) return out_.add_size({number(of, "size")});
        return out_.add_size(expression_reader{out_.where, made_.symbols, size.get_ref<const std::string&>()}.read());
    }
    void add_symbols(const json& whole) {
        for (const auto& [name, range] : at(member(whole, "symbols"), "\"symbols\"").items()) {
            if (name == line_key) continue;
            if (!is_symbol(name))
                refuse("the symbol \"" + name + "\" is not a letter with letters, digits or _ behind it");
            if (!range.is_array() || range.size() != 2 || !range[0].is_number_unsigned() ||
                !range[1].is_number_unsigned() || range[0] > range[1])
                refuse("the range of \"" + name +
                       "\" does not have the form [LEAST, MOST] with two integers of 0 or more");
            made_.symbols.push_back({name, range[0].get<std::uint64_t>(), range[1].get<std::uint64_t>()});
        }
        if (made_.symbols.empty()) refuse("\"symbols\" is empty");
    }
    [[nodiscard]] std::vector<allot::lifetime> lives_of(const json& of) const {
        std::vector<allot::lifetime> lives;
        for (const json& each : member(of, "live", json::value_t::array)) {
            if (!each.is_array() || each.size() != 2 || !each[0].is_number_integer() || !each[1].is_number_integer())
                refuse("a lifetime does not have the form [FIRST, END] with two integers");
            for (const json& end : each)
                if (end.is_number_unsigned() && end.get<std::uint64_t>() > INT64_MAX) refuse("a step exceeds 63 bits");
            lives.push_back({each[0].get<std::int64_t>(), each[1].get<std::int64_t>()});
            if (lives.back().until <= lives.back().from) refuse("a lifetime ends before it begins");
        }
        if (lives.empty()) refuse("the buffer has no lifetime");
        std::sort(lives.begin(), lives.end(), [](allot::lifetime a, allot::lifetime b) { return a.from < b.from; });
        for (std::size_t i = 1; i < lives.size(); ++i)
            if (lives[i].from < lives[i - 1].until) refuse("two lifetimes of the buffer overlap");
        return lives;
    }
    [[nodiscard]] std::uint64_t allowed_in(const json& of) const {
        if (!of.contains("memories")) return every_memory;
        std::uint64_t allowed = 0;
        for (const json& each : member(of, "memories", json::value_t::array)) {
            const auto found = each.is_string() ? memories_.find(each.get<std::string>()) : memories_.end();
            if (found == memories_.end()) refuse("\"memories\" contains " + each.dump() + ", which is no memory");
            allowed |= std::uint64_t{1} << found->second;
        }
        if (allowed == 0) refuse("\"memories\" is empty");
        return allowed;
    }

    [[nodiscard]] std::size_t buffer_called(const json& id) const {
        const auto found = id.is_string() ? buffers_.find(id.get<std::string>()) : buffers_.end();
        if (found == buffers_.end()) refuse("unknown buffer " + id.dump());
        return found->second;
    }
    void add_pairs(const json& from, std::vector<allot::plan_pair>& to, const std::string& what) const {
        for (const json& each : from) {
            if (!each.is_array() || each.size() != 2)
                refuse("\"" + what + "\" contains " + each.dump() + ", not a pair");
            to.push_back({buffer_called(each[0]), buffer_called(each[1])});
            if (to.back().first == to.back().second)
                refuse("both buffers of the pair " + each.dump() + " are the same");
        }
    }
    void add_access(const json& of) {
        only(of, {"buffer", "step", "write"});
        made_.accesses.push_back({buffer_called(member(of, "buffer")), step(of, "step"),
                                  of.contains("write") && member(of, "write", json::value_t::boolean).get<bool>()});
    }

    void add_times(const json& whole) {
        if (!whole.contains("durations")) {
            if (whole.contains("copy")) refuse("the file has \"copy\" without \"durations\"");
            return;
        }
        step_times& times = made_.times.emplace();
        for (const json& each : member(whole, "durations", json::value_t::array)) {
            if (!each.is_number_unsigned())
                refuse("\"durations\" contains " + each.dump() + ", not an integer of 0 or more");
            times.durations.push_back(each.get<std::uint64_t>());
        }
        if (!whole.contains("copy")) return;
        const json& copy = at(member(whole, "copy", json::value_t::object), "\"copy\"");
        only(copy, {"cost", "latency"});
        times.copy_cost = number(copy, "cost");
        if (copy.contains("latency")) times.latency = number(copy, "latency");
    }

    void add_operator(const json& of) {
        only(of, {"queue", "uses", "after"});
        submission& all = *made_.submitted;
        const std::size_t now = all.queues.size();
        const std::size_t queue = queues_.emplace(string(of, "queue"), queues_.size()).first->second;
        if (queue == 64) refuse("the file has more than 64 queues");
        all.queues.push_back(queue);
        for (const json& each : member(of, "uses", json::value_t::array))
            all.uses.push_back({buffer_called(each), now});
        if (!of.contains("after")) return;
        for (const json& each : member(of, "after", json::value_t::array)) {
            if (!each.is_number_unsigned() || each.get<std::uint64_t>() >= now)
                refuse("\"after\" contains " + each.dump() + ", which is not the position of an earlier operator");
            all.waits.push_back({now, each.get<std::size_t>()});
        }
    }
    /// Sets the lifetimes in the order of the submission.
    void set_lives() {
        constexpr std::int64_t never = -1;
        std::vector<allot::lifetime> lives(made_.buffers.size(), {never, never});
        for (const allot::queued_use& each : made_.submitted->uses) {
            const auto step = static_cast<std::int64_t>(each.operation);
            if (lives[each.buffer].from == never) lives[each.buffer].from = step;
            lives[each.buffer].until = step + 1;
        }
        for (std::size_t i = 0; i != lives.size(); ++i) {
            if (lives[i].from == never) refuse("no operator uses the buffer \"" + made_.names[i] + "\"");
            made_.buffers[i].live = lives[i];
            out_.add_row(i, made_.names[i], lives[i]);
        }
    }

    /// Adds the column of the gaps between the lifetimes of a buffer, if a buffer has several.
    void add_gaps() {
        if (made_.revivals.empty()) return;
        made_.columns += ",gaps";
        std::vector<std::string> gaps(made_.buffers.size());
        std::vector<std::int64_t> until;
        for (const allot::plan_buffer& each : made_.buffers) until.push_back(each.live.until);
        for (const allot::plan_revival& each : made_.revivals) {
            std::string& all = gaps[each.buffer];
            if (until[each.buffer] != each.live.from)
                all += (all.empty() ? "" : " ") + std::to_string(until[each.buffer]) + '-' +
                       std::to_string(each.live.from);
            until[each.buffer] = each.live.until;
        }
        for (row& each : made_.rows) each.text += ',' + gaps[each.buffer];
    }
    /// The plan chooses a memory for each buffer, unless each is permitted in one only.
    void set_choice() {
        if (made_.memories.size() == 1) return made_.allowed.clear();
        made_.chooses = !std::all_of(made_.allowed.begin(), made_.allowed.end(),
                                     [](std::uint64_t each) { return std::has_single_bit(each); });
        if (made_.chooses) {
            for (const memory& each : made_.memories)
                if (!each.reserved.empty())
                    refuse("reserved bytes need each buffer to be permitted in one memory; use a fixed buffer instead");
            return;
        }
        for (std::size_t i = 0; i != made_.allowed.size(); ++i)
            made_.memory_of[i] = static_cast<std::size_t>(std::countr_zero(made_.allowed[i]));
        for (const allot::plan_pair& each : made_.together)
            if (made_.memory_of[each.first] != made_.memory_of[each.second])
                refuse("buffers of different memories cannot share an offset");
        for (const allot::plan_pair& each : made_.separate)
            if (made_.memory_of[each.first] == made_.memory_of[each.second] && made_.buffers[each.first].size != 0 &&
                made_.buffers[each.second].size != 0)
                refuse("\"separate\" buffers are permitted in the same memory only");
    }

    input_builder out_;
    input& made_ = out_.made;
    std::unordered_map<std::string, std::size_t> memories_, buffers_, queues_;
};

[[nodiscard]] ordered_json json_of(const memory& each) {
    ordered_json made{{"name", demo::as_utf8(each.name)}};
    if (each.capacity != unlimited) made["capacity"] = each.capacity;
    if (each.cost) made["cost"] = *each.cost;
    for (const allot::plan_reserved& range : each.reserved)
        made["reserved"].push_back({{"offset", range.offset}, {"size", range.size}});
    return made;
}

/// Returns the names of the buffers in UTF-8, with a number behind those that are not unique.
[[nodiscard]] std::vector<std::string> unique_ids(const input& given) {
    std::vector<std::string> ids;
    std::unordered_set<std::string> used;
    for (const std::string& name : given.names) {
        std::string id = name.empty() ? "buffer" : demo::as_utf8(id_of(name));
        while (!used.insert(id).second) id += " #" + std::to_string(ids.size());
        ids.push_back(std::move(id));
    }
    return ids;
}

}  // namespace

input read_json(std::string_view text, const std::string& path) {
    const json whole = json_reader{path}.parse(text);
    if (whole.is_object() && whole.contains("buffers") && !whole.contains("problem"))
        return problem_reader{path}.read(whole);
    return read_capture(whole, path);
}

void write_plan(std::ostream& out, const input& given, const outcome& made) {
    ordered_json whole;
    for (const memory& each : given.memories) whole["memories"].push_back(json_of(each));
    std::vector<std::vector<allot::lifetime>> lives(given.buffers.size());
    for (std::size_t i = 0; i != lives.size(); ++i) lives[i].push_back(given.buffers[i].live);
    for (const allot::plan_revival& each : given.revivals) lives[each.buffer].push_back(each.live);
    const std::vector<std::string> ids = unique_ids(given);
    for (std::size_t i = 0; i != given.buffers.size(); ++i) {
        const allot::plan_buffer& buffer = given.buffers[i];
        ordered_json each{{"id", ids[i]}, {"size", buffer.size}, {"alignment", buffer.align}};
        for (const allot::lifetime live : lives[i]) each["live"].push_back({live.from, live.until});
        if (given.memories.size() > 1) each["memories"] = {demo::as_utf8(given.memories[given.memory_of[i]].name)};
        if (!given.uses.empty()) each["uses"] = given.uses[i];
        each["offset"] = made.offsets[i];
        whole["buffers"].push_back(std::move(each));
    }
    for (const allot::plan_pair& each : given.together)
        whole["together"].push_back({ids[each.first], ids[each.second]});
    for (const allot::plan_pair& each : given.apart) whole["apart"].push_back({ids[each.first], ids[each.second]});
    for (const allot::plan_pair& each : given.separate)
        whole["separate"].push_back({ids[each.first], ids[each.second]});
    for (const allot::plan_access& each : given.accesses)
        whole["accesses"].push_back({{"buffer", ids[each.buffer]}, {"step", each.step}, {"write", each.writes}});
    if (given.own_peak) whole["own_peak"] = *given.own_peak;
    out << whole.dump(1) << '\n';
}

}  // namespace planner
