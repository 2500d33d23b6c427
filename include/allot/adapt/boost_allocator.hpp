// SPDX-License-Identifier: BSL-1.0
// boost_allocator: adapts an arena to the extended allocator interface (version 2) of Boost.Container.
//
//     using memory_type = allot::arena<allot::host::heap, allot::best_fit<>>;
//     memory_type memory{{}, 1_MiB};
//     boost::container::vector<int, allot::boost_allocator<int, memory_type>> values{memory};   // refers to memory
//     for (int i = 0; i != 1000; ++i) values.push_back(i);               // grows in place while bytes behind are free
//
//     expand_fwd        │ values │ free │ other │   ─►   │    values     │ other │          no element moves
//     allocate_new      │ values │ other │ free │   ─►   │ free │ other │   values   │     elements move
//     shrink_in_place   │    values     │ other │   ─►   │ values │ free │ other │          no element moves
//
// A standard allocator cannot extend a block, so a container that grows allocates a larger block and moves its
// elements. The containers of Boost ask an extended allocator first to extend the block. This adapter answers with
// `resize` of the arena. Node containers allocate and free the nodes of one call together, and over `synchronized` with
// one lock. An arena whose records are in band cuts them from one hole, and frees adjacent nodes by one call. If the
// allocator has no `resize`, each growth allocates a new block.
//
// Failures, metadata, equality, assignment and swap are those of std_allocator.hpp. A command with nothrow_allocation
// returns nullptr. `stable_reserve` and `stable_emplace_back` of a vector send a command without it, so they throw if
// the block cannot grow. A block never grows backward.
//
// When to use: for boost::container::vector, string and flat_map that grow, and for node containers that insert and
// erase ranges over `best_fit` in band or over `synchronized`.
// When not to use: with containers of the standard library, and with sets that change one element at a time, which
// Boost makes a little slower by this interface. Use `std_allocator`.
//
// Complexity: that of the allocator; O(log n) calls of `resize` if a block can grow to a part of the preferred size.
// Memory: a pointer in each container, and the metadata of each block. An array also stores its size, rounded up to the
// alignment, if the allocator has `resize`. A node does not.
// Thread safety: that of the allocator.
#pragma once

#if !__has_include(<boost/container/detail/allocation_type.hpp>)
#error "allot: <allot/adapt/boost_allocator.hpp> needs headers of Boost.Container; in CMake, link allot::boost"
#endif

#include <allot/adapt/detail/block_as_pointer.hpp>
#include <allot/arena/detail/bursts.hpp>

#include <boost/container/detail/allocation_type.hpp>
#include <boost/container/detail/multiallocation_chain.hpp>
#include <boost/container/detail/version_type.hpp>

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

