// SPDX-License-Identifier: BSL-1.0
// csv: reads a table of buffers. Its columns have any order, and names that MiniMalloc knows too.
//
//     id,lower,upper,size,alignment   needs id (or buffer, buffer_id), lower (or begin, start), upper (or end, which is
//     conv1,0,3,4096,64               the last step) and size; this one lives in the steps 0, 1 and 2
//
//     alignment   a power of two         paged     1: may lie in pages           uses, cost   factors of its cost outside
//     offset      where it must lie      memory    the memory it must lie in                  the first memory
//     gaps        3-5 7-9@0:16: other buffers may use its bytes in the steps 3 and 4; in 7 and 8, those from 16 on
//     memories    fast slow: it may lie in one of these, unless `memory` is given
//     separate    conv2 conv3: buffers in other memories, such as operands in banks with one port each
//     rows        56: it has so many rows of one size; the first ones may lie in one memory, the others in another one
//
// An empty field is that of a table without the column. Throws an `input_error`, one sentence with file and line, for
// any other text. Lines may end as on Windows, and empty lines are skipped. Complexity: O(n log n) in the length.
#pragma once

#include "expressions.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace planner {

class csv_reader {
public:
    /// `path` is used in messages.
    /// With symbols, sizes may be expressions.
    explicit csv_reader(std::string path, std::vector<symbol_range> symbols = {}) : out_{std::move(path), "a table"} {
        made_.symbols = std::move(symbols);
    }

    [[nodiscard]] input read(std::string_view text) {
        text = without_mark(text);
        each_line(text, out_.where, [&](std::string_view line) {
            if (line.empty()) return;
            split(line);
            kinds_.empty() ? header() : add();
        });
        out_.where.line = std::max<std::size_t>(out_.where.line, 1);
        if (kinds_.empty()) refuse("the file is empty");
        if (made_.rows.empty()) refuse("the file contains no buffers");
        add_windows();
        add_pairs();
        if (made_.named_memories.empty()) made_.allowed.clear();
        if (!has(weight_uses) && !has(weight_cost)) made_.uses.clear();
        if (!has(row_count)) made_.row_counts.clear();
        return std::move(made_);
    }

private:
    enum kind {
        id,
        lower,
        upper,
        last,
        size,
        alignment,
        paged,
        gaps,
        offset,
        one_memory,
        some_memories,
        separate,
        weight_uses,
        weight_cost,
        row_count,
        count
    };
    struct column {
        std::string_view name;
        kind is;
    };
    static constexpr column known[] = {{"id", id},
                                       {"buffer", id},
                                       {"buffer_id", id},
                                       {"lower", lower},
                                       {"begin", lower},
                                       {"start", lower},
                                       {"upper", upper},
                                       {"end", last},
                                       {"size", size},
                                       {"alignment", alignment},
                                       {"paged", paged},
                                       {"gaps", gaps},
                                       {"offset", offset},
                                       {"memory", one_memory},
                                       {"uses", weight_uses},
                                       {"memories", some_memories},
                                       {"cost", weight_cost},
                                       {"separate", separate},
                                       {"rows", row_count}};
    /// The buffers that must be in other memories than a buffer: their ids, separated by spaces.
    struct partners {
        std::size_t buffer, line;
        std::string_view names;
    };
    struct window {
        std::size_t buffer;
        allot::lifetime gap;
        std::uint64_t size;
    };

    [[noreturn]] void refuse(const std::string& reason) const { out_.where.refuse(reason); }
    [[nodiscard]] bool has(kind which) const { return at_[which] != none; }

    void split(std::string_view line) {
        fields_.clear();
        while (true) {
            const std::size_t end = line.find(',');
            fields_.push_back(line.substr(0, end));
            if (end == std::string_view::npos) break;
            line.remove_prefix(end + 1);
        }
    }

    void header() {
        at_.fill(none);
        for (const std::string_view name : fields_) {
            const auto* const found =
                std::find_if(std::begin(known), std::end(known), [&](const column& each) { return each.name == name; });
            if (found == std::end(known))
                refuse("the column \"" + std::string{name} +
                       "\" is unknown; a table begins with a line such as id,lower,upper,size");
            const auto repeated = std::find_if(kinds_.begin(), kinds_.end(), [&](kind each) {
                return each == found->is || (each == upper && found->is == last) ||
                       (each == last && found->is == upper);
            });
            if (repeated != kinds_.end())
                refuse("the columns \"" + std::string{fields_[static_cast<std::size_t>(repeated - kinds_.begin())]} +
                       "\" and \"" + std::string{name} + "\" have the same meaning");
            at_[found->is] = kinds_.size();
            kinds_.push_back(found->is);
        }
        if (!has(id)) refuse("the column \"id\" is missing");
        if (!has(lower)) refuse("the column \"lower\" is missing");
        if (!has(upper) && !has(last)) refuse("the column \"upper\" is missing");
        if (!has(size)) refuse("the column \"size\" is missing");
        if (has(row_count) && !made_.symbols.empty()) refuse("the column \"rows\" cannot be used with symbols");
        if (has(paged)) made_.paged.emplace();
        made_.columns = row_text();
    }

