// SPDX-License-Identifier: BSL-1.0
// control_flow: the lifetimes of tensors in a program with branches and loops.
//
//     // If: step 0 continues with step 1 or with step 2, and both continue with step 3.
//     const std::uint32_t x[] = {0}, a[] = {1}, b[] = {2}, y[] = {3};
//     const std::uint32_t either[] = {1, 2}, last[] = {3};
//     const allot::flow_step steps[] = {{.writes = x, .next = either},
//                                       {.reads = x, .writes = a, .next = last},
//                                       {.reads = x, .writes = b},
//                                       {.writes = y}};
//     const auto lives = allot::find_lifetimes({.tensors = 4, .steps = steps});   // a in step 1, b in step 2
//
//     a branch                  live      a loop                    live
//     0  x =        ─┬─┐        x         0  v =        ───┐        v
//     1  then a = x ◄┘ │ ─┐     x a       1  t = f(v)   ◄──┤ ◄─┐    v t
//     2  else b = x ◄──┘  │     x b       2  u = g(t)      │   │      t u
//     3  y =           ◄──┴─    y         3  v = u      ───┼───┘    v   u
//                                         4  y = v      ◄──┘        v     y
//
// A tensor is live at a step if a path leads from a step that writes it to this step, and from there to a step that
// reads it, without another write between. It is also live at the steps that read or write it. Tensors that are never
// live at the same step may share bytes on every path. So tensors of two branches share bytes, and the bytes of a
// variable of a loop are free between the last read in the body and the next write.
//
// A step that writes a part of a tensor, such as a row for each iteration of a loop, also reads it.
//
// When to use: to plan programs with branches and loops, such as `If`, `Loop` and `Scan` of ONNX.
// When not to use: the steps run one after the other. The lifetimes then are first and last use.
//
// Complexity: O(n + e + l log l) for n steps, e edges, and l steps at which a tensor is live, summed over all tensors.
// Memory: about 40 bytes a step and 60 bytes a tensor on the heap, and the result.
// Thread safety: the function has no state.
//
// Source: A. Aho, M. Lam, R. Sethi, J. Ullman, "Compilers: Principles, Techniques, and Tools", section 9.2.5
// (live-variable analysis).
#pragma once

