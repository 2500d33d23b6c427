// SPDX-License-Identifier: BSL-1.0
// retrying: an allocator that trims and asks the program to free memory before a request fails.
//
//     allot::arena<allot::host::heap, allot::best_fit<>, allot::growth::geometric<>> arena;
//     std::vector<std::string> cache;
//     allot::retrying memory{arena, [&](allot::layout) noexcept {
//         if (cache.empty()) return false;
//         cache.pop_back();
//         return true;                       // something was freed: the request is made again
//     }};
//     auto block = memory.allocate({.size = 4096});
//
//     allocate ──► fails ──► trim ──► released bytes? ──► allocate ──► fails ──► function ──► true? ──► allocate ──► …
//                             ▲                                                                                  │
//                             └──────────────────────────── at most `attempts` times ◄───────────────────────────┘
//
// The request fails if the function returns false, or was called `attempts` times. The function may free blocks of this
// allocator, and must not allocate from it. It is not called for an invalid layout. `allocate_at` and `resize` are not
// repeated: they want particular bytes.
//
// When to use: where a program has memory that it can do without, such as caches.
// When not to use: to allocate from a second memory. Use `fallback`.
//
// Every ability of the allocator is passed on. An lvalue, allocator or function, is stored as a reference and must
// outlive this object. A composition that undoes a partial request, such as `paged`, keeps the regions that the request
// acquired, because `trim` may have released others meanwhile. `trim` releases them.
//
// Complexity: that of the allocator, and O(attempts) calls of it and of the function for a request that fails.
// Memory: the function.
// Thread safety: requires external synchronization.
#pragma once

#include <allot/compose/detail/forwarding.hpp>
#include <allot/core/detail/compiler.hpp>

#include <type_traits>

namespace allot {
inline namespace v1 {

/// The options of `retrying`.
struct retrying_options {
    unsigned attempts = 8;  ///< The maximum number of calls of the function for one request.
};

/// An allocator and a function that frees memory for it.
template <class Allocator, class Function, retrying_options Options = retrying_options{}>
class retrying : public detail::forwarding<Allocator> {
    static_assert(std::is_invocable_r_v<bool, Function&, layout>,
                  "allot: the function of retrying takes the layout that failed, and returns whether it freed memory: "
                  "bool(layout)");
    using base = detail::forwarding<Allocator>;
    using base::inner_;
    using typename base::allocator_type;

public:
    using typename base::block_type;

    /// Constructs the allocator and the function with their default constructors.
    retrying() noexcept
        requires(std::default_initializable<Allocator> && std::default_initializable<Function>)
    = default;
    /// Stores references to the allocator and the function, or moves them into this object.
    retrying(Allocator&& allocator, Function&& function) noexcept
        : base{std::forward<Allocator>(allocator)}, function_{std::forward<Function>(function)} {}

    /// Allocates a block. Returns an empty block if no memory could be freed for it.
    [[nodiscard]] block_type allocate(layout wanted) noexcept {
        block_type fresh = inner_.allocate(wanted);
        if (!fresh && wanted.is_valid()) [[unlikely]]
            fresh = retry(wanted);
        return fresh;
    }
    /// Allocates exactly these bytes. Returns an empty block if they are not free.
    [[nodiscard]] block_type allocate_at(extent wanted) noexcept
        requires positional_allocator<allocator_type>
    {
        return inner_.allocate_at(wanted);
    }

    /// Missing: a request may trim, after which the regions that were held cannot be restored.
    void held() const = delete;

private:
    [[nodiscard]] block_type retry(layout wanted) noexcept {
        for (unsigned calls = 0;; ++calls) {
            if constexpr (trimmable_allocator<allocator_type>) {
                if (inner_.trim() != 0) {
                    if (const block_type fresh = inner_.allocate(wanted)) return fresh;
                }
            }
            if (calls == Options.attempts || !function_(wanted)) return {};
            if (const block_type fresh = inner_.allocate(wanted)) return fresh;
        }
    }

    ALLOT_NO_UNIQUE_ADDRESS Function function_;
};

/// Deduces references for lvalues and values for rvalues.
template <class Allocator, class Function>
retrying(Allocator&&, Function&&) -> retrying<Allocator, Function>;

}  // namespace v1
}  // namespace allot
