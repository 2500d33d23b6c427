// SPDX-License-Identifier: BSL-1.0
// guided: an allocator for a program that repeats its requests, such as a training. It serves them from a guide.
//
//     using arena = allot::arena<allot::host::heap, allot::best_fit<>>;
//     allot::guided<arena> memory{arena{{}, 1_GiB}, {.size = 512_MiB, .align = 64}};  // one block of the arena
//     for (int step = 0; step != steps; ++step) {
//         memory.begin_pass();                                   // the first passes are recorded
//         run(memory);                                           // allocates and deallocates
//         if (auto seen = memory.take_recording(); !seen.empty())
//             memory.use_guide(allot::make_guide(seen).value());     // or make it in another thread meanwhile
//     }
//
//     arena  │ room: blocks of passes, at the places of the guide │ other blocks of the arena │
//              └─ request 17 of the guide: offset 4096
//
// A request that is the next one of the guide takes its place: a comparison and an addition, as in a bump. A request or
// a deallocation that is not the expected one begins a loose part of the pass: best fit, or first fit if the guide says
// so, places the requests in the bytes that are free. A request is matched with one of the guide near by, by its size,
// the deallocations before it, and its key if it has one. The guide is followed again when all live blocks of the room
// are blocks of the guide at their places, and at the latest in a pass that begins so. The allocator serves requests
// that do not fit in the room, and those whose blocks live on, unless `guide::holds_all`.
//
// With a key, a request also takes the place of a larger one with the same key.
//
// Memory: for equal passes, the room needs `guide::peak` bytes, which is at most what best fit needs. If no block of
// the guide is pinned, and it holds all blocks, all offsets are those of its rule alone, for all requests. (Blocks that
// the next pass frees can be at another place of best fit, because it depends on the order of earlier calls.) If blocks
// are pinned, or the rule is first fit, changed passes can need more bytes than best fit alone:
// `guide_options::changes`.
//
// A pass that differed from its guide is recorded. `take_recording` returns it when the pass after it is over, and
// `make_guide` makes a new guide of it, in any thread. Each phase of a program, such as the prefill and the decoding of
// a language model, has a number and a guide of its own. All phases share the room.
//
// When to use: the same requests come again and again, and their lifetimes are longer than a frame.
// When not to use: all requests are known when the program is compiled (use `planned`), or no two passes are alike (use
// an arena with best_fit).
//
// Complexity: O(1) for a request and a deallocation in step. The first other one is O(calls of the pass), and the next
// ones are those of best_fit, and O(live blocks) by first fit. `begin_pass` is O(slots), and O(slots * blocks) if
// blocks live that are older than a pass.
// Memory: one block of `room.size` bytes of the allocator; on the heap, the guides, 50 bytes for each slot, and 40 for
// each recorded request.
// Thread safety: requires external synchronization. `make_guide` runs in any thread.
#pragma once

#include <allot/compose/detail/wrapper.hpp>
#include <allot/plan/detail/guided_room.hpp>
#include <allot/plan/pass.hpp>

#include <deque>