    /// Returns the fields that the plan does not state itself.
    [[nodiscard]] std::string row_text() const {
        std::string text;
        for (std::size_t i = 0; i != fields_.size(); ++i)
            if (kinds_[i] != offset && kinds_[i] != one_memory) (text += fields_[i]) += ',';
        text.pop_back();  // there are other columns
        return text;
    }

    [[nodiscard]] std::string_view field(kind which) const { return has(which) ? fields_[at_[which]] : ""; }
    template <class Number>
    [[nodiscard]] Number number(const std::string& what, std::string_view text) const {
        return number_of<Number>(out_.where, what, text);
    }
    [[nodiscard]] std::uint64_t number_or(const char* what, kind which, std::uint64_t otherwise) const {
        return field(which).empty() ? otherwise : number<std::uint64_t>(what, field(which));
    }

    void add() {
        if (fields_.size() != kinds_.size())
            refuse("the row has " + std::to_string(fields_.size()) + (fields_.size() == 1 ? " column" : " columns") +
                   " instead of " + std::to_string(kinds_.size()));
        const std::string name{field(id)};
        if (name.empty()) refuse("the buffer has no id");
        if (name.find('"') != std::string::npos)
            refuse("the id contains a quote; ids must not contain quotes or commas");
        if (const auto [used, fresh] = lines_.emplace(name, out_.where.line); !fresh)
            refuse("the id " + name + " is already used in line " + std::to_string(used->second));

        allot::plan_buffer buffer;
        buffer.live.from = number<std::int64_t>("lower", field(lower));
        buffer.live.until = has(upper) ? number<std::int64_t>("upper", field(upper)) : after("end", field(last));
        buffer.size = made_.symbols.empty()
                          ? number<std::uint64_t>("size", field(size))
                          : out_.add_size(expression_reader{out_.where, made_.symbols, field(size)}.read());
        buffer.align = number_or("alignment", alignment, 1);
        if (!field(paged).empty() && field(paged) != "0" && field(paged) != "1")
            refuse("paged, \"" + std::string{field(paged)} + "\", is not 0 or 1");
        const std::size_t index = out_.add(name, buffer);
        made_.rows.push_back({index, row_text()});
        if (field(paged) == "1") made_.paged->push_back(index);
        if (!field(offset).empty()) out_.fix(index, number<std::uint64_t>("offset", field(offset)));
        add_weight();
        add_memories();
        made_.row_counts.push_back(out_.rows_of(index, number_or("rows", row_count, 1)));
        if (!field(separate).empty()) partners_.push_back({index, out_.where.line, field(separate)});
        indices_.emplace(name, index);
        if (!field(gaps).empty()) add_gaps(index);
    }

    /// Returns the first step after an inclusive one.
    [[nodiscard]] std::int64_t after(const std::string& what, std::string_view text) const {
        const auto value = number<std::int64_t>(what, text);
        if (value == std::numeric_limits<std::int64_t>::max()) refuse(what + " is too large");
        return value + 1;
    }
    void add_weight() {
        std::uint64_t weight = 0;
        if (!allot::checked_multiply(number_or("uses", weight_uses, 1), number_or("cost", weight_cost, 1), weight))
            refuse("uses times cost exceeds 64 bits");
        made_.uses.push_back(weight);
    }
    void add_memories() {
        std::uint64_t allowed = 0;
        if (!field(one_memory).empty()) allowed = std::uint64_t{1} << memory_called(field(one_memory));
        for (std::string_view rest = allowed == 0 ? field(some_memories) : ""; !rest.empty();) {
            const std::size_t end = std::min(rest.find(' '), rest.size());
            if (end != 0) allowed |= std::uint64_t{1} << memory_called(rest.substr(0, end));
            rest.remove_prefix(std::min(end + 1, rest.size()));
        }
        made_.allowed.push_back(allowed == 0 ? every_memory : allowed);
    }
    [[nodiscard]] std::size_t memory_called(std::string_view name) {
        auto& names = made_.named_memories;
        const auto found = std::find(names.begin(), names.end(), name);
        if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
        if (names.size() == 64) refuse("the table names more than 64 memories");
        names.emplace_back(name);
        return names.size() - 1;
    }