#include <allot/plan/problem.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace allot {
inline namespace v1 {

/// A step of a program: the indices of its tensors, and of the steps that can follow.
struct flow_step {
    std::span<const std::uint32_t> reads{};   ///< Tensors that it reads.
    std::span<const std::uint32_t> writes{};  ///< Tensors that it writes.
    /// Steps that can follow. The number of steps is the end of the program. Empty: the step after this one.
    std::span<const std::uint32_t> next{};
};

/// A program with branches and loops. It begins with step 0. All members are views of arrays that the caller owns.
struct flow_program {
    std::size_t tensors = 0;                   ///< Number of tensors.
    std::span<const std::uint32_t> inputs{};   ///< Tensors that the caller writes before step 0.
    std::span<const std::uint32_t> outputs{};  ///< Tensors that the caller reads at the end.
    std::span<const flow_step> steps{};        ///< Steps.
};

/// Reason why a program is invalid. `which` is the index of the second column.
enum class flow_refusal : unsigned char {
    none,            ///< The program is valid.
    no_such_tensor,  ///< Step, or the number of steps for inputs and outputs: a tensor does not exist.
    no_such_step,    ///< Step: one of the steps that can follow does not exist.
    unreachable,     ///< Step: no path leads to it.
    read_too_early,  ///< Tensor: a path leads to a read without a write.
};

/// Returns a human-readable description of the reason.
[[nodiscard]] constexpr const char* to_string(flow_refusal reason) noexcept {
    switch (reason) {
        case flow_refusal::none: return "the program is valid";
        case flow_refusal::no_such_tensor: return "a step has a tensor that does not exist";
        case flow_refusal::no_such_step: return "a step is followed by a step that does not exist";
        case flow_refusal::unreachable: return "no path leads to a step";
        case flow_refusal::read_too_early: return "a path leads to a read of a tensor that is not yet written";
    }
    return "unknown";
}

/// An error: its reason, and the index of the tensor or step that it concerns.
struct flow_error {
    flow_refusal reason = flow_refusal::none;  ///< Reason.
    std::size_t which = 0;                     ///< Index of a tensor or a step.

    /// Returns a human-readable description of the reason.
    [[nodiscard]] constexpr const char* what() const noexcept { return to_string(reason); }
    /// Compares both members.
    friend constexpr bool operator==(flow_error, flow_error) = default;
};

/// Lifetimes of the tensors of a program. Result of `find_lifetimes`.
struct flow_lifetimes {
    flow_error error{};                  ///< The first mistake of the program. If there is one, the arrays are empty.
    std::vector<lifetime> first;         ///< First lifetime of each tensor. Empty, {0, 0}, if no step has the tensor.
    std::vector<plan_revival> revivals;  ///< Further lifetimes, sorted by tensor and step.
};

namespace detail {

/// Implementation of `find_lifetimes`.
class lifetime_finder {
public:
    explicit lifetime_finder(const flow_program& program)
        : program_{program}, end_{static_cast<std::uint32_t>(program.steps.size())} {}

    [[nodiscard]] flow_lifetimes run() {
        flow_lifetimes made;
        made.error = check();
        if (made.error.reason == flow_refusal::none) find(made);
        if (made.error.reason != flow_refusal::none) made.first.clear(), made.revivals.clear();
        return made;
    }

private:
    /// Calls `visit` with each step that can follow, and with the number of steps for the end.
    template <class Visit>
    void each_next(std::uint32_t step, Visit visit) const {
        if (program_.steps[step].next.empty()) return visit(step + 1);
        for (const std::uint32_t next : program_.steps[step].next) visit(next);
    }

    [[nodiscard]] flow_error check() const {
        const auto is_missing = [&](std::uint32_t tensor) { return tensor >= program_.tensors; };
        for (std::uint32_t now = 0; now != end_; ++now) {
            const flow_step& step = program_.steps[now];
            if (std::ranges::any_of(step.reads, is_missing) || std::ranges::any_of(step.writes, is_missing))
                return {flow_refusal::no_such_tensor, now};
            if (std::ranges::any_of(step.next, [&](std::uint32_t next) { return next > end_; }))
                return {flow_refusal::no_such_step, now};
        }
        if (std::ranges::any_of(program_.inputs, is_missing) || std::ranges::any_of(program_.outputs, is_missing))
            return {flow_refusal::no_such_tensor, end_};
        return check_paths();
    }
    [[nodiscard]] flow_error check_paths() const {
        std::vector<bool> reached(end_ + std::size_t{1});
        std::vector<std::uint32_t> work{0};
        reached[0] = true;
        while (!work.empty()) {
            const std::uint32_t now = work.back();
            work.pop_back();
            if (now == end_) continue;
            each_next(now, [&](std::uint32_t next) {
                if (!reached[next]) work.push_back(next);
                reached[next] = true;
            });
        }
        for (std::uint32_t now = 0; now != end_; ++now)
            if (!reached[now]) return {flow_refusal::unreachable, now};
        return {};
    }

    /// Lists the steps before each step and before the end, and the steps that read and write each tensor.
    void prepare() {
        before_.resize(end_ + std::size_t{1});
        readers_.resize(program_.tensors);
        writers_.resize(program_.tensors);
        for (std::uint32_t now = 0; now != end_; ++now) {
            each_next(now, [&](std::uint32_t next) { before_[next].push_back(now); });
            for (const std::uint32_t tensor : program_.steps[now].reads) readers_[tensor].push_back(now);
            for (const std::uint32_t tensor : program_.steps[now].writes) writers_[tensor].push_back(now);
        }
        for (const std::uint32_t tensor : program_.outputs) readers_[tensor].push_back(end_);
        is_input_.resize(program_.tensors);
        for (const std::uint32_t tensor : program_.inputs) is_input_[tensor] = true;
        needed_.resize(end_ + std::size_t{1}, none);
        written_.resize(end_ + std::size_t{1}, none);
    }

    void find(flow_lifetimes& made) {
        prepare();
        for (std::uint32_t tensor = 0; tensor != program_.tensors; ++tensor) {
            live_.clear();
            if (!go_back(tensor)) {
                made.error = {flow_refusal::read_too_early, tensor};
                return;
            }
            std::ranges::sort(live_);
            live_.erase(std::unique(live_.begin(), live_.end()), live_.end());
            add(made, tensor);
        }
    }
    /// Collects the steps at which a tensor is live: from each read back to the writes. Returns false if a path leads
    /// back to the beginning, and the tensor is not an input.
    [[nodiscard]] bool go_back(std::uint32_t tensor) {
        live_ = writers_[tensor];
        for (const std::uint32_t step : writers_[tensor]) written_[step] = tensor;
        std::vector<std::uint32_t>& work = readers_[tensor];
        for (const std::uint32_t step : work) needed_[step] = tensor;
        bool reaches_begin = false;
        while (!work.empty()) {
            const std::uint32_t now = work.back();
            work.pop_back();
            if (now != end_ || end_ == 0) live_.push_back(now);
            reaches_begin = reaches_begin || now == 0;
            for (const std::uint32_t before : before_[now]) {
                live_.push_back(before);
                if (written_[before] == tensor || needed_[before] == tensor) continue;
                needed_[before] = tensor;
                work.push_back(before);
            }
        }
        if (is_input_[tensor]) live_.push_back(0);
        return !reaches_begin || is_input_[tensor];
    }
    void add(flow_lifetimes& made, std::uint32_t tensor) const {
        made.first.push_back({});
        for (std::size_t i = 0; i != live_.size();) {
            const std::size_t from = i;
            while (++i != live_.size() && live_[i] == live_[i - 1] + 1) {}
            const lifetime live{live_[from], std::int64_t{live_[i - 1]} + 1};
            if (from == 0) made.first.back() = live;
            else made.revivals.push_back({tensor, live});
        }
    }

    static constexpr std::uint32_t none = ~std::uint32_t{0};

    const flow_program& program_;
    const std::uint32_t end_;  // number of steps
    std::vector<std::vector<std::uint32_t>> before_, readers_, writers_;
    std::vector<bool> is_input_;
    std::vector<std::uint32_t> needed_, written_;  // by step: the last tensor that is needed there, or written
    std::vector<std::uint32_t> live_;              // steps of the tensor
};

}  // namespace detail

/// Returns the steps at which each tensor is live. Inputs are live at step 0. Throws the exceptions of the heap.
[[nodiscard]] inline flow_lifetimes find_lifetimes(const flow_program& program) {
    return detail::lifetime_finder{program}.run();
}

}  // namespace v1
}  // namespace allot
