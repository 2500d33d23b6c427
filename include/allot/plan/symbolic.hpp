// SPDX-License-Identifier: BSL-1.0
// symbolic: a plan for sizes that depend on symbols with upper bounds. A memory for the bounds serves all values.
//
//     constexpr allot::plan_symbol batch{0}, length{1};
//     const allot::symbolic_buffer buffers[] = {{.size = {batch, length, 64, 4}, .live = {0, 2}},       // a product
//                                               {.size = {batch, 2 * length + 1, 4}, .live = {1, 3}}};
//     const std::uint64_t bounds[] = {8, 512};                          // of batch and of length
//     auto shapes = allot::plan_symbolic({.buffers = buffers, .bounds = bounds}).value();
//     auto memory = arena.allocate({.size = shapes.peak_at_bounds()});  // once
//     shapes.bind(batch, 3, 0).value();                                 // before step 0: everything is placed anew
//     run_steps(0, 1);                                                  // at shapes.places[0].offset
//     shapes.bind(length, 100, 1).value();                              // after step 0: buffer 0 stays, buffer 1 moves
//     run_steps(1, 3);
//     shapes.reset();                                                   // for the next run: the plan for the bounds
//
//     symbols ──► bind ──► sizes ──► replan_at ──► places               no buffer that lives moves
//
// A size is a sum of products of extents, in bytes: `{batch, length, 4} + {length, 8}`. An extent is a number, or
// `factor · symbol + constant`. Factors and constants are not negative, so a size is largest for the bounds. For other
// expressions, compute the sizes and call `replan_at`.
//
// Each `bind` plans the remaining steps for the known values and for the bounds of the other symbols. The peak never
// rises. The bytes of the memory above `peak` are free for other uses, for example for tensors `anywhere` in the same
// storage.
//
// When to use: for graphs with dynamic shapes, whose symbols become known while buffers live.
// When not to use: all symbols are known before the first step (ranged.hpp plans all values in advance), or sizes have
// no upper bounds (use an arena).
//
// Complexity: that of `replan_at` for each `bind`.
// Memory: about 100 bytes a buffer on the heap. Throws the exceptions of the heap.
// Thread safety: none. Concurrent runs need a copy of the plan each.
#pragma once

#include <allot/plan/replan_at.hpp>
#include <allot/plan/symbolic_problem.hpp>

namespace allot {
inline namespace v1 {

template <class Symbol>
result<replan_summary, plan_error> symbolic_plan::bind(std::type_identity_t<Symbol> symbol, std::uint64_t value,
                                                       std::int64_t before, const plan_options& options) {
    using answer = result<replan_summary, plan_error>;
    if (symbol.index >= values_.size()) return answer::failure({plan_refusal::no_such_buffer, symbol.index});
    if (value > values_[symbol.index]) return answer::failure({plan_refusal::above_bound, symbol.index});
    std::vector<std::uint64_t> values = values_;
    values[symbol.index] = value;
    std::vector<plan_buffer> sized = buffers_;
    for (std::size_t i = 0; i != sized.size(); ++i)  // cannot fail: it did not for larger values
        static_cast<void>(of_.buffers[i].size.bytes(values, sized[i].size));
    auto made = replan_at(problem_of(of_, sized), places, before, options);
    if (!made) return answer::failure(made.error());
    const replan_summary summary{*made, made->moved};
    static_cast<memory_plan&>(*this) = std::move(*made);
    values_ = std::move(values);
    buffers_ = std::move(sized);
    return summary;
}

/// Returns a plan for the bounds of all symbols. Fails like `plan`, or with `too_large` for a size that is invalid for
/// the bounds.
template <class Watch = unwatched>
[[nodiscard]] result<symbolic_plan, plan_error> plan_symbolic(const symbolic_problem& of,
                                                              const plan_options& options = {}, Watch watch = {}) {
    using answer = result<symbolic_plan, plan_error>;
    std::vector<plan_buffer> buffers(of.buffers.size());
    for (std::size_t i = 0; i != buffers.size(); ++i) {
        buffers[i] = {0, of.buffers[i].live, of.buffers[i].align};
        if (!of.buffers[i].size.bytes(of.bounds, buffers[i].size)) return answer::failure({plan_refusal::too_large, i});
    }
    auto made = plan(symbolic_plan::problem_of(of, buffers), options, watch);
    if (!made) return answer::failure(made.error());
    return symbolic_plan{of, std::move(buffers), *std::move(made)};
}

}  // namespace v1
}  // namespace allot
