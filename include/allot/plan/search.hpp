#pragma once

#include <allot/plan/problem.hpp>

#include <algorithm>
#include <array>
#include <span>
#include <vector>

namespace allot::inline v1 {

enum class search_answer : std::uint8_t {
    found,          // here are the offsets
    infeasible,     // proved: there are none
    out_of_budget,  // neither is known
    malformed,      // an index out of range, an alignment that is no power of two, or what this search is not told of
};

struct search_result {
    search_answer answer = search_answer::malformed;
    std::uint64_t nodes = 0;  // buffers put somewhere, and floors raised
    [[nodiscard]] constexpr explicit operator bool() const noexcept { return answer == search_answer::found; }
};

/// What decides how much memory a search needs.
struct search_counts {
    std::size_t buffers = 0;
    std::size_t lifetimes = 0;  // buffers and revivals
    std::size_t pairs = 0;      // kept apart
    std::size_t memo = 0;       // failed states that are remembered: 0 or a power of two

    [[nodiscard]] constexpr std::size_t sections() const noexcept { return lifetimes + pairs; }
    [[nodiscard]] constexpr std::size_t words() const noexcept { return (buffers + 63) / 64; }
    [[nodiscard]] constexpr std::size_t trail() const noexcept { return buffers * std::min<std::size_t>(2 * buffers + 16, 256); }
    [[nodiscard]] constexpr std::size_t wide() const noexcept {
        return 9 * buffers + 7 * lifetimes + 5 * pairs + (buffers + sections() + 1) * words() + trail() + 2 * memo + 16;
    }
    [[nodiscard]] constexpr std::size_t narrow() const noexcept {
        return 15 * buffers + 4 * sections() + trail() + 32;
    }
};

struct search_workspace {
    std::span<std::uint64_t> wide;
    std::span<std::uint32_t> narrow;
    std::size_t memo = 0;
};

struct never_stop {
    [[nodiscard]] constexpr bool operator()() const noexcept { return false; }
};

class packing_search {
public:
    constexpr packing_search(const plan_problem& problem, search_workspace memory) noexcept : wide_{memory.wide}, narrow_{memory.narrow} {
        well_formed_ = is_well_formed(problem, memory);
        if (well_formed_) prepare(problem, memory.memo);
    }

    template <class Stop = never_stop>
    [[nodiscard]] constexpr search_result run(std::uint64_t capacity, std::span<std::uint64_t> offsets, std::uint64_t budget, Stop stop = {}) noexcept {
        if (!well_formed_ || offsets.size() != buffers_) return {search_answer::malformed};
        capacity_ = capacity;
        nodes_ = 0;
        for (std::size_t i = 0; i < buffers_; ++i)
            if (size_[i] > capacity || (fixed_[i] != none && fixed_[i] > capacity - size_[i])) return {search_answer::infeasible};
        for (std::size_t s = 0; s < sections_; ++s)
            if (total_[s] > capacity) return {search_answer::infeasible};
        std::ranges::fill(memo_, 0);
        for (std::uint32_t round = 0;; ++round) {
            order_for(round);
            const std::uint64_t limit = luby(round + 1) * (4 * items_ + 32);
            const search_answer answer = one_round(std::min(budget, nodes_ + limit), stop);
            if (answer == search_answer::found)
                for (std::size_t i = 0; i < buffers_; ++i) offsets[original_[i]] = offset_[i];
            if (answer != search_answer::out_of_budget || nodes_ >= budget || stopped_) return {answer, nodes_};
        }
    }

    [[nodiscard]] constexpr std::uint64_t bound() const noexcept {
        std::uint64_t most = 0;
        for (std::size_t s = 0; s < sections_; ++s) most = std::max(most, total_[s]);
        return most;
    }
    std::size_t max_trail = 0;
    std::size_t rounds = 0;
    std::uint64_t hits = 0;

private:
    using index = std::uint32_t;
    static constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();
    enum class step : std::uint8_t { branch, failed, done };

