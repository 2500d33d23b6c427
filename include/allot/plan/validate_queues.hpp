// SPDX-License-Identifier: BSL-1.0
// validate_queues: checks a plan for operators on several queues, and the set of buffers that proves its bound.
//
//     const std::size_t queues[] = {0, 1};
//     const allot::queued_buffer buffers[] = {{.size = 512}, {.size = 512}};
//     const allot::queued_use uses[] = {{0, 0}, {1, 1}};
//     const allot::queued_problem problem{.buffers = buffers, .queues = queues, .uses = uses};
//     const auto made = allot::plan_queues(problem);
//     if (!made) return complain(made.error());
//     const auto found = allot::validate_queues(problem, *made, made->peak);
//     if (found.kind != allot::queued_violation_kind::none) complain(found.kind, found.first, found.second);
//
//     waits, queues ──► for each operator, the set of all earlier ones ──► for each pair of buffers, all pairs of uses
//
// It shares no code with `plan_queues`, except the check of the problem.
//
// When to use: to check a plan from any source before using it, and in tests.
// When not to use: for a plan of one queue (validate.hpp).
//
// Complexity: O(operators · waits / 64 + n² + u²) for n buffers with u uses in all.
// Memory: on the heap, operators² / 8 bytes.
// Thread safety: pure functions.
#pragma once

#include <allot/plan/queued_problem.hpp>

namespace allot {
inline namespace v1 {

/// Kind of a violation. `first` and `second` are the members of `queued_violation`.
enum class queued_violation_kind : unsigned char {
    none,            ///< The plan is valid.
    bad_problem,     ///< The problem is invalid: `plan_queues` returns the reason.
    places_missing,  ///< There are `first` places, a different number than buffers.
    misaligned,      ///< The offset of buffer `first` is not a multiple of its alignment, or has another size.
    over_capacity,   ///< The end of buffer `first` exceeds the capacity or 64 bits.
    overlap,         ///< Buffers `first` and `second` share bytes, and may be in use at the same time.
    not_heaviest,    ///< Buffers `first` and `second` of `heaviest` may share bytes, or `first` does not exist.
};

/// Returns a human-readable description of the kind.
[[nodiscard]] constexpr const char* to_string(queued_violation_kind kind) noexcept {
    switch (kind) {
        case queued_violation_kind::none: return "the plan is valid";
        case queued_violation_kind::bad_problem: return "the problem is invalid";
        case queued_violation_kind::places_missing: return "there is not one place for each buffer";
        case queued_violation_kind::misaligned: return "an offset is misaligned, or a size differs";
        case queued_violation_kind::over_capacity: return "a buffer exceeds the capacity";
        case queued_violation_kind::overlap: return "buffers that may be in use at the same time share bytes";
        case queued_violation_kind::not_heaviest: return "two buffers of the set that proves the bound may share bytes";
    }
    return "unknown";
}

/// The first violation that was found.
struct queued_violation {
    queued_violation_kind kind = queued_violation_kind::none;  ///< Kind.
    std::size_t first = 0;                                     ///< Index that the kind refers to.
    std::size_t second = 0;                                    ///< Second index that the kind refers to.

    /// Returns a human-readable description of the kind.
    [[nodiscard]] constexpr const char* what() const noexcept { return to_string(kind); }
};

namespace detail {

class queued_validator {
public:
    explicit queued_validator(const queued_problem& of) : of_{of}, words_{(of.queues.size() + 63) / 64} {
        earlier_.assign(of.queues.size() * words_, 0);
        for (std::size_t now = 0; now != of.queues.size(); ++now) {
            for (std::size_t before = now; before-- != 0;)
                if (of.queues[before] == of.queues[now]) {
                    add(now, before);
                    break;
                }
            for (const queue_wait& wait : of.waits)
                if (wait.operation == now) add(now, wait.earlier);
        }
        uses_.resize(of.buffers.size());
        for (const queued_use& use : of.uses) uses_[use.buffer].push_back(use.operation);
    }
    [[nodiscard]] bool is_used(std::size_t buffer) const { return !uses_[buffer].empty(); }
    /// Returns whether every use of one buffer is before every use of the other.
    [[nodiscard]] bool may_share(std::size_t a, std::size_t b) const { return are_before(a, b) || are_before(b, a); }

private:
    void add(std::size_t now, std::size_t before) {
        for (std::size_t w = 0; w != words_; ++w) earlier_[now * words_ + w] |= earlier_[before * words_ + w];
        earlier_[now * words_ + before / 64] |= std::uint64_t{1} << before % 64;
    }
    [[nodiscard]] bool are_before(std::size_t a, std::size_t b) const {
        for (const std::size_t x : uses_[a])
            for (const std::size_t y : uses_[b])
                if ((earlier_[y * words_ + x / 64] >> x % 64 & 1) == 0) return false;
        return true;
    }

    queued_problem of_;
    std::size_t words_;
    std::vector<std::uint64_t> earlier_;          // by operator, a bit for each operator that has ended before it
    std::vector<std::vector<std::size_t>> uses_;  // by buffer
};

}  // namespace detail

/// Returns the first violation that it finds, or a violation of kind `none` if the plan is valid.
///
/// No buffer may end above `capacity`. Throws the exceptions of the heap, such as `std::bad_alloc`.
[[nodiscard]] inline queued_violation validate_queues(const queued_problem& problem, const queued_plan& plan,
                                                      std::uint64_t capacity) {
    using kind = queued_violation_kind;
    if (const plan_error error = detail::check_queues(problem); error.reason != plan_refusal::none)
        return {kind::bad_problem, error.which};
    const std::size_t count = problem.buffers.size();
    if (plan.places.size() != count) return {kind::places_missing, plan.places.size()};
    const detail::queued_validator order{problem};
    for (std::size_t a = 0; a != count; ++a) {
        const plan_place& place = plan.places[a];
        const std::uint64_t size = order.is_used(a) ? problem.buffers[a].size : 0;
        if (place.offset % problem.buffers[a].align != 0 || place.size != size) return {kind::misaligned, a};
        if (place.size != 0 && (place.size > capacity || place.offset > capacity - place.size))
            return {kind::over_capacity, a};
        for (std::size_t b = 0; b != a; ++b) {
            const plan_place& other = plan.places[b];
            const bool meets = place.offset < other.offset + other.size && other.offset < place.offset + place.size;
            if (place.size != 0 && other.size != 0 && meets && !order.may_share(a, b)) return {kind::overlap, a, b};
        }
    }
    for (std::size_t i = 0; i != plan.heaviest.size(); ++i) {
        if (plan.heaviest[i] >= count) return {kind::not_heaviest, plan.heaviest[i]};
        for (std::size_t k = 0; k != i; ++k)
            if (plan.heaviest[i] == plan.heaviest[k] || order.may_share(plan.heaviest[i], plan.heaviest[k]))
                return {kind::not_heaviest, plan.heaviest[i], plan.heaviest[k]};
    }
    return {};
}

}  // namespace v1
}  // namespace allot