namespace allot {
inline namespace v1 {

/// The metadata of a block of a guided allocator.
template <class Inner>
struct guided_metadata {
    ALLOT_NO_UNIQUE_ADDRESS Inner inner{};  ///< The metadata of the allocator.
    guided_reference reference{};           ///< The slot or the record of the block.
    /// Constructs the metadata of an empty block.
    constexpr guided_metadata() noexcept = default;
    /// Constructs the metadata from its members.
    constexpr guided_metadata(Inner of_allocator, guided_reference of_room) noexcept
        : inner{of_allocator}, reference{of_room} {}
    /// Compares both members.
    friend constexpr bool operator==(const guided_metadata&, const guided_metadata&) = default;
};

/// An allocator that serves requests of passes from guides, in one block of another allocator.
template <class Allocator>
class guided : public detail::wrapper<Allocator> {
    using base = detail::wrapper<Allocator>;
    using base::inner_;
    using typename base::allocator_type;
    using model = typename base::address_model;
    using inner_block = block_of<Allocator>;
    static_assert(
        linear_address_model<model>,
        "allot: guided divides one block by offsets, which a table of rows does not have: guide the parts of a "
        "paged allocator, as in paged{guided, guided}");
    static_assert(allocator_type::offsets != offset_use::none,
                  "allot: consumers of this memory take no offset: a guided allocator needs offsets for its blocks");
    static_assert(
        allocator_type::reclaims == reclaim::any,
        "allot: guided keeps one block of its allocator and frees others around it: use best_fit or pool, which "
        "free in any order");

public:
    using metadata_type = guided_metadata<decltype(inner_block::metadata)>;   ///< The metadata of a block.
    using block_type = block<decltype(inner_block::address), metadata_type>;  ///< The type of blocks.

    /// Allocates the room from the allocator, which is a default one. `size()` of the room is 0 if it has no such
    /// block.
    explicit guided(layout room) noexcept
        requires std::default_initializable<Allocator>
    {
        open(room);
    }
    /// Stores a reference to the allocator, or moves it into this object, and allocates the room from it. The size of
    /// `room()` is 0 if the allocator has no such block. Then it serves all requests.
    guided(Allocator&& allocator, layout room) noexcept : base{std::forward<Allocator>(allocator)} { open(room); }
    // The following constructor reports a missing room at compile time.
    template <class Other>
        requires std::same_as<std::remove_cvref_t<Other>, std::remove_cvref_t<Allocator>>
    explicit guided(Other&& allocator) noexcept : guided{std::forward<Other>(allocator), {}} {
        static_assert(!sizeof(Other), "allot: guided needs a room: guided{allocator, {.size = bytes, .align = 64}}");
    }
    /// Moves the allocator, the guides and the blocks.
    guided(guided&& other) noexcept
        : base{std::move(other)},
          held_{std::exchange(other.held_, {})},
          wanted_{other.wanted_},
          guides_{std::move(other.guides_)},
          room_{std::move(other.room_)} {}
    guided& operator=(guided&&) = delete;
    /// Frees the room.
    ~guided() {
        if (held_) inner_.deallocate(held_);
    }

    /// Begins a pass of a phase: the requests that follow are compared with its guide. Returns false and continues the
    /// last pass if the heap is exhausted.
    bool begin_pass(unsigned phase = 0) noexcept {
        if (phase < guides_.size() && guides_[phase].is_new) {
            if (!room_.release_guide()) return false;
            guides_[phase].now = std::exchange(guides_[phase].next, {});
            guides_[phase].is_new = false;
        }
        return room_.begin(guide_of(phase), phase);
    }
    /// Uses a guide for a phase, from its next pass on. Returns false and changes nothing if the guide needs a larger
    /// room or a larger alignment, or if the heap is exhausted.
    bool use_guide(guide made, unsigned phase = 0) {
        if (made.peak > held_.size || made.align > wanted_.align || !room_.reserve(made.slots.size())) return false;
        if (phase >= guides_.size()) guides_.resize(phase + std::size_t{1});
        guides_[phase].next = std::move(made);
        guides_[phase].is_new = true;
        return true;
    }
    /// Returns the requests of the last pass of a phase that differed from its guide, or that had none, and forgets
    /// them. They are complete when the pass after it is over. Returns an empty list if there is no such pass.
    [[nodiscard]] std::vector<pass_request> take_recording(unsigned phase = 0) { return room_.log().take(phase); }

    /// Allocates a block. A key names the request, such as a hash of an operator; 0: no key. Returns an empty block on
    /// failure.
    [[nodiscard]] block_type allocate(layout wanted, std::uint64_t key = 0) noexcept {
        const detail::guided_spot spot = room_.allocate(wanted, key);
        if (spot.inside) [[likely]]
            return inside(spot, wanted.size);
        return outside(wanted, key);
    }
    /// Deallocates an unchanged block. Does nothing for an empty block.
    void deallocate(block_type held) noexcept {
        if (!room_.deallocate_in_step(held.metadata.reference) && held) [[unlikely]]
            take(held);
    }
    /// Resizes a block in place and updates `held`. Returns false and changes nothing on failure. In step, a block
    /// cannot exceed its request.
    [[nodiscard]] bool resize(block_type& held, std::size_t size) noexcept
        requires resizable_allocator<allocator_type>
    {
        if (room_.contains(held.metadata.reference)) {
            if (!room_.resize(held.metadata.reference, offset_of(held), size)) return false;
            held.size = size;
            return true;
        }
        inner_block inner = of_allocator(held);
        if (!inner_.resize(inner, size)) return false;
        held = {inner.address, inner.size, {inner.metadata, held.metadata.reference}};
        return true;
    }
    /// Releases memory of the allocator without live blocks. The room stays. Returns the number of released bytes.
    std::size_t trim() noexcept
        requires trimmable_allocator<allocator_type>
    {
        return inner_.trim();
    }

    /// Returns the reason for which `allocate` would fail. Ends the part of the pass that is in step.
    [[nodiscard]] diagnosis diagnose(layout wanted) noexcept {
        const diagnosis found = inner_.diagnose(wanted);
        return found.reason == refusal::none || room_.diagnose(wanted).reason != refusal::none ? found : diagnosis{};
    }
    /// Returns the usable bytes of a block, or 0 for an empty block.
    [[nodiscard]] std::size_t capacity(block_type held) const noexcept
        requires measuring_allocator<allocator_type>
    {
        if (!held) return 0;
        if (room_.contains(held.metadata.reference)) return room_.capacity(held.metadata.reference, offset_of(held));
        return inner_.capacity(of_allocator(held));
    }
    /// Returns true if the block is in the allocator's memory, live or not.
    [[nodiscard]] bool owns(block_type held) const noexcept
        requires owning<allocator_type>
    {
        return inner_.owns(of_allocator(held));
    }
    /// Calls `f(address, size)` for every hole of the room and of the allocator.
    template <class Function>
    void for_each_hole(Function f) const noexcept
        requires hole_walkable_allocator<allocator_type>
    {
        inner_.for_each_hole(f);
        room_.for_each_hole(
            [&](std::size_t offset, std::size_t size) { f(model::locate(held_.address, offset), size); });
    }
    /// Calls `f(address, size)` for every live block.
    template <class Function>
    void for_each_block(Function f) const noexcept
        requires block_walkable_allocator<allocator_type>
    {
        inner_.for_each_block([&](const auto& address, std::size_t size) {
            if (!held_ || !(address == held_.address)) f(address, size);
        });
        room_.for_each_block(
            [&](std::size_t offset, std::size_t size) { f(model::locate(held_.address, offset), size); });
    }

    /// Returns the size and the alignment of the room. The size is 0 if the allocator had no such block.
    [[nodiscard]] layout room() const noexcept { return {held_.size, wanted_.align}; }
    /// Returns the guide of a phase that its passes follow, or nullptr.
    [[nodiscard]] const guide* guide_of(unsigned phase = 0) const noexcept {
        return phase < guides_.size() && !guides_[phase].now.slots.empty() ? &guides_[phase].now : nullptr;
    }
    /// Returns whether the pass follows its guide now.
    [[nodiscard]] bool is_in_step() const noexcept { return room_.is_in_step(); }
    /// Returns the counters.
    [[nodiscard]] const guided_counters& counters() const noexcept { return room_.counters(); }

private:
    struct phase_guides {
        guide now, next;
        bool is_new = false;  // the next pass begins with `next`
    };
    void open(layout room) noexcept {
        wanted_ = room;
        held_ = inner_.allocate(room);
        room_.open(held_.size, room.align);
    }
    [[nodiscard]] std::size_t offset_of(const block_type& held) const noexcept {
        return model::position(held.address) - model::position(held_.address);
    }
    [[nodiscard]] static inner_block of_allocator(const block_type& held) noexcept {
        return {held.address, held.size, held.metadata.inner};
    }
    [[nodiscard]] block_type inside(const detail::guided_spot& spot, std::size_t size) const noexcept {
        return {model::locate(held_.address, spot.offset), size, {{}, spot.reference}};
    }
    ALLOT_COLD void take(const block_type& held) noexcept {
        const guided_reference reference = held.metadata.reference;
        if (room_.contains(reference)) return room_.deallocate(reference, offset_of(held));
        inner_.deallocate(of_allocator(held));
        room_.forget_outside(reference);
    }
    /// Allocates a block that has no place in the room, or one in the room if the allocator is full.
    ALLOT_COLD block_type outside(layout wanted, std::uint64_t key) noexcept {
        if (const inner_block given = inner_.allocate(wanted))
            return {given.address, given.size, {given.metadata, room_.note_outside(wanted, key)}};
        const detail::guided_spot spot = room_.place(wanted, key, false);
        return spot.inside ? inside(spot, wanted.size) : block_type{};
    }

    inner_block held_{};
    layout wanted_{};
    std::deque<phase_guides> guides_{};  // the addresses of guides stay
    detail::guided_room<detail::guided_granule> room_{};
};

/// Deduces a reference for an lvalue and a value for an rvalue.
template <class Allocator>
guided(Allocator&&, layout) -> guided<Allocator>;

}  // namespace v1
}  // namespace allot