    [[nodiscard]] static constexpr bool is_well_formed(const plan_problem& p, search_workspace memory) noexcept {
        const search_counts counts{p.buffers.size(), p.buffers.size() + p.revivals.size(), p.apart.size(), memory.memo};
        if (memory.wide.size() < counts.wide() || memory.narrow.size() < counts.narrow()) return false;
        if (!p.together.empty() || !p.reserved.empty()) return false;
        const std::size_t n = p.buffers.size();
        for (const plan_buffer& b : p.buffers)
            if (!is_alignment(b.align)) return false;
        for (const plan_revival& r : p.revivals)
            if (r.buffer >= n) return false;
        for (const plan_fixed& f : p.fixed)
            if (f.buffer >= n) return false;
        for (const plan_pair& pair : p.apart)
            if (pair.first >= n || pair.second >= n || pair.first == pair.second) return false;
        return true;
    }

    constexpr std::span<std::uint64_t> wide(std::size_t n) noexcept {
        const auto part = wide_.first(n);
        wide_ = wide_.subspan(n);
        std::ranges::fill(part, 0);
        return part;
    }
    constexpr std::span<index> narrow(std::size_t n) noexcept {
        const auto part = narrow_.first(n);
        narrow_ = narrow_.subspan(n);
        std::ranges::fill(part, 0);
        return part;
    }

    // ---- preparing -------------------------------------------------------------------------------------------------

