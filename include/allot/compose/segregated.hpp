// SPDX-License-Identifier: BSL-1.0
// segregated: selects one of several allocators by the size or the alignment of a request.
//
//     using packets = allot::pool<allot::pool_options{.slot = 64}>;
//     allot::arena small{allot::host::heap{}, 64_KiB, allot::use<packets>};
//     allot::arena large{allot::host::heap{}, 1_MiB};
//     allot::segregated memory{allot::up_to<64>(small), large};
//     auto block = memory.allocate({.size = 48, .align = 16});     // from the pool
//
//     layout ──► size <= 64 ? ──► size <= 1024 ? ──► align <= 16 ? ──► … ──► all others
//                up_to<64>        up_to<1024>        aligned_up_to<16>       an allocator
//
// The first branch whose condition holds serves the request. If it fails, the request fails: small blocks never take
// the memory of large ones. `up_to<64, when_full::next>(pool)` tries the following branches instead. To try one
// particular allocator, use `up_to<64>(fallback{pool, other})`.
//
// An lvalue is stored as a reference and must outlive this object; an rvalue is moved into it. All branches need the
// same address model.
//
// When to use: to serve small blocks of few sizes from pools, and to keep large blocks away from small ones.
// When not to use: to try one memory after another. Use `fallback`.
//
// A call for one block (`owns`, `capacity`, `resize`) reaches the branch of the block. These functions, `size`,
// `reset`, `mark` and `rollback` exist if all branches have them; `trim` exists if one branch has it. `allocate_at` is
// missing, because an offset does not name the branch. A block never moves to another branch: where only its size names
// the branch, a resize to the size of another branch fails.
//
// Complexity: O(branches) comparisons, most of them at compile time, in addition to the branch.
// Memory: the metadata of a block is as large as the largest of a branch. If a condition is an alignment, or a branch
// has `when_full::next`, it also has the number of the branch in one byte. Otherwise the size of a block names the
// branch.
// Thread safety: that of all branches.
#pragma once

#include <allot/compose/detail/branches.hpp>
#include <allot/compose/detail/undo.hpp>
#include <allot/compose/detail/wrapper.hpp>

#include <cstring>

