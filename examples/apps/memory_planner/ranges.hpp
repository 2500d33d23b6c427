// SPDX-License-Identifier: BSL-1.0
// ranges: plans an input whose sizes depend on symbols, for all of their values.
//
//     input ──► allot::plan_ranged ──► allot::validate_ranged ──► a line for the plan, and one for each piece
#pragma once

#include "expressions.hpp"
#include "options.hpp"
#include "report.hpp"

#include <allot/plan/ranged.hpp>
#include <allot/plan/validate_ranged.hpp>

#include <algorithm>

namespace planner {

/// A plan for all values, and the arrays of its problem.
class ranges {
public:
    explicit ranges(const input& given) : given_{given} {
        for (std::size_t i = 0; i != given.buffers.size(); ++i)
            buffers_.push_back({given.sizes[i], given.buffers[i].live, given.buffers[i].align});
        for (const symbol_range& each : given.symbols) {
            least_.push_back(each.least);
            most_.push_back(each.most);
        }
        if (!given.fixed.empty() || !given.together.empty() || given.memories.size() > 1 ||
            !given.memories[0].reserved.empty())
            throw input_error{given.path +
                              ": a plan for all values of symbols supports no offsets, no windows of gaps, no pairs "
                              "that are together, no reserved bytes and one memory"};
        auto made = allot::plan_ranged(problem());
        if (!made) throw input_error{given.path + ": " + made.error().what()};
        plan_ = *std::move(made);
    }
    ranges(const ranges&) = delete;
    ranges& operator=(const ranges&) = delete;

    [[nodiscard]] const allot::ranged_plan& plan() const { return plan_; }
    /// Returns the mistake in the plan as a sentence; empty if it is valid.
    [[nodiscard]] std::string mistake() const {
        const allot::ranged_violation found = allot::validate_ranged(problem(), plan_);
        return found.kind == allot::ranged_violation_kind::none ? "" : found.what();
    }
    /// Returns the highest proved excess in thousandths, or nothing if a piece has none.
    [[nodiscard]] std::optional<std::uint64_t> excess() const {
        std::uint64_t most = 0;
        for (const allot::ranged_piece& each : plan_.pieces) {
            if (each.excess == allot::ranged_piece::unproved) return std::nullopt;
            most = std::max(most, each.excess);
        }
        return most;
    }
    [[nodiscard]] allot::plan_status status() const {
        if (plan_.peak <= given_.memories[0].capacity)
            return excess() == std::uint64_t{0} ? allot::plan_status::optimal : allot::plan_status::feasible;
        // The largest values have the highest bound.
        return bound() > given_.memories[0].capacity ? allot::plan_status::infeasible
                                                     : allot::plan_status::out_of_budget;
    }
    /// Returns the lower bound for the largest values.
    [[nodiscard]] std::uint64_t bound() const {
        const allot::plan_problem at_most{given_.buffers, given_.revivals, {}, {}, given_.apart, {}};
        const auto made = allot::plan(at_most, {.effort = 0});
        if (!made) throw input_error{given_.path + ": " + made.error().what()};
        return made->bound;
    }

    /// Calls `use(buffer, text)` with the offset of each buffer as an expression, from the bottom up.
    template <class Use>
    void each_offset(const allot::ranged_piece& piece, Use use) const {
        const allot::stacking_order& order = plan_.orders[piece.order];
        std::vector<std::optional<polynomial>> ends(buffers_.size());
        for (std::size_t k = 0; k != order.buffers.size(); ++k) {
            const std::uint32_t now = order.buffers[k];
            const auto below = std::span{order.below}.subspan(order.first[k], order.first[k + 1] - order.first[k]);
            const std::uint64_t align = buffers_[now].align;
            std::vector<std::uint32_t> kept;  // without ends that others cover
            for (const std::uint32_t each : below) {
                const auto covers = [&](std::uint32_t a, std::uint32_t b) {
                    return ends[a] && ends[b] && ends[a]->covers(*ends[b]);
                };
                if (std::any_of(kept.begin(), kept.end(), [&](std::uint32_t other) { return covers(other, each); }))
                    continue;
                std::erase_if(kept, [&](std::uint32_t other) { return covers(each, other); });
                kept.push_back(each);
            }
            std::string text;
            for (const std::uint32_t each : kept)
                text += (text.empty() ? "" : ", ") +
                        (ends[each] ? ends[each]->text(given_.symbols) : "end(" + given_.names[each] + ")");
            if (kept.empty()) text = "0";
            if (kept.size() > 1) text = "max(" + text + ")";
            const bool is_aligned =
                kept.empty() || (kept.size() == 1 && ends[kept[0]] && ends[kept[0]]->is_multiple_of(align));
            if (!is_aligned && align != 1) text = "align(" + text + ", " + std::to_string(align) + ")";
            if (is_aligned || (kept.size() == 1 && align == 1 && ends[kept[0]])) {
                ends[now] = kept.empty() ? polynomial{} : *ends[kept[0]];
                *ends[now] += polynomial{buffers_[now].size};
            }
            use(now, text);
        }
    }

private:
    [[nodiscard]] allot::ranged_problem problem() const {
        return {{.buffers = buffers_, .bounds = most_, .revivals = given_.revivals, .apart = given_.apart}, least_};
    }