    constexpr void prepare(const plan_problem& p, std::size_t memo) noexcept {
        buffers_ = p.buffers.size();
        const std::size_t lifetimes = buffers_ + p.revivals.size();
        const search_counts counts{buffers_, lifetimes, p.apart.size(), memo};
        words_ = counts.words();
        size_ = wide(buffers_); align_ = wide(buffers_); fixed_ = wide(buffers_); offset_ = wide(buffers_);
        lowest_ = wide(buffers_); key_ = wide(buffers_); most_ = wide(buffers_);
        spans_ = wide(lifetimes + 2 * p.apart.size());
        const auto starts = wide(lifetimes), ends = wide(lifetimes), times = wide(lifetimes);
        total_ = wide(counts.sections()); 
        left_ = wide(counts.sections()); floor_ = wide(counts.sections());
        neighbours_ = wide(buffers_ * words_); members_ = wide(counts.sections() * words_); waiting_ = wide(words_);
        trail_old_ = wide(counts.trail()); memo_ = wide(2 * memo);
        frame_key_ = wide(2 * (buffers_ + 2));
        original_ = narrow(buffers_); span_begin_ = narrow(buffers_ + 1); first_ = narrow(buffers_); last_ = narrow(buffers_);
        rank_ = narrow(buffers_); by_rank_ = narrow(buffers_); path_ = narrow(buffers_);
        first_item_ = narrow(counts.sections() + 1); crossing_ = narrow(counts.sections()); dirty_ = narrow(counts.sections()); is_dirty_ = narrow(counts.sections());
        trail_index_ = narrow(counts.trail());
        f_from_ = narrow(buffers_ + 2); f_until_ = narrow(buffers_ + 2); f_next_ = narrow(buffers_ + 2); f_section_ = narrow(buffers_ + 2);
        f_rank_ = narrow(buffers_ + 2); f_mark_ = narrow(buffers_ + 2); f_placed_mark_ = narrow(buffers_ + 2); f_path_ = narrow(buffers_ + 2);

        // 1. sections
        const auto ordered = [](std::int64_t t) { return static_cast<std::uint64_t>(t) ^ (std::uint64_t{1} << 63); };
        const auto live = [&](std::size_t k) { return k < buffers_ ? p.buffers[k].live : p.revivals[k - buffers_].live; };
        const auto owner = [&](std::size_t k) { return k < buffers_ ? k : p.revivals[k - buffers_].buffer; };
        const auto counts_at_all = [&](std::size_t k) { return live(k).from < live(k).until && p.buffers[owner(k)].size != 0; };
        std::size_t lives = 0;
        for (std::size_t k = 0; k < lifetimes; ++k)
            if (counts_at_all(k)) starts[lives] = ordered(live(k).from), ends[lives++] = ordered(live(k).until);
        std::sort(starts.begin(), starts.begin() + static_cast<std::ptrdiff_t>(lives));
        std::sort(ends.begin(), ends.begin() + static_cast<std::ptrdiff_t>(lives));
        std::size_t time_sections = 0;
        for (std::size_t a = 0, e = 0; a < lives;) {
            while (a < lives && starts[a] < ends[e]) ++a;
            times[time_sections++] = starts[a - 1];
            if (a < lives) while (ends[e] <= starts[a]) ++e;
        }
        const auto at = [&](std::int64_t t) {
            return static_cast<std::uint64_t>(std::lower_bound(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(time_sections), ordered(t)) - times.begin());
        };
        sections_ = time_sections + p.apart.size();

        // 2. hulls and items by hull
        for (std::size_t b = 0; b < buffers_; ++b) key_[b] = none;
        const auto each_span = [&](auto&& f) {
            for (std::size_t k = 0; k < lifetimes; ++k)
                if (counts_at_all(k)) f(owner(k), at(live(k).from), at(live(k).until));
            for (std::size_t k = 0; k < p.apart.size(); ++k)
                if (p.buffers[p.apart[k].first].size != 0 && p.buffers[p.apart[k].second].size != 0) {
                    f(p.apart[k].first, time_sections + k, time_sections + k + 1);
                    f(p.apart[k].second, time_sections + k, time_sections + k + 1);
                }
        };
        each_span([&](std::size_t b, std::uint64_t from, std::uint64_t) { key_[b] = std::min(key_[b], from); });
        for (std::size_t b = 0; b < buffers_; ++b) original_[b] = static_cast<index>(b);
        std::sort(original_.begin(), original_.end(), [&](index a, index b) { return key_[a] != key_[b] ? key_[a] < key_[b] : a < b; });
        items_ = 0;
        while (items_ < buffers_ && key_[original_[items_]] != none) ++items_;
        const auto item_of = rank_;
        for (std::size_t i = 0; i < buffers_; ++i) item_of[original_[i]] = static_cast<index>(i);
        for (std::size_t i = 0; i < buffers_; ++i) {
            size_[i] = p.buffers[original_[i]].size;
            align_[i] = p.buffers[original_[i]].align;
            fixed_[i] = none;
        }
        for (const plan_fixed& f : p.fixed) {
            std::uint64_t& where = fixed_[item_of[f.buffer]];
            if (where != none && where != f.offset) contradiction_ = true;
            where = f.offset;
            if (f.offset % p.buffers[f.buffer].align != 0) contradiction_ = true;
        }
        for (std::size_t i = 0; i < buffers_; ++i) offset_[i] = fixed_[i] == none ? 0 : fixed_[i];

        // 3. spans, merged
        each_span([&](std::size_t b, std::uint64_t, std::uint64_t) { ++span_begin_[item_of[b] + 1]; });
        for (std::size_t i = 0; i < buffers_; ++i) span_begin_[i + 1] += span_begin_[i];
        each_span([&](std::size_t b, std::uint64_t from, std::uint64_t until) {
            index& next = path_[item_of[b]];
            spans_[span_begin_[item_of[b]] + next++] = from << 32 | until;
        });
        index kept = 0;
        for (std::size_t i = 0; i < items_; ++i) {
            const index begin = span_begin_[i], end = span_begin_[i + 1];
            std::sort(spans_.begin() + begin, spans_.begin() + end);
            span_begin_[i] = kept;
            for (index k = begin; k < end; ++k) {
                if (kept > span_begin_[i] && spans_[k] >> 32 <= static_cast<index>(spans_[kept - 1])) {
                    const std::uint64_t until = std::max<std::uint64_t>(static_cast<index>(spans_[kept - 1]), static_cast<index>(spans_[k]));
                    spans_[kept - 1] = (spans_[kept - 1] >> 32 << 32) | until;
                } else {
                    spans_[kept++] = spans_[k];
                }
            }
            first_[i] = static_cast<index>(spans_[span_begin_[i]] >> 32);
            last_[i] = static_cast<index>(spans_[kept - 1]);
        }
        span_begin_[items_] = kept;
        for (std::size_t s = 0; s <= sections_; ++s) {
            first_item_[s] = s == 0 ? 0 : first_item_[s - 1];
            while (first_item_[s] < items_ && first_[first_item_[s]] < s) ++first_item_[s];
        }

        // 4. members, neighbours
        for (index i = 0; i < items_; ++i)
            each_section(i, [&](std::size_t s) {
                set(members(s), i);
                if (!checked_add(total_[s], size_[i], total_[s])) contradiction_ = true;
            });
        for (index i = 0; i < items_; ++i) {
            for (index k = span_begin_[i]; k < span_begin_[i + 1]; ++k)
                each(members(spans_[k] >> 32), [&](index j) { set(neighbours(i), j), set(neighbours(j), i); });
            neighbours(i)[i / 64] &= ~(std::uint64_t{1} << (i % 64));
            each_section(i, [&](std::size_t s) { most_[i] = std::max(most_[i], total_[s]); });
        }
    }

