// SPDX-License-Identifier: BSL-1.0
// ranged_sizes: the sizes of buffers for values of symbols, a lower bound of their plans, and orders of buffers.
//
//     values ──► set ──► sizes ──► load: the most live bytes        least values: no value of the range needs less
//                          └─────► peak_of(order): stacked          largest values: no value of the range needs more
//
// All sizes grow with each symbol. So do the load and the peak of an order.
#pragma once

#include <allot/plan/plan.hpp>
#include <allot/plan/ranged_problem.hpp>

#include <algorithm>

namespace allot {
inline namespace v1 {
namespace detail {

class ranged_sizes {
public:
    explicit ranged_sizes(const symbolic_problem& of) : of_{of}, places_(of.buffers.size()) {
        for (const symbolic_buffer& buffer : of.buffers) {
            const std::size_t seen = kinds_.size() < 64 ? 0 : kinds_.size() - 64;
            const auto found = std::find(kinds_.begin() + static_cast<std::ptrdiff_t>(seen), kinds_.end(), buffer.size);
            kind_.push_back(static_cast<std::uint32_t>(found - kinds_.begin()));
            if (found == kinds_.end()) kinds_.push_back(buffer.size);
            least_align_ = kind_.size() == 1 ? buffer.align : std::min(least_align_, buffer.align);
            align_ = std::max(align_, buffer.align);
        }
        bytes_.resize(kinds_.size());
        add_events();
        add_spans();
    }

    /// Computes all sizes. Returns false if one exceeds 64 bits.
    [[nodiscard]] bool set(std::span<const std::uint64_t> values) {
        for (std::size_t i = 0; i != kinds_.size(); ++i)
            if (!kinds_[i].bytes(values, bytes_[i])) return false;
        return true;
    }
    [[nodiscard]] std::uint64_t size(std::size_t buffer) const noexcept { return bytes_[kind_[buffer]]; }
    [[nodiscard]] std::size_t count() const noexcept { return places_.size(); }
    [[nodiscard]] std::uint64_t align() const noexcept { return align_; }
    /// Returns whether the sums of sizes and alignments, in thousandths, fit 64 bits.
    [[nodiscard]] bool are_small() const noexcept {
        constexpr std::uint64_t most = std::uint64_t{1} << 50;
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i != count(); ++i)
            if (const std::uint64_t each = size(i);
                each >= most || of_.buffers[i].align >= most || (sum += each + of_.buffers[i].align) >= most)
                return false;
        return true;
    }

    /// Returns a lower bound of the peak of every plan for the sizes that are set. Buffers begin at multiples of the
    /// least alignment, so each needs a multiple of it, except the highest one.
    [[nodiscard]] std::uint64_t load() const noexcept {
        std::uint64_t live = 0, rounded = 0, most = 0, most_rounded = 0;
        for (const event& each : events_) {
            const std::uint64_t bytes = size(each.buffer), up = align_up(bytes, least_align_);
            live += each.begins ? bytes : ~bytes + 1;
            rounded += each.begins ? up : ~up + 1;
            most = std::max(most, live);
            most_rounded = std::max(most_rounded, rounded);
        }
        return std::max(most, most_rounded - std::min(most_rounded, least_align_ - 1));
    }
    /// Returns the peak of the plan with this order for the sizes that are set.
    [[nodiscard]] std::uint64_t peak_of(const stacking_order& order) noexcept {
        return stack_buffers(order, of_.buffers, [this](std::size_t i) { return size(i); }, places_);
    }

    /// Returns the order of a plan for the sizes that are set.
    [[nodiscard]] result<stacking_order, plan_error> planned_order(const plan_options& options) {
        using answer = result<stacking_order, plan_error>;
        std::vector<plan_buffer> buffers(count());
        for (std::size_t i = 0; i != count(); ++i) buffers[i] = {size(i), of_.buffers[i].live, of_.buffers[i].align};
        auto made = plan(symbolic_plan::problem_of(of_, buffers), options);
        if (!made) return answer::failure(made.error());
        std::vector<std::uint32_t> order(count());
        for (std::size_t i = 0; i != count(); ++i) order[i] = static_cast<std::uint32_t>(i);
        std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
            return made->places[a].offset < made->places[b].offset;
        });
        return order_of(std::move(order));
    }

private:
    struct event {
        std::int64_t step;
        bool begins;
        std::uint32_t buffer;
    };
    struct steps {  // positions of compressed steps
        std::uint32_t from, until;
    };

