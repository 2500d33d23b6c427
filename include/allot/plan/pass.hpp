// SPDX-License-Identifier: BSL-1.0
// pass: the requests of one pass of a program, and the places that a guide gives them.
//
//     allot::pass_request seen[] = {{.size = 4096, .align = 64, .until = 2},  // two requests before its deallocation
//                                   {.size = 1000, .until = 2}, {.size = 512, .until = 3}};
//
// A pass is a part of a program that repeats: a step of a training, an inference, a frame. See guide.hpp and
// guided.hpp.
//
// When to use: as the input of `make_guide`.
// When not to use: to record all calls of a program. Use a trace.
//
// Complexity: plain data. Memory: 40 bytes for a request, 48 for a slot. Thread safety: values.
#pragma once

#include <cstdint>
#include <vector>

namespace allot {
inline namespace v1 {

/// The value of `pass_request::until` for a block that outlives the next pass.
inline constexpr std::uint32_t lives_on = 0xFFFF'FFFFU;

/// A request of a pass, and the time of its deallocation. Times count the requests of the pass.
struct pass_request {
    std::uint64_t size = 0;          ///< Size in bytes.
    std::uint64_t align = 16;        ///< Alignment in bytes, a power of two.
    std::uint64_t key = 0;           ///< A value that names the request, such as a hash of an operator. 0: none.
    std::uint32_t until = lives_on;  ///< Number of requests of the pass before the deallocation.
    bool is_carried = false;         ///< Whether the next pass frees it. Then `until` is the number of requests.
    std::uint32_t after = 0;         ///< If the next pass frees it: number of that pass's requests before.
    std::uint32_t turn = 0;          ///< Orders deallocations between the same two requests: the lowest is first.
    /// Compares all members.
    friend constexpr bool operator==(const pass_request&, const pass_request&) = default;
};

/// The place of a request in a guide.
struct guide_slot {
    std::uint64_t offset = 0;  ///< Offset in the room of the guided allocator, if `is_planned`.
    std::uint64_t size = 0;    ///< Requested size in bytes.
    std::uint64_t align = 1;   ///< Requested alignment in bytes.
    std::uint64_t key = 0;     ///< The key of the request. 0: none.
    std::uint32_t at = 0;      ///< Index of the request in `guide::calls`.
    /// Index of the deallocation in `guide::calls`; for a carried block, that of the next pass.
    std::uint32_t end = 0;
    bool is_planned = false;  ///< Whether it has a place. A block that lives on has none.
    bool is_pinned = false;   ///< Whether it takes its place also if other requests differ from the recording.
    bool is_carried = false;  ///< Whether the next pass frees it.
    /// Compares all members.
    friend constexpr bool operator==(const guide_slot&, const guide_slot&) = default;
};

/// The hole that a request takes if it has no pinned place.
enum class guide_rule : std::uint8_t {
    best_fit,   ///< The smallest one that fits.
    first_fit,  ///< The one at the lowest offset.
};

/// The places of the requests of a pass. `make_guide` creates it.
struct guide {
    std::vector<guide_slot> slots{};  ///< The place of each request.
    /// The calls of the pass in order: 2 * slot for a request, 2 * slot + 1 for a deallocation.
    std::vector<std::uint32_t> calls{};
    std::uint64_t peak = 0;                  ///< Bytes that the pass needs.
    std::uint64_t align = 1;                 ///< Alignment of the room's base in bytes.
    std::uint64_t bound = 0;                 ///< No layout of the pass needs fewer bytes.
    std::uint64_t best_fit_peak = 0;         ///< Bytes that best fit needs.
    guide_rule rule = guide_rule::best_fit;  ///< Serves requests without a pinned place in passes that differ.
    /// Whether blocks that live on are in the room, too. They have no place: the rule serves their requests.
    bool holds_all = false;
    /// Compares all members.
    friend bool operator==(const guide&, const guide&) = default;
};

/// The metadata of a block of a guided allocator: a slot of the guide of an epoch, or a record (epoch 0).
struct guided_reference {
    std::uint32_t index = 0xFFFF'FFFFU;  ///< The slot or the record. No record: a block outside of the room.
    std::uint32_t epoch = 0;             ///< The number of the adopted guide.
    /// Compares both members.
    friend constexpr bool operator==(guided_reference, guided_reference) = default;
};

/// The counters of a guided allocator.
struct guided_counters {
    std::uint64_t passes = 0;       ///< Passes that began.
    std::uint64_t divergences = 0;  ///< Times at which a request or a deallocation was not that of the guide.
    std::uint64_t resumptions = 0;  ///< Times at which the calls were those of the guide again, within a pass.
    std::uint64_t loose = 0;        ///< Requests that best fit or a pinned place served.
    std::uint64_t matched = 0;      ///< Requests of these that have a slot.
    std::uint64_t outside = 0;      ///< Requests that the allocator of the room served.
    /// Compares all members.
    friend constexpr bool operator==(const guided_counters&, const guided_counters&) = default;
};

}  // namespace v1
}  // namespace allot