    constexpr std::span<std::uint64_t> members(std::size_t s) noexcept { return members_.subspan(s * words_, words_); }
    constexpr std::span<std::uint64_t> neighbours(std::size_t i) noexcept { return neighbours_.subspan(i * words_, words_); }
    static constexpr void set(std::span<std::uint64_t> bits, std::size_t i) noexcept { bits[i / 64] |= std::uint64_t{1} << (i % 64); }
    constexpr bool waits(std::size_t i) const noexcept { return waiting_[i / 64] >> (i % 64) & 1; }
    template <class F>
    static constexpr void each(std::span<const std::uint64_t> bits, F f) noexcept {
        for (std::size_t w = 0; w < bits.size(); ++w)
            for (std::uint64_t rest = bits[w]; rest != 0; rest &= rest - 1) f(static_cast<index>(64 * w) + static_cast<index>(std::countr_zero(rest)));
    }
    template <class F>
    constexpr void each_waiting(std::span<const std::uint64_t> bits, F f) const noexcept {
        const std::size_t until = words_;
        for (std::size_t w = 0; w < until; ++w)
            for (std::uint64_t rest = bits[w] & waiting_[w]; rest != 0; rest &= rest - 1) f(static_cast<index>(64 * w) + static_cast<index>(std::countr_zero(rest)));
    }
    template <class F>
    constexpr bool any_waiting(std::span<const std::uint64_t> bits, F f) const noexcept {
        for (std::size_t w = 0; w < words_; ++w)
            for (std::uint64_t rest = bits[w] & waiting_[w]; rest != 0; rest &= rest - 1)
                if (f(static_cast<index>(64 * w) + static_cast<index>(std::countr_zero(rest)))) return true;
        return false;
    }
    template <class F>
    constexpr void each_section(index i, F f) const noexcept {
        for (index k = span_begin_[i]; k < span_begin_[i + 1]; ++k)
            for (auto s = static_cast<std::size_t>(spans_[k] >> 32); s < static_cast<index>(spans_[k]); ++s) f(s);
    }

    // ---- orders ----------------------------------------------------------------------------------------------------

