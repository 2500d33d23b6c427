// SPDX-License-Identifier: BSL-1.0
// guide: the places of the requests of one pass of a program, such as a step of a training, for `guided`.
//
//     const auto made = allot::make_guide(seen);                 // seen: from guided::take_recording, or a file
//     if (!made) print(made.error().what());                     // invalid sizes or alignments: made.error()
//     made->peak; made->bound; made->best_fit_peak;
//
//     request    0   1   2   3   4        `until` of request 0 is 3: three requests came before its deallocation.
//     block 0    ├───────────┤            A block that the next pass frees has `until` = the number of requests, and
//     block 1        ├───────────────►    `after` = the number of requests of the next pass before the deallocation,
//     block 2            ├───┤            and `is_carried`. `until = lives_on`: neither pass frees it. No place.
//
// `make_guide` compares four layouts. The first one is that of best fit, and the second one that of first fit. The
// third one is that of best fit with a few blocks at other places ("pinned"), which lower the peak. The fourth one is
// that of `plan`, in which all blocks are pinned. If all passes are equal, the lowest one is the guide. Otherwise it
// plays the pass again with requests of other sizes, missing requests, more requests, and requests in another order.
// The first layout is the guide then, unless another one is lower by 1.6 % on the average and never above it. Same
// input, same guide, on every machine.
//
// When to use: to make the guide of a `guided` allocator, in any thread and at any time.
// When not to use: if all requests are certain. `planned` serves a plan without a check.
//
// Complexity: that of `plan` with the given effort, and O(requests) for each of the `trials` and rehearsals.
// Memory: about 50 bytes for each request, and while it is made the memory of `plan`.
// Thread safety: the function has no state. A guide is a value.
#pragma once

#include <allot/plan/detail/guide_maker.hpp>

namespace allot {
inline namespace v1 {

/// Returns a guide for a pass. Throws the exceptions of the heap, such as `std::bad_alloc`. Fails if a size is 0 or too
/// large, if an alignment is not a power of two, or if a deallocation comes before its request.
template <class Request = pass_request>
[[nodiscard]] result<guide, plan_error> make_guide(std::span<const std::type_identity_t<Request>> seen,
                                                   const guide_options& options = {}) {
    return detail::guide_maker<Request>{seen, options}.run();
}

}  // namespace v1
}  // namespace allot