    /// Replaces the lifetime of a buffer by those around its gaps.
    void add_gaps(std::size_t buffer) {
        std::vector<allot::lifetime> found;
        const allot::lifetime whole = made_.buffers[buffer].live;
        for (std::string_view rest = field(gaps); !rest.empty();) {
            const std::size_t end = std::min(rest.find(' '), rest.size());
            if (end != 0) found.push_back(gap(buffer, rest.substr(0, end)));
            rest.remove_prefix(std::min(end + 1, rest.size()));
        }
        std::sort(found.begin(), found.end(), [](allot::lifetime a, allot::lifetime b) { return a.from < b.from; });
        std::vector<allot::lifetime> lives;
        std::int64_t now = whole.from;
        for (const allot::lifetime each : found) {
            if (each.from < now || each.until > whole.until)
                refuse("the gap from " + std::to_string(each.from) + " up to " + std::to_string(each.until) +
                       " is outside the lifetime, or overlaps another gap");
            if (now < each.from) lives.push_back({now, each.from});
            now = each.until;
        }
        if (now < whole.until) lives.push_back({now, whole.until});
        if (lives.empty()) refuse("the gaps leave no lifetime");
        made_.buffers[buffer].live = lives[0];
        for (std::size_t i = 1; i < lives.size(); ++i) made_.revivals.push_back({buffer, lives[i]});
    }
    [[nodiscard]] allot::lifetime gap(std::size_t buffer, std::string_view text) {
        const std::string shown{text};
        const std::size_t at = std::min(text.find('@'), text.size());
        const std::size_t dash = text.substr(0, at).find('-', 1);  // the first number may be negative
        if (dash == std::string_view::npos)
            refuse("the gap \"" + shown + "\" does not have the form LOWER-UPPER or LOWER-UPPER@BEGIN:END");
        const std::string_view end = text.substr(dash + 1, at - dash - 1);
        const allot::lifetime found{
            number<std::int64_t>("the begin of a gap", text.substr(0, dash)),
            has(upper) ? number<std::int64_t>("the end of a gap", end) : after("the end of a gap", end)};
        if (found.until <= found.from) refuse("the gap \"" + shown + "\" has no steps");
        if (at != text.size()) add_window(buffer, found, text.substr(at + 1), shown);
        return found;
    }
    void add_window(std::size_t buffer, allot::lifetime gap, std::string_view text, const std::string& shown) {
        const std::size_t colon = text.find(':');
        if (colon == std::string_view::npos)
            refuse("the gap \"" + shown + "\" does not have the form LOWER-UPPER@BEGIN:END");
        const auto begin = number<std::uint64_t>("the begin of a window", text.substr(0, colon));
        const auto end = number<std::uint64_t>("the end of a window", text.substr(colon + 1));
        if (end < begin || end > made_.buffers[buffer].size)
            refuse("the window of the gap \"" + shown + "\" is not a part of the buffer");
        if (begin == end) return;
        if (begin != 0)
            refuse("the window of the gap \"" + shown + "\" begins at byte " + std::to_string(begin) +
                   "; plans support only windows that begin at byte 0");
        windows_.push_back({buffer, gap, end});
    }
    /// A window is a buffer of its own, at the offset of the whole one.
    void add_windows() {
        for (const window& each : windows_) {
            const allot::plan_buffer whole = made_.buffers[each.buffer];
            const std::size_t part =
                out_.add(made_.names[each.buffer] + " (window)", {each.size, each.gap, whole.align});
            made_.together.push_back({each.buffer, part});
            made_.allowed.push_back(made_.allowed[each.buffer]);
            made_.uses.push_back(0);
            made_.row_counts.push_back(1);
            if (made_.paged && std::binary_search(made_.paged->begin(), made_.paged->end(), each.buffer))
                made_.paged->push_back(part);
        }
        made_.windows = windows_.size();
    }

    /// The buffers that others name are known only at the end.
    void add_pairs() {
        for (const partners& each : partners_) {
            out_.where.line = each.line;
            for (std::string_view rest = each.names; !rest.empty();) {
                const std::string name{rest.substr(0, rest.find(' '))};
                rest.remove_prefix(std::min(name.size() + 1, rest.size()));
                if (name.empty()) continue;
                const auto found = indices_.find(name);
                if (found == indices_.end()) refuse("\"separate\" contains " + name + ", which is no buffer");
                if (found->second == each.buffer) refuse("buffer " + name + " cannot be in another memory than itself");
                made_.separate.push_back({each.buffer, found->second});
            }
        }
    }

    static constexpr std::size_t none = ~std::size_t{0};

    input_builder out_;
    input& made_ = out_.made;
    std::vector<kind> kinds_;                                       // of the columns
    std::array<std::size_t, count> at_{};                           // the column of each kind
    std::vector<std::string_view> fields_;                          // of this line
    std::unordered_map<std::string, std::size_t> lines_, indices_;  // by id
    std::vector<partners> partners_;
    std::vector<window> windows_;
};

}  // namespace planner