    static constexpr std::uint64_t luby(std::uint64_t k) noexcept {
        while (!std::has_single_bit(k + 1)) k -= std::bit_floor(k) - 1;
        return (k + 1) / 2;
    }
    static constexpr std::uint64_t mix(std::uint64_t x) noexcept {
        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
        x = (x ^ x >> 27) * 0x94d049bb133111eb;
        return x ^ x >> 31;
    }
    static constexpr std::uint64_t log2_16(std::uint64_t x) noexcept {  // 16 fractional bits, linear in between
        const auto top = static_cast<int>(std::bit_width(x)) - 1;
        const std::uint64_t fraction = top >= 16 ? x >> (top - 16) : x << (16 - top);
        return (static_cast<std::uint64_t>(top) << 16) + (fraction - 65536);
    }
    constexpr void order_for(std::uint32_t round) noexcept {
        ++rounds;
        constexpr std::array<std::array<std::uint64_t, 4>, 3> known{{{1, 8, 512, 0}, {1, 1, 0, 0}, {8, 1, 1, 0}}};
        std::array<std::uint64_t, 4> w{};
        if (round / 2 < known.size()) {
            w = known[round / 2];
        } else {
            const std::uint64_t dice = mix(round / 2 * 0x9e3779b97f4a7c15);
            w = {dice & 15, dice >> 4 & 15, (dice >> 8 & 15) * 3, (dice >> 12 & 15) * (dice >> 16 & 15) / 4};
        }
        lowest_only_ = round % 2 == 0;
        for (index i = 0; i < items_; ++i) {
            std::uint64_t sections = 0;
            each_section(i, [&](std::size_t) { ++sections; });
            key_[i] = w[0] * log2_16(size_[i]) + w[1] * log2_16(sections) + w[2] * log2_16(most_[i]) + w[3] * (mix(round * 0x10001 + i) & 65535);
            by_rank_[i] = i;
        }
        std::sort(by_rank_.begin(), by_rank_.begin() + static_cast<std::ptrdiff_t>(items_), [&](index a, index b) { return key_[a] != key_[b] ? key_[a] > key_[b] : original_[a] < original_[b]; });
        for (index k = 0; k < items_; ++k) rank_[by_rank_[k]] = k;
    }

    // ---- one round -------------------------------------------------------------------------------------------------

    template <class Stop>
    constexpr search_answer one_round(std::uint64_t limit, Stop& stop) noexcept {
        if (contradiction_) return search_answer::infeasible;
        std::ranges::fill(waiting_, 0);
        std::ranges::fill(crossing_, 0u);
        std::copy(total_.begin(), total_.end(), left_.begin());
        for (index i = 0; i < items_; ++i) {
            set(waiting_, i);
            lowest_[i] = fixed_[i] == none ? 0 : fixed_[i];
            for (index s = first_[i]; s + 1 < last_[i]; ++s) ++crossing_[s];
        }
        for (std::size_t s = 0; s < sections_; ++s) {
            floor_[s] = computed_floor(s);
            if (floor_[s] != none && floor_[s] > capacity_ - left_[s]) return search_answer::infeasible;
        }
        trail_ = placed_ = depth_ = dirties_ = 0;
        push_frame(0, static_cast<index>(sections_), no_section);
        step next = step::done;
        while (true) {
            const std::size_t f = depth_ - 1;
            if (next == step::done) {  // on to the next part
                const index from = f_next_[f];
                if (from == f_until_[f]) {
                    if (--depth_ == 0) return search_answer::found;
                    continue;
                }
                index until = from + 1;
                while (until < f_until_[f] && crossing_[until - 1] != 0) ++until;
                f_next_[f] = until;
                next = enter(from, until);
                continue;
            }
            if (next == step::failed) {
                if (f_section_[f] == no_section) return search_answer::infeasible;
                take_back(f);
            }
            if (nodes_ >= limit) return search_answer::out_of_budget;
            if (nodes_ % 256 == 0 && stop()) { stopped_ = true; return search_answer::out_of_budget; }
            if (trail_ + items_ + sections_ > trail_index_.size()) return search_answer::out_of_budget;
            next = branch(f);
        }
    }

    static constexpr index no_section = std::numeric_limits<index>::max();
    static constexpr index no_rank = std::numeric_limits<index>::max();

    constexpr void push_frame(index from, index until, index section) noexcept {
        f_from_[depth_] = f_next_[depth_] = from;
        f_until_[depth_] = until;
        f_section_[depth_] = section;
        f_rank_[depth_] = 0;
        f_mark_[depth_] = f_placed_mark_[depth_] = static_cast<index>(trail_);
        f_path_[depth_] = static_cast<index>(placed_);
        ++depth_;
    }

    constexpr step enter(index from, index until) noexcept {
        const index section = choose(from, until);
        if (section == no_section) return step::done;
        if (known_to_fail(from, until)) return step::failed;
        push_frame(from, until, section);
        frame_key_[2 * (depth_ - 1)] = print_[0];
        frame_key_[2 * (depth_ - 1) + 1] = print_[1];
        return step::branch;
    }