    const input& given_;
    std::vector<allot::symbolic_buffer> buffers_;
    std::vector<std::uint64_t> least_, most_;
    allot::ranged_plan plan_;
};

[[nodiscard]] inline std::string percent_of(std::uint64_t thousandths) {
    return demo::fixed(static_cast<double>(thousandths) / 10, 1) + " %";
}

/// Writes the plan as text: a line, and one for each piece.
inline void write_ranges(std::ostream& out, const input& given, const ranges& made, double seconds) {
    const auto number = [](std::size_t count, const char* what) {
        return std::to_string(count) + ' ' + what + (count == 1 ? "" : "s");
    };
    out << given.path << ": " << to_string(made.status()) << ": " << number(given.buffers.size(), "buffer")
        << " for all "
        << "values of " << number(given.symbols.size(), "symbol") << " in " << bytes(made.plan().peak) << " bytes";
    if (given.memories[0].capacity != unlimited) out << " of " << bytes(given.memories[0].capacity);
    if (const auto excess = made.excess())
        out << "; for each value at most " << percent_of(*excess) << " above the lower bound";
    out << "; " << number(made.plan().pieces.size(), "piece") << ", " << number(made.plan().orders.size(), "order")
        << "; " << demo::fixed(seconds, 2) << " s\n";
    for (const allot::ranged_piece& piece : made.plan().pieces) {
        out << ' ';
        for (std::size_t i = 0; i != given.symbols.size(); ++i)
            out << ' ' << given.symbols[i].name << ' ' << piece.least[i] << " to " << piece.most[i] << ',';
        out << " order " << piece.order << ": at most " << bytes(piece.peak) << " bytes";
        if (piece.excess != allot::ranged_piece::unproved)
            out << ", at most " << percent_of(piece.excess) << " above the lower bound";
        out << '\n';
    }
}

/// Writes the plan as a line of JSON.
inline void write_ranges_json(std::ostream& out, const input& given, const ranges& made, double seconds) {
    const auto excess_text = [](std::optional<std::uint64_t> thousandths) {
        return thousandths && *thousandths != allot::ranged_piece::unproved
                   ? demo::fixed(static_cast<double>(*thousandths) / 1000, 3)
                   : std::string{"null"};
    };
    std::string status = to_string(made.status());
    std::replace(status.begin(), status.end(), ' ', '_');
    out << "{\"file\": " << demo::quoted(given.path) << ", \"format\": " << demo::quoted(given.format)
        << ", \"buffers\": " << given.buffers.size() << ", \"status\": \"" << status
        << "\", \"peak\": " << made.plan().peak << ", \"lower_bound\": " << made.bound()
        << ", \"excess\": " << excess_text(made.excess()) << ", \"seconds\": " << demo::fixed(seconds, 3)
        << ", \"ranges\": [";
    for (const allot::ranged_piece& piece : made.plan().pieces) {
        out << (&piece == made.plan().pieces.data() ? "" : ", ") << "{\"symbols\": {";
        for (std::size_t i = 0; i != given.symbols.size(); ++i)
            out << (i == 0 ? "" : ", ") << demo::quoted(given.symbols[i].name) << ": [" << piece.least[i] << ", "
                << piece.most[i] << ']';
        out << "}, \"order\": " << piece.order << ", \"peak\": " << piece.peak
            << ", \"excess\": " << excess_text(piece.excess) << '}';
    }
    out << "]}\n";
}

/// Writes the plan as a problem with pieces, in each of which the offsets are expressions.
inline void write_ranged_plan(std::ostream& out, const input& given, const ranges& made) {
    const auto lives_of = [&](std::size_t buffer) {
        const auto pair = [](allot::lifetime live) {
            return '[' + std::to_string(live.from) + ", " + std::to_string(live.until) + ']';
        };
        std::string text = pair(given.buffers[buffer].live);
        for (const allot::plan_revival& each : given.revivals)
            if (each.buffer == buffer) text += ", " + pair(each.live);
        return text;
    };
    const auto ranges_of = [&](const std::vector<std::uint64_t>& least, const std::vector<std::uint64_t>& most) {
        std::string text;
        for (std::size_t i = 0; i != given.symbols.size(); ++i)
            text += (i == 0 ? "" : ", ") + demo::quoted(given.symbols[i].name) + ": [" + std::to_string(least[i]) +
                    ", " + std::to_string(most[i]) + ']';
        return "{" + text + "}";
    };
    std::vector<std::uint64_t> least, most;
    for (const symbol_range& each : given.symbols) {
        least.push_back(each.least);
        most.push_back(each.most);
    }
    out << "{\n \"symbols\": " << ranges_of(least, most) << ",\n \"buffers\": [";
    for (std::size_t i = 0; i != given.buffers.size(); ++i)
        out << (i == 0 ? "\n" : ",\n") << "  {\"id\": " << demo::quoted(given.names[i])
            << ", \"size\": " << demo::quoted(text_of(given.sizes[i], given.symbols))
            << ", \"alignment\": " << given.buffers[i].align << ", \"live\": [" << lives_of(i) << "]}";
    out << "\n ],\n";
    if (!given.apart.empty()) out << " \"apart\": [";
    for (const allot::plan_pair& each : given.apart)
        out << (&each == given.apart.data() ? "" : ", ") << '[' << demo::quoted(given.names[each.first]) << ", "
            << demo::quoted(given.names[each.second]) << ']';
    if (!given.apart.empty()) out << "],\n";
    out << " \"ranges\": [";
    for (const allot::ranged_piece& piece : made.plan().pieces) {
        out << (&piece == made.plan().pieces.data() ? "\n" : ",\n")
            << "  {\"symbols\": " << ranges_of(piece.least, piece.most) << ", \"peak\": " << piece.peak
            << ", \"offsets\": {";
        bool is_first = true;
        made.each_offset(piece, [&](std::size_t buffer, const std::string& offset) {
            out << (is_first ? "\n   " : ",\n   ") << demo::quoted(given.names[buffer]) << ": " << demo::quoted(offset);
            is_first = false;
        });
        out << "\n  }}";
    }
    out << "\n ]\n}\n";
}

}  // namespace planner