namespace allot {
inline namespace v1 {

/// An extended allocator of Boost.Container for objects of type `T` that refers to an allocator.
template <class T, class Allocator>
class boost_allocator {
    static_assert(allocator<Allocator> || !allocator<T>,  // in this order: T may be incomplete
                  "allot: the type of objects comes before the allocator: boost_allocator<T, Arena>");
    static_assert(detail::pointer_requirements<Allocator>());
    static constexpr bool resizes = resizable_allocator<Allocator>;
    using nodes = detail::block_as_pointer<Allocator>;
    using arrays = detail::block_as_pointer<Allocator, resizes ? detail::kept_size::yes : detail::kept_size::no>;
    // A free node holds the link of a chain.
    static constexpr layout node{std::max(sizeof(T), sizeof(void*)), std::max(alignof(T), alignof(void*))};

public:
    using value_type = T;                                            ///< The type of objects.
    using pointer = T*;                                              ///< The type of addresses.
    using size_type = std::size_t;                                   ///< The type of counts.
    using propagate_on_container_copy_assignment = std::false_type;  ///< Assignment keeps the memory of the target.
    using propagate_on_container_move_assignment = std::false_type;  ///< Assignment keeps the memory of the target.
    using propagate_on_container_swap = std::true_type;              ///< A swap exchanges the memories.
    using is_always_equal = std::false_type;                         ///< Adapters can refer to different allocators.
    /// The version of the interface, by which Boost.Container recognizes an extended allocator.
    using version = boost::container::dtl::version_type<boost_allocator, 2>;
    /// A list of free nodes, linked through their bytes.
    using multiallocation_chain = boost::container::dtl::transform_multiallocation_chain<
        boost::container::dtl::basic_multiallocation_chain<void*>, T>;

    /// Constructs an adapter that refers to an allocator. Not explicit, so that a container can be constructed with an
    /// arena.
    boost_allocator(Allocator& allocator) noexcept : allocator_{std::addressof(allocator)} {}
    /// Does not compile. It exists for its message, because a container without an argument constructs its allocator.
    template <class A = Allocator>
    boost_allocator() noexcept {
        static_assert(!sizeof(A),
                      "allot: this container needs an arena: "
                      "boost::container::vector<T, boost_allocator<T, Arena>> v{arena}");
    }
    /// Constructs an adapter for another value type that refers to the same allocator.
    template <class U>
    boost_allocator(const boost_allocator<U, Allocator>& other) noexcept : boost_allocator{other.allocator()} {}

    /// Returns memory for an array of `count` objects. Throws allot::bad_alloc.
    [[nodiscard]] pointer allocate(size_type count) {
        return static_cast<pointer>(arrays::allocate(*allocator_, array_of(count)));
    }
    /// Deallocates an array, given its count.
    void deallocate(pointer address, size_type count) noexcept {
        arrays::deallocate(*allocator_, address, array_of(count));
    }
    /// Returns the number of objects for which an array has memory.
    [[nodiscard]] size_type size(pointer address) const noexcept
        requires resizable_allocator<Allocator>
    {
        return arrays::size(address, alignof(T)) / sizeof(T);
    }

    /// Returns memory for one object. Throws allot::bad_alloc.
    [[nodiscard]] pointer allocate_one() { return static_cast<pointer>(nodes::allocate(*allocator_, node)); }
    /// Deallocates memory from `allocate_one` or `allocate_individual`.
    void deallocate_one(pointer address) noexcept { nodes::deallocate(*allocator_, address, node); }

    /// Appends memory for `count` objects to a chain, each to be deallocated by `deallocate_one` or
    /// `deallocate_individual`. On failure throws allot::bad_alloc, and the chain is unchanged.
    void allocate_individual(size_type count, multiallocation_chain& chain) {
        multiallocation_chain fresh;
        const bool done = together([&](auto& from) {
            using from_type = std::remove_reference_t<decltype(from)>;
            if constexpr (detail::has_bursts<from_type>) {
                const auto take = [&](void* address) { fresh.push_back(static_cast<pointer>(address)); };
                if (detail::burst<from_type>::allocate(from, node, count, take)) return true;
            }
            while (fresh.size() != count) {
                const auto address =
                    static_cast<pointer>(detail::block_as_pointer<from_type>::try_allocate(from, node));
                if (address == nullptr) return false;
                fresh.push_back(address);
            }
            return true;
        });
        if (!done) {
            const diagnosis found = nodes::diagnose(*allocator_, node);
            deallocate_individual(fresh);
            detail::throw_refusal(found);
        }
        const auto [first, last] = fresh.extract_data();
        chain.incorporate_after(chain.last(), first, last, count);
    }
    /// Deallocates each object of a chain. The chain is empty afterwards.
    void deallocate_individual(multiallocation_chain& chain) noexcept {
        together([&](auto& to) {
            using to_type = std::remove_reference_t<decltype(to)>;
            if constexpr (joins_freed<to_type>) {
                detail::burst<to_type>::deallocate(
                    to, [&]() -> void* { return chain.empty() ? nullptr : chain.pop_front(); });
            } else {
                while (!chain.empty()) detail::block_as_pointer<to_type>::deallocate(to, chain.pop_front(), node);
            }
            return true;
        });
    }

    /// Expands, shrinks or allocates an array, as the flags of `command` state:
    ///
    /// - `expand_fwd`: extends the array at `reuse` in place to `count` objects, or to fewer, at least `limit`.
    /// - `shrink_in_place`: shrinks the array at `reuse` to `count` objects, or to more, at most `limit`.
    /// - `try_shrink_in_place`: reports what `shrink_in_place` would do, without effect.
    /// - `allocate_new`: if the array was not extended, allocates another one of `limit` to `count` objects.
    /// - `expand_bwd`: has no effect.
    /// - `nothrow_allocation`: returns nullptr on failure instead of throwing allot::bad_alloc.
    ///
    /// On success `count` is the number of objects, and `reuse` is nullptr if the array is new. On failure the array is
    /// unchanged, and `count` is a limit for which another call might succeed.
    pointer allocation_command(boost::container::allocation_type command, size_type limit, size_type& count,
                               pointer& reuse) {
        namespace flags = boost::container;
        const bool shrinks = (command & (flags::shrink_in_place | flags::try_shrink_in_place)) != 0;
        diagnosis found{refusal::not_free};
        if (shrinks ? limit < count || (command & (flags::expand_fwd | flags::expand_bwd)) != 0 : limit > count) {
            found.reason = refusal::over_limit;
        } else if (shrinks) {
            if (shrink(limit, count, reuse, (command & flags::shrink_in_place) != 0)) return reuse;
        } else {
            size_type extended = count;
            if ((command & flags::expand_fwd) != 0 && extend(limit, extended, reuse)) {
                count = extended;
                return reuse;
            }
            if ((command & flags::allocate_new) == 0) {
                count = extended;
            } else if (const pointer fresh = allocate_between(limit, count, found); fresh != nullptr) {
                reuse = nullptr;
                return fresh;
            }
        }
        if ((command & flags::nothrow_allocation) == 0) detail::throw_refusal(found);
        return nullptr;
    }

    /// Returns the allocator.
    [[nodiscard]] Allocator& allocator() const noexcept { return *allocator_; }

    /// Returns true if both refer to the same allocator.
    template <class U>
    [[nodiscard]] bool operator==(const boost_allocator<U, Allocator>& other) const noexcept {
        return allocator_ == std::addressof(other.allocator());
    }

private:
    // A memory checker knows each block alone, and reports one that is freed twice.
    template <class From>
    static constexpr bool joins_freed = [] {
        if constexpr (detail::has_bursts<From>) return !From::annotated;
        else return false;
    }();

    /// Returns the layout of an array. On overflow the size becomes the maximum, which no allocator can serve.
    [[nodiscard]] static constexpr layout array_of(size_type count) noexcept {
        layout wanted{0, alignof(T)};
        if (!checked_multiply(count, sizeof(T), wanted.size)) wanted.size = std::numeric_limits<std::size_t>::max();
        return wanted;
    }
    /// Calls `use` with the allocator, or with the allocator that a lock protects while it holds the lock.
    template <class Use>
    auto together(Use use) {
        if constexpr (requires { allocator_->locked(use); }) return allocator_->locked(use);
        else return use(*allocator_);
    }

    [[nodiscard]] bool resize(pointer array, size_type count) noexcept {
        if constexpr (resizes) return arrays::resize(*allocator_, array, array_of(count));
        else return false;
    }
    /// Extends an array to between `held` and `count` objects, as far as possible. Returns the number of objects.
    /// Precondition: `resize(array, count)` failed.
    size_type extend_partly(pointer array, size_type held, size_type count) noexcept {
        while (resizes && count - held > 1) {
            const size_type middle = held + (count - held) / 2;
            (resize(array, middle) ? held : count) = middle;
        }
        return held;
    }
    /// Extends an array to `count` objects; at least to `limit`. Sets `count` to its number of objects.
    [[nodiscard]] bool extend(size_type limit, size_type& count, pointer array) noexcept {
        if constexpr (resizes) {
            if (array == nullptr) return false;
            const size_type held = size(array), wanted = std::exchange(count, held);
            if (held >= wanted) return true;
            if (resize(array, wanted)) count = wanted;
            else if (held >= limit) count = extend_partly(array, held, wanted);
            else if (resize(array, limit)) count = extend_partly(array, limit, wanted);
            else return false;
            return true;
        } else {
            return false;
        }
    }
    /// Shrinks an array to `count` objects, or to more, at most `limit`. Sets `count` to its number of objects.
    [[nodiscard]] bool shrink(size_type limit, size_type& count, pointer array, bool commits) noexcept {
        if constexpr (resizes) {
            if (array == nullptr) return false;
            const size_type held = size(array), wanted = std::exchange(count, held);
            if (wanted > held) return false;
            if (commits && wanted != held && !resize(array, wanted)) return held <= limit;
            count = wanted;
            return true;
        } else {
            return false;
        }
    }
    /// Allocates an array of `count` objects, or of fewer, at least `limit`. On failure, sets `count` to a limit for
    /// which another call might succeed, and `found` to the reason.
    [[nodiscard]] pointer allocate_between(size_type limit, size_type& count, diagnosis& found) noexcept {
        if (void* const whole = arrays::try_allocate(*allocator_, array_of(count))) return static_cast<pointer>(whole);
        if (limit < count) {
            if (const auto part = static_cast<pointer>(arrays::try_allocate(*allocator_, array_of(limit)))) {
                count = extend_partly(part, limit, count);
                return part;
            }
        }
        found = arrays::diagnose(*allocator_, array_of(limit));
        const std::uint64_t front = arrays::front(alignof(T));
        const std::uint64_t room = found.largest_hole > front ? (found.largest_hole - front) / sizeof(T) : 0;
        count = static_cast<size_type>(std::min<std::uint64_t>(room, limit == 0 ? 0 : limit - 1));
        return nullptr;
    }

    Allocator* allocator_;
};

}  // namespace v1
}  // namespace allot