    constexpr step branch(std::size_t f) noexcept {
        const index s = f_section_[f];
        index item = 0, rank = no_rank;
        each_waiting(members(s), [&](index i) {
            if (lowest_[i] == floor_[s] && rank_[i] >= f_rank_[f] && rank_[i] < rank) rank = rank_[i], item = i;
        });
        ++nodes_;
        if (rank != no_rank) {
            f_rank_[f] = rank + 1;
            f_next_[f] = f_from_[f];
            f_placed_mark_[f] = static_cast<index>(trail_);
            f_path_[f] = static_cast<index>(placed_);
            return place(item) ? step::done : step::failed;
        }
        if (raise(s)) {
            f_section_[f] = choose(f_from_[f], f_until_[f]);
            f_rank_[f] = 0;
            if (!known_to_fail(f_from_[f], f_until_[f])) return step::branch;
        }
        undo(f_mark_[f]);
        if (!memo_.empty()) {
            const std::size_t slot = 2 * (frame_key_[2 * f] & (memo_.size() / 2 - 1));
            memo_[slot] = frame_key_[2 * f];
            memo_[slot + 1] = frame_key_[2 * f + 1];
        }
        --depth_;
        return step::failed;
    }

    constexpr bool known_to_fail(index from, index until) noexcept {
        if (memo_.empty()) return false;
        print_ = {};
        for (index i = first_item_[from]; i < first_item_[until]; ++i)
            if (waits(i)) {
                const std::uint64_t a = mix((i + 1) * 0x9e3779b97f4a7c15 ^ lowest_[i] * 0xd6e8feb86659fd93);
                print_[0] += a;
                print_[1] += (a ^ a >> 29) * 0xff51afd7ed558ccd;
            }
        const std::size_t slot = 2 * (print_[0] & (memo_.size() / 2 - 1));
        const bool hit = memo_[slot] == print_[0] && memo_[slot + 1] == print_[1];
        hits += hit;
        return hit;
    }

    constexpr index choose(index from, index until) noexcept {
        std::uint64_t bottom = none;
        for (index s = from; s < until; ++s) bottom = std::min(bottom, floor_[s]);
        index best = no_section;
        std::uint64_t best_width = none, best_slack = none;
        if (bottom == none) return best;
        for (index s = from; s < until; ++s) {
            const std::uint64_t level = floor_[s];
            if (level == none || (lowest_only_ && level != bottom)) continue;
            const std::uint64_t slack = capacity_ - level - left_[s];
            std::uint64_t width = slack > 0;
            const bool skip = any_waiting(members(s), [&](index i) {
                if (lowest_[i] != level) return false;
                width += 2;
                if (width > best_width) return true;
                return level != bottom && any_waiting(neighbours(i), [&](index j) { return lowest_[j] + size_[j] <= level; });
            });
            if (!skip && (width < best_width || (width == best_width && slack < best_slack))) best = s, best_width = width, best_slack = slack;
        }
        return best;
    }

    // ---- changes and how they are taken back ----------------------------------------------------------------------