    template <class Use>
    void each_lifetime(Use use) const {
        for (std::size_t i = 0; i != of_.buffers.size(); ++i) use(static_cast<std::uint32_t>(i), of_.buffers[i].live);
        for (const plan_revival& each : of_.revivals) use(static_cast<std::uint32_t>(each.buffer), each.live);
    }
    void add_events() {
        each_lifetime([&](std::uint32_t buffer, lifetime live) {
            events_.push_back({live.from, true, buffer});
            events_.push_back({live.until, false, buffer});
        });
        std::sort(events_.begin(), events_.end(), [](const event& a, const event& b) {
            return a.step != b.step       ? a.step < b.step
                   : a.begins != b.begins ? b.begins  // ends first
                                          : a.buffer < b.buffer;
        });
    }
    void add_spans() {
        std::vector<std::int64_t> begins;  // two steps without a beginning between them have the same buffers or fewer
        for (const event& each : events_)
            if (each.begins && (begins.empty() || begins.back() != each.step)) begins.push_back(each.step);
        const auto position = [&](std::int64_t step) {
            return static_cast<std::uint32_t>(std::lower_bound(begins.begin(), begins.end(), step) - begins.begin());
        };
        spans_.resize(count());
        each_lifetime([&](std::uint32_t buffer, lifetime live) {
            spans_[buffer].push_back({position(live.from), position(live.until)});
        });
        steps_ = begins.size();
        apart_.resize(count());
        for (const plan_pair& each : of_.apart) {
            apart_[each.first].push_back(static_cast<std::uint32_t>(each.second));
            apart_[each.second].push_back(static_cast<std::uint32_t>(each.first));
        }
    }

    /// Adds the buffers on which each one lies: the last ones before it at its steps, and those it is apart from.
    [[nodiscard]] stacking_order order_of(std::vector<std::uint32_t> buffers) const {
        constexpr std::uint32_t none = ~std::uint32_t{0};
        std::vector<std::uint32_t> top(steps_, none), taken_for(count(), none);
        std::vector<bool> is_placed(count());
        stacking_order made;
        for (const std::uint32_t now : buffers) {
            made.first.push_back(static_cast<std::uint32_t>(made.below.size()));
            const auto add = [&](std::uint32_t under) {
                if (under == none || taken_for[under] == now) return;
                taken_for[under] = now;
                made.below.push_back(under);
            };
            for (const steps& span : spans_[now])
                for (std::uint32_t step = span.from; step != span.until; ++step) {
                    add(top[step]);
                    top[step] = now;
                }
            for (const std::uint32_t other : apart_[now])
                if (is_placed[other]) add(other);
            is_placed[now] = true;
        }
        made.first.push_back(static_cast<std::uint32_t>(made.below.size()));
        made.buffers = std::move(buffers);
        return made;
    }

    symbolic_problem of_;
    std::vector<symbolic_size> kinds_;  // different sizes
    std::vector<std::uint32_t> kind_;   // by buffer
    std::vector<std::uint64_t> bytes_;  // by kind
    std::vector<event> events_;         // in order of time
    std::vector<std::vector<steps>> spans_;
    std::vector<std::vector<std::uint32_t>> apart_;
    std::vector<plan_place> places_;
    std::size_t steps_ = 0;
    std::uint64_t least_align_ = 1, align_ = 1;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