namespace allot {
inline namespace v1 {

/// The metadata of a segregated allocator: that of the block's branch, and the number of the branch if the size of the
/// block does not name it.
template <bool NamedBySize, class... Metadata>
struct segregated_metadata : detail::metadata_bytes<std::max({(std::is_empty_v<Metadata> ? 0 : sizeof(Metadata))...}),
                                                    std::max({alignof(Metadata)...})>,
                             std::conditional_t<NamedBySize, detail::no_branch_index, detail::branch_index> {
    static_assert((std::is_trivially_copyable_v<Metadata> && ...));

    /// Returns the metadata for a block of branch `I`.
    template <std::size_t I, class OfBranch>
    [[nodiscard]] static segregated_metadata from([[maybe_unused]] const OfBranch& of_branch) noexcept {
        segregated_metadata made;
        if constexpr (!std::is_empty_v<OfBranch>) std::memcpy(made.bytes.data(), &of_branch, sizeof(OfBranch));
        if constexpr (segregated_metadata::has_index) made.branch = static_cast<std::uint8_t>(I);
        return made;
    }
    /// Returns the metadata of branch `I`. Precondition: the block is of branch `I`.
    template <std::size_t I>
    [[nodiscard]] auto get() const noexcept {
        std::tuple_element_t<I, std::tuple<Metadata...>> of_branch{};
        if constexpr (!std::is_empty_v<decltype(of_branch)>)
            std::memcpy(&of_branch, this->bytes.data(), sizeof of_branch);
        return of_branch;
    }
    /// Compares the bytes of the metadata.
    friend constexpr bool operator==([[maybe_unused]] const segregated_metadata& a,
                                     [[maybe_unused]] const segregated_metadata& b) noexcept {
        if constexpr (requires { a.bytes; }) {
            if (a.bytes != b.bytes) return false;
        }
        if constexpr (segregated_metadata::has_index) return a.branch == b.branch;
        else return true;
    }
};

/// The mark of a segregated allocator: the marks of all branches.
template <class... Marks>
struct segregated_mark {
    std::tuple<Marks...> of_branch;  ///< The marks of the branches.
};

/// An allocator that selects a branch for each request. The last of `Parts` is an allocator, and each other one is a
/// `size_branch` or an `align_branch`.
template <class... Parts>
class segregated {
    static_assert(detail::branch_requirements<Parts...>());
    using branches = std::tuple<detail::branch_for<Parts>...>;
    static constexpr std::size_t count = sizeof...(Parts);
    template <std::size_t I>
    using branch = std::tuple_element_t<I, branches>;
    template <std::size_t I>
    using part = typename branch<I>::allocator_type;
    using every = std::make_index_sequence<count>;
    using first = part<0>;

    /// Calls `f` with the index of each branch as a constant.
    template <class Function>
    static constexpr void for_each(Function&& f) {
        [&]<std::size_t... I>(std::index_sequence<I...>) {
            (f(std::integral_constant<std::size_t, I>{}), ...);
        }(every{});
    }
    /// Whether all branches, or at least one, satisfy a predicate: a lambda with the type of an allocator.
    template <class Predicate>
    static constexpr bool all(Predicate is) {
        return (is(std::type_identity<typename detail::branch_for<Parts>::allocator_type>{}) && ...);
    }
    template <class Predicate>
    static constexpr bool any(Predicate is) {
        return (is(std::type_identity<typename detail::branch_for<Parts>::allocator_type>{}) || ...);
    }
    template <class A>
    using type = std::type_identity<A>;
    static constexpr bool resizable = all([]<class A>(type<A>) { return resizable_allocator<A>; });
    static constexpr bool measuring = all([]<class A>(type<A>) { return measuring_allocator<A>; });
    static constexpr bool owning_all = all([]<class A>(type<A>) { return owning<A>; });
    static constexpr bool sized = all([]<class A>(type<A>) { return sized_allocator<A>; });
    static constexpr bool resettable = all([]<class A>(type<A>) { return resettable_allocator<A>; });
    static constexpr bool markable = all([]<class A>(type<A>) { return markable_allocator<A>; });
    static constexpr bool holes_walkable = all([]<class A>(type<A>) { return hole_walkable_allocator<A>; });
    static constexpr bool blocks_walkable = all([]<class A>(type<A>) { return block_walkable_allocator<A>; });
    static constexpr bool counting = all([]<class A>(type<A>) { return counting_allocator<A>; });
    static constexpr bool trimmable = any([]<class A>(type<A>) { return trimmable_allocator<A>; });

public:
    using address_model = typename first::address_model;  ///< The address model of all branches.
    /// The metadata of a block.
    using metadata_type =
        segregated_metadata<(detail::branch_for<Parts>::named_by_size && ...),
                            decltype(block_of<typename detail::branch_for<Parts>::allocator_type>::metadata)...>;
    using block_type = block<decltype(block_of<first>::address), metadata_type>;  ///< The type of blocks.
    /// Whether the host can access the memory of all branches.
    static constexpr bool host_accessible = all([]<class A>(type<A>) { return A::host_accessible; });
    static constexpr offset_use offsets = first::offsets;          ///< How consumers use offsets.
    static constexpr dl_device_type dl_device = first::dl_device;  ///< The device type in DLPack.
    /// The order in which blocks become free. The strictest order applies, without branches that reclaim nothing.
    static constexpr reclaim reclaims =
        detail::reclaim_of_parts(detail::branch_for<Parts>::allocator_type::reclaims...);

    /// Constructs all allocators with their default constructors.
    segregated() noexcept
        requires(std::default_initializable<detail::branch_for<Parts>> && ...)
    = default;
    /// Stores references to the allocators, or moves them into this object.
    explicit segregated(Parts&&... parts) noexcept
        : branches_{detail::branch_for<Parts>{std::forward<Parts>(parts)}...} {}

    /// Allocates a block from the first branch whose condition holds. Returns an empty block on failure.
    [[nodiscard]] block_type allocate(layout wanted) noexcept { return allocate_from<0>(wanted); }

    /// Deallocates an unchanged block in its branch. Does nothing for an empty block.
    void deallocate(block_type held) noexcept {
        if (!held) return;
        in_branch(*this, held, [](auto& allocator, const auto& own, auto) { allocator.deallocate(own); });
    }
    /// Resizes a block in place, in its branch, and updates `held`. Returns false and changes nothing on failure.
    [[nodiscard]] bool resize(block_type& held, std::size_t size) noexcept
        requires resizable
    {
        if constexpr (!metadata_type::has_index) {
            if (size == 0 || branch_of({.size = size}) != branch_of({.size = held.size})) return false;
        }
        return in_branch(*this, held, [&](auto& allocator, auto own, auto index) {
            if (!allocator.resize(own, size)) return false;
            held = wrap<index>(own);
            return true;
        });
    }
    /// Returns the usable bytes of a block, or 0 for an empty block.
    [[nodiscard]] std::size_t capacity(const block_type& held) const noexcept
        requires measuring
    {
        return in_branch(*this, held, [](auto& allocator, auto own, auto) { return allocator.capacity(own); });
    }
    /// Returns true if the block is in the memory of its branch, live or not.
    [[nodiscard]] bool owns(const block_type& held) const noexcept
        requires owning_all
    {
        return in_branch(*this, held, [](auto& allocator, auto own, auto) { return allocator.owns(own); });
    }
    /// Returns whether this block is live, if its branch checks that; otherwise true. Misuse is reported.
    [[nodiscard]] bool check(const block_type& held) const noexcept {
        return in_branch(*this, held, [](auto& allocator, auto own, auto) {
            if constexpr (requires { allocator.check(own); }) return allocator.check(own);
            else return true;
        });
    }
    /// Returns true if exactly this block is live. Reports nothing. Returns false if its branch does not record its
    /// blocks.
    [[nodiscard]] bool is_live(const block_type& held) const noexcept {
        return in_branch(*this, held, [](auto& allocator, auto own, auto) {
            if constexpr (requires { allocator.is_live(own); }) return allocator.is_live(own);
            else return false;
        });
    }

    /// Returns the number of bytes in all regions of all branches.
    [[nodiscard]] std::size_t size() const noexcept
        requires sized
    {
        std::size_t sum = 0;
        for_each([&](auto index) { sum += std::get<index>(branches_).allocator.size(); });
        return sum;
    }
    /// Releases memory without live blocks, in each branch that can. Returns the number of released bytes.
    std::size_t trim() noexcept
        requires trimmable
    {
        std::size_t released = 0;
        for_each([&](auto index) {
            if constexpr (trimmable_allocator<part<index>>) released += std::get<index>(branches_).allocator.trim();
        });
        return released;
    }
    /// Frees every block of all branches.
    void reset() noexcept
        requires resettable
    {
        for_each([&](auto index) { std::get<index>(branches_).allocator.reset(); });
    }
    /// Returns a mark for `rollback`.
    [[nodiscard]] auto mark() noexcept
        requires markable
    {
        return std::apply(
            [](auto&... each) {
                return segregated_mark<decltype(each.allocator.mark())...>{{each.allocator.mark()...}};
            },
            branches_);
    }
    /// Frees every block of all branches that was allocated since the mark. Precondition: the mark is from this object
    /// and is valid for all branches. Returns false if a hardened branch reports its mark and frees nothing.
    template <class... Marks>
        requires markable
    bool rollback(const segregated_mark<Marks...>& mark) noexcept {
        bool all = true;
        for_each([&](auto index) {
            all = detail::roll_back(std::get<index>(branches_).allocator, std::get<index>(mark.of_branch)) && all;
        });
        return all;
    }

    /// Returns the reason for which `allocate` would fail: that of the last branch it would try, with the largest hole
    /// of all branches it would try.
    [[nodiscard]] diagnosis diagnose(layout wanted) noexcept { return diagnose_from<0>(wanted, 0); }

    /// Calls `f(allocator)` for the allocator of every branch.
    template <class Function>
    void for_each_part(Function f) {
        for_each([&](auto index) { f(std::get<index>(branches_).allocator); });
    }
    /// Calls `f(allocator)` for the allocator of every branch, which is const.
    template <class Function>
    void for_each_part(Function f) const {
        for_each([&](auto index) { f(static_cast<const part<index>&>(std::get<index>(branches_).allocator)); });
    }
    /// Calls `f(address, size)` for every hole of all branches. A request of the size of a hole can go to another
    /// branch.
    template <class Function>
    void for_each_hole(Function f) const noexcept
        requires holes_walkable
    {
        for_each([&](auto index) { std::get<index>(branches_).allocator.for_each_hole(f); });
    }
    /// Calls `f(address, size)` for every live block of all branches.
    template <class Function>
    void for_each_block(Function f) const noexcept
        requires blocks_walkable
    {
        for_each([&](auto index) { std::get<index>(branches_).allocator.for_each_block(f); });
    }
    /// Returns the counters of all branches, added up.
    [[nodiscard]] allocator_statistics statistics() const noexcept
        requires counting
    {
        allocator_statistics sum;
        for_each([&](auto index) { sum += std::get<index>(branches_).allocator.statistics(); });
        return sum;
    }

    /// Returns the number of the branch of a block, counted from 0.
    [[nodiscard]] static constexpr std::size_t branch_of(const block_type& held) noexcept {
        if constexpr (metadata_type::has_index) {
            return held.metadata.branch;
        } else {
            std::size_t found = count;
            for_each([&](auto index) {
                if (found == count && branch<index>::takes({held.size, 1})) found = index;
            });
            return found;
        }
    }

private:
    friend detail::undo_point<segregated>;

    template <std::size_t I>
    [[nodiscard]] static block_type wrap(const block_of<part<I>>& own) noexcept {
        return {own.address, own.size, metadata_type::template from<I>(own.metadata)};
    }
    template <std::size_t I>
    [[nodiscard]] static block_of<part<I>> unwrap(const block_type& held) noexcept {
        return {held.address, held.size, held.metadata.template get<I>()};
    }
    /// Returns `f(allocator, block, index)` for the branch of a block.
    template <std::size_t I = 0, class Self, class Function>
    static auto in_branch(Self& self, const block_type& held, Function f) noexcept {
        if constexpr (I + 1 != count) {
            if (branch_of(held) != I) return in_branch<I + 1>(self, held, f);
        }
        return f(std::get<I>(self.branches_).allocator, unwrap<I>(held), std::integral_constant<std::size_t, I>{});
    }
    template <std::size_t I>
    [[nodiscard]] block_type allocate_from(layout wanted) noexcept {
        if (branch<I>::takes(wanted)) {
            const auto fresh = std::get<I>(branches_).allocator.allocate(wanted);
            if (fresh) return wrap<I>(fresh);
            if constexpr (branch<I>::full == when_full::fail) return {};
        }
        if constexpr (I + 1 != count) return allocate_from<I + 1>(wanted);
        else return {};
    }
    template <std::size_t I>
    [[nodiscard]] diagnosis diagnose_from(layout wanted, std::uint64_t largest_hole) noexcept {
        if (branch<I>::takes(wanted)) {
            diagnosis answer = std::get<I>(branches_).allocator.diagnose(wanted);
            if (answer.largest_hole < largest_hole) answer.largest_hole = largest_hole;
            if (branch<I>::full == when_full::fail || answer.reason == refusal::none) return answer;
            largest_hole = answer.largest_hole;
        }
        if constexpr (I + 1 != count) return diagnose_from<I + 1>(wanted, largest_hole);
        else return {refusal::exhausted, largest_hole};  // not reached: the last branch takes every request
    }

    branches branches_;
};

/// Deduces references for lvalues and values for rvalues.
template <class... Parts>
segregated(Parts&&...) -> segregated<detail::part_for<Parts>...>;

namespace detail {
template <class... Parts>
class undo_point<segregated<Parts...>> {
    using allocator_type = segregated<Parts...>;
    using points = std::tuple<undo_point<typename branch_for<Parts>::allocator_type>...>;

public:
    static constexpr bool possible = (undo_point<typename branch_for<Parts>::allocator_type>::possible && ...);

    explicit undo_point(allocator_type& of) noexcept
        : points_{std::apply(
              [](auto&... each) {
                  return points{undo_point<std::remove_reference_t<decltype(each.allocator)>>{each.allocator}...};
              },
              of.branches_)} {}
    void take_back(allocator_type& to, block_of<allocator_type> held) const noexcept {
        allocator_type::in_branch(to, held, [this](auto& allocator, const auto& own, auto index) {
            std::get<index>(points_).take_back(allocator, own);
        });
    }
    void finish(allocator_type& of) const noexcept {
        allocator_type::for_each(
            [&](auto index) { std::get<index>(points_).finish(std::get<index>(of.branches_).allocator); });
    }

private:
    points points_;
};
}  // namespace detail

}  // namespace v1
}  // namespace allot