    constexpr void record(std::size_t what, std::uint64_t old) noexcept {
        trail_index_[trail_] = static_cast<index>(what);
        trail_old_[trail_++] = old;
        max_trail = std::max(max_trail, trail_);
    }
    constexpr void undo(std::size_t mark) noexcept {
        while (trail_ > mark) {
            --trail_;
            const index what = trail_index_[trail_];
            (what < buffers_ ? lowest_[what] : floor_[what - buffers_]) = trail_old_[trail_];
        }
    }
    constexpr void take_back(std::size_t f) noexcept {
        while (placed_ > f_path_[f]) {
            const index i = path_[--placed_];
            set(waiting_, i);
            each_section(i, [&](std::size_t s) { left_[s] += size_[i]; });
            for (index s = first_[i]; s + 1 < last_[i]; ++s) ++crossing_[s];
        }
        undo(f_placed_mark_[f]);
    }
    constexpr void soil(std::size_t s) noexcept {
        if (is_dirty_[s]) return;
        is_dirty_[s] = 1;
        dirty_[dirties_++] = static_cast<index>(s);
    }
    constexpr bool lift(index i, std::uint64_t to) noexcept {
        const std::uint64_t old = lowest_[i];
        if (!checked_align_up(to, align_[i], to) || to > capacity_ - size_[i] || fixed_[i] != none) return false;
        record(i, old);
        lowest_[i] = to;
        each_section(i, [&](std::size_t s) { if (floor_[s] == old) soil(s); });
        return true;
    }
    constexpr std::uint64_t computed_floor(std::size_t s) noexcept {
        std::uint64_t floor = none;
        each_waiting(members(s), [&](index i) { floor = std::min(floor, lowest_[i]); });
        return floor;
    }
    constexpr bool clean(bool fits) noexcept {
        while (dirties_ > 0) {
            const index s = dirty_[--dirties_];
            is_dirty_[s] = 0;
            if (!fits) continue;
            const std::uint64_t floor = computed_floor(s);
            if (floor != floor_[s]) {
                record(buffers_ + s, floor_[s]);
                floor_[s] = floor;
            }
            fits = floor == none || floor <= capacity_ - left_[s];
        }
        return fits;
    }
    constexpr bool place(index i) noexcept {
        const std::uint64_t at = lowest_[i];
        offset_[i] = at;
        path_[placed_++] = i;
        waiting_[i / 64] &= ~(std::uint64_t{1} << (i % 64));
        each_section(i, [&](std::size_t s) {
            left_[s] -= size_[i];
            if (floor_[s] == at) soil(s);
        });
        for (index s = first_[i]; s + 1 < last_[i]; ++s) --crossing_[s];
        const std::uint64_t top = at + size_[i];
        return clean(!any_waiting(neighbours(i), [&](index j) { return lowest_[j] < top && !lift(j, top); }));
    }
    constexpr bool raise(std::size_t s) noexcept {
        const std::uint64_t level = floor_[s];
        const auto crosses = [&](index j) { return (members(s)[j / 64] >> (j % 64) & 1) != 0; };
        const auto on_outsider = [&](index i) {
            std::uint64_t least = none;
            each_waiting(neighbours(i), [&](index j) {
                if (!crosses(j) && lowest_[j] < level + size_[i]) least = std::min(least, lowest_[j] + size_[j]);
            });
            return least;
        };
        std::uint64_t bottom = none;
        each_waiting(members(s), [&](index i) { bottom = std::min(bottom, lowest_[i] == level ? on_outsider(i) : lowest_[i]); });
        if (bottom == none) return false;
        // lifts are decided on the state before: collect through `offset_` of the waiting, which is free
        each_waiting(members(s), [&](index i) {
            if (lowest_[i] != level) return;
            std::uint64_t least = on_outsider(i);
            each_waiting(members(s), [&](index j) {
                const std::uint64_t low = std::max(lowest_[j], bottom);
                if (j != i && low < level + size_[i] && low <= capacity_ - size_[j]) least = std::min(least, low + size_[j]);
            });
            offset_[i] = least;
        });
        return clean(!any_waiting(members(s), [&](index i) { return lowest_[i] == level && (offset_[i] == none || !lift(i, offset_[i])); }));
    }

    std::span<std::uint64_t> wide_;
    std::span<index> narrow_;
    std::span<std::uint64_t> size_, align_, fixed_, offset_, lowest_, key_, most_, spans_, total_, left_, floor_, neighbours_, members_, waiting_, trail_old_, memo_, frame_key_;
    std::span<index> original_, span_begin_, first_, last_, rank_, by_rank_, path_, first_item_, crossing_, dirty_, is_dirty_, trail_index_;
    std::span<index> f_from_, f_until_, f_next_, f_section_, f_rank_, f_mark_, f_placed_mark_, f_path_;
    std::array<std::uint64_t, 2> print_{};
    std::uint64_t capacity_ = 0, nodes_ = 0;
    std::size_t buffers_ = 0, items_ = 0, sections_ = 0, words_ = 0, trail_ = 0, placed_ = 0, depth_ = 0, dirties_ = 0;
    bool well_formed_ = false, contradiction_ = false, lowest_only_ = true, stopped_ = false;
};

}  // namespace allot::inline v1
