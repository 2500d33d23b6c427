// SPDX-License-Identifier: BSL-1.0
// pieces: translates decided visits into a problem of `plan_memories`, and its plan into pieces and copies.
//
//     decided: visits, some with places             problem: each piece is a buffer      plan: pieces and copies
//     ┌────┐                ┌────┐                  ┌────┐                ┌────┐         ┌────┐                ┌────┐
//     │ a  │                │ a  │            ──►   │ 0  │                │ 2  │   ──►   │ a  │out           in│ a  │
//     └────┘                └────┘                  └─┬──┴────────────────┴─┬──┘         └─┬──┴────────────────┴─┬──┘
//       a home is needed in between                   └──────────1──────────┘             └──────────a──────────┘
//
// A piece whose place is decided is fixed there. The other pieces, including the homes, get their places when the
// problem is planned. Buffers that may not move stay where the plan without moves has them.
//
// Complexity: O(n log n) in buffers, accesses, pieces and copies. Memory: on the heap. Not synchronized.
#pragma once

#include <allot/plan/detail/contents.hpp>

#include <algorithm>
#include <numeric>

namespace allot {
inline namespace v1 {
namespace detail {

/// The visits and the places that are decided so far. A place that is `nowhere` remains to be planned.
struct move_decision {
    std::vector<event_place> how;     // by event
    std::vector<memory_place> visit;  // by event: place of the visit that begins there
    std::vector<memory_place> home;   // by value

    /// Returns the last event of the visit that begins with `first`.
    [[nodiscard]] std::size_t last_of(const access_value& value, std::size_t first) const {
        std::size_t last = first;
        while (last != value.last && how[last + 1] == event_place::stays) ++last;
        return last;
    }
};

/// The problem, and the results that do not depend on decisions.
struct move_facts {
    memories_problem given;
    std::span<const plan_access> accesses;
    std::vector<std::uint64_t> uses{};        // by buffer
    std::vector<std::uint64_t> allowed{};     // by buffer: allowed memories that it fits
    std::vector<memory_place> whole{};        // by buffer: place in the plan without moves
    std::vector<bool> moves{};                // by buffer: whether it may move
    buffer_contents<plan_access> contents{};  // contents of the buffers that may move

    [[nodiscard]] static constexpr std::uint64_t bit(std::size_t memory) noexcept { return std::uint64_t{1} << memory; }
    [[nodiscard]] std::span<const plan_buffer> buffers() const noexcept { return given.buffers.buffers; }
    /// Excludes the buffers with constraints or several lifetimes from those that may move. Returns false if one of the
    /// buffers that do not move has no place in the plan without moves.
    [[nodiscard]] bool keep_constrained() {
        for (const plan_revival& each : given.buffers.revivals) moves[each.buffer] = false;
        for (const plan_fixed& each : given.buffers.fixed) moves[each.buffer] = false;
        for (const auto pairs : {given.buffers.together, given.buffers.apart, given.separate})
            for (const plan_pair& each : pairs) moves[each.first] = moves[each.second] = false;
        for (std::size_t i = 0; i != buffers().size(); ++i)
            if (!moves[i] && whole[i].memory == memory_place::nowhere) return false;
        return true;
    }
};

/// Builds a problem for `plan_memories` piece by piece.
template <class Buffer>
class piece_problem {
public:
    /// Adds a piece.
    void add(const Buffer& of, lifetime live, std::uint64_t uses, std::uint64_t allowed) {
        buffers_.push_back({of.size, live, of.align});
        uses_.push_back(uses);
        allowed_.push_back(allowed);
    }
    /// Adds a piece with a fixed offset.
    void add(const Buffer& of, lifetime live, std::uint64_t uses, std::uint64_t allowed, std::uint64_t offset) {
        fixed_.push_back({buffers_.size(), offset});
        add(of, live, uses, allowed);
    }
    /// Adds the buffers that may not move and for which `is_wanted(buffer)` is true, at their fixed places.
    template <class Facts, class IsWanted>
    void add_whole(const Facts& facts, IsWanted is_wanted) {
        const std::size_t count = facts.buffers().size();
        std::vector<std::size_t> number(count, count);
        for (std::size_t i = 0; i != count; ++i) {
            if (facts.moves[i] || !is_wanted(i)) continue;
            number[i] = buffers_.size();
            const memory_place place = facts.whole[i];
            const Buffer& buffer = facts.buffers()[i];
            add(buffer, buffer.live, facts.uses[i], move_facts::bit(place.memory), place.offset);
        }
        for (const plan_revival& each : facts.given.buffers.revivals)
            if (number[each.buffer] != count) revivals_.push_back({number[each.buffer], each.live});
        for (const plan_pair& each : facts.given.buffers.together)
            if (number[each.first] != count) together_.push_back({number[each.first], number[each.second]});
    }
    /// Allows all pieces, including fixed ones, only in memory 0 of the memories that `in` gets.
    void allow_only_the_first() { std::fill(allowed_.begin(), allowed_.end(), 1); }

    [[nodiscard]] std::size_t size() const noexcept { return buffers_.size(); }
    /// Returns views of the problem. Valid until the next change.
    [[nodiscard]] memories_problem in(std::span<const plan_memory> memories) const noexcept {
        return {{buffers_, revivals_, fixed_, together_}, memories, uses_, allowed_};
    }

private:
    std::vector<Buffer> buffers_;
    std::vector<plan_revival> revivals_;
    std::vector<plan_fixed> fixed_;
    std::vector<plan_pair> together_;
    std::vector<std::uint64_t> uses_, allowed_;
};

/// Returns whether `one` precedes `other` in a plan.
[[nodiscard]] inline bool comes_before(const plan_piece& one, const plan_piece& other) noexcept {
    return one.buffer != other.buffer ? one.buffer < other.buffer : one.live.from < other.live.from;
}
/// Returns the piece of an access: the last piece of its buffer that begins at or before its step.
template <class Access>
[[nodiscard]] std::size_t piece_at(const std::vector<plan_piece>& pieces, const Access& access) {
    const auto behind = std::partition_point(pieces.begin(), pieces.end(), [&](const plan_piece& piece) {
        return piece.buffer != access.buffer ? piece.buffer < access.buffer : piece.live.from <= access.step;
    });
    return static_cast<std::size_t>(behind - pieces.begin()) - 1;
}

/// The pieces and copies of a decision. They get their places when `problem` is planned.
template <class Facts>
class decided_pieces {
public:
    decided_pieces(const Facts& facts, const move_decision& decided)
        : facts_{&facts}, piece_(facts.contents.events().size()) {
        problem_.add_whole(facts, [](std::size_t) { return true; });
        for (std::size_t i = 0; i != facts.buffers().size(); ++i)
            if (!facts.moves[i]) pieces_.push_back({i, facts.buffers()[i].live, {}});
        for (std::size_t v = 0; v != facts.contents.values().size(); ++v) add(v, decided);
    }

    [[nodiscard]] const piece_problem<plan_buffer>& problem() const noexcept { return problem_; }

    /// Writes pieces and copies in order, and the piece of each access. `places` is the plan of `problem`.
    void write(moves_plan& made, const std::vector<memory_place>& places) && {
        for (std::size_t p = 0; p != pieces_.size(); ++p) pieces_[p].place = places[p];
        for (const plan_revival& each : facts_->given.buffers.revivals)
            pieces_.push_back({each.buffer, each.live, facts_->whole[each.buffer]});
        std::vector<std::size_t> order(pieces_.size()), became(pieces_.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        sort_stably(order, [&](std::size_t a, std::size_t b) { return comes_before(pieces_[a], pieces_[b]); });
        for (const std::size_t each : order) {
            became[each] = made.pieces.size();
            made.pieces.push_back(pieces_[each]);
        }
        for (plan_copy& copy : copies_) {
            copy.from = became[copy.from];
            copy.to = became[copy.to];
        }
        sort_stably(copies_, [](const plan_copy& a, const plan_copy& b) {
            return a.step != b.step ? a.step < b.step : a.after < b.after;
        });
        made.copies = std::move(copies_);
        for (std::size_t a = 0; a != facts_->accesses.size(); ++a) {
            const plan_access& access = facts_->accesses[a];
            made.piece_of.push_back(facts_->moves[access.buffer] ? became[piece_[facts_->contents.event_of(a)]]
                                                                 : piece_at(made.pieces, access));
        }
    }

private:
    /// Adds the pieces and copies of value `v`.
    void add(std::size_t v, const move_decision& decided) {
        const auto& contents = facts_->contents;
        const access_value& value = contents.values()[v];
        // A home lasts from its first contents to the last use of them.
        constexpr std::int64_t latest = std::numeric_limits<std::int64_t>::max();
        lifetime live{value.given ? value.live.from : latest, value.live.from};
        std::uint64_t uses = 0, faster = 0;
        const auto needed = [&](std::int64_t step) {
            live = {std::min(live.from, step), std::max(live.until, step + 1)};
        };
        for (std::size_t e = value.first; e <= value.last; ++e) {
            if (decided.how[e] == event_place::home) {
                uses += contents.events()[e].count;
                needed(contents.events()[e].step);
            } else if (decided.how[e] == event_place::arrives) {
                const std::size_t last = decided.last_of(value, e);
                uses += contents.copies_of(v, e, last);
                faster |= 2 * move_facts::bit(decided.visit[e].memory) - 1;
                if (contents.is_copied_in(v, e)) needed(contents.events()[e].step);
                if (contents.is_copied_out(v, e, last)) needed(contents.events()[last].step);
            }
        }
        const std::uint64_t allowed = facts_->allowed[value.buffer], slower = allowed & ~faster;
        const std::size_t home = pieces_.size();
        if (uses != 0) add_piece(value.buffer, live, uses, slower != 0 ? slower : allowed, decided.home[v]);
        for (std::size_t e = value.first; e <= value.last; ++e) {
            if (decided.how[e] == event_place::home) piece_[e] = home;
            if (decided.how[e] != event_place::arrives) continue;
            const std::size_t last = decided.last_of(value, e), visit = pieces_.size();
            const std::uint64_t visit_uses = contents.accesses_of(e, last) + contents.copies_of(v, e, last);
            add_piece(value.buffer, contents.life_of_visit(e, last), visit_uses, 0, decided.visit[e]);
            for (std::size_t each = e; each <= last; ++each) piece_[each] = visit;
            const std::uint64_t size = facts_->buffers()[value.buffer].size;
            if (contents.is_copied_in(v, e))
                copies_.push_back({value.buffer, contents.events()[e].step, false, home, visit, size});
            if (contents.is_copied_out(v, e, last))
                copies_.push_back({value.buffer, contents.events()[last].step, true, visit, home, size});
        }
    }
    void add_piece(std::size_t buffer, lifetime live, std::uint64_t uses, std::uint64_t allowed,
                   const memory_place& place) {
        pieces_.push_back({buffer, live, {}});
        const plan_buffer& of = facts_->buffers()[buffer];
        if (place.memory == memory_place::nowhere) problem_.add(of, live, uses, allowed);
        else problem_.add(of, live, uses, move_facts::bit(place.memory), place.offset);
    }

    const Facts* facts_;
    piece_problem<plan_buffer> problem_;
    std::vector<plan_piece> pieces_;
    std::vector<plan_copy> copies_;
    std::vector<std::size_t> piece_;  // by event
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
