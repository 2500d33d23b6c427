// Wrapped arenas as subjects: a wrapper around an arena, and a wrapper around another. A wrapper that is transparent
// with its options here has the contract of its arena.
#pragma once

#include "../subjects.hpp"

#include <allot/compose/recorded.hpp>
#include <allot/inspect/trace.hpp>

namespace laws {

/// An arena of a row and a wrapper around it. `Wrap::around(arena)` returns the wrapper. A move of the subject moves
/// the wrapper. `Wrap::refine(contract)`, if there is one, states what the wrapper changes.
template <class Wrap, class Over>
class wrapped_over {
public:
    using arena = decltype(Wrap::around(std::declval<typename Over::arena&>()));
    using plain = typename Over::arena;
    using strategy = typename Over::strategy;
    using growth = typename Over::growth;
    using device = typename Over::device;
    static constexpr allot::arena_options options = Over::options;

    static void refine(contract& c) {
        if constexpr (requires { Wrap::refine(c); }) Wrap::refine(c);
    }

    explicit wrapped_over(const variant& how) : over_{how}, wrapped_{std::make_unique<arena>(Wrap::around(*over_))} {}

    [[nodiscard]] arena& operator*() { return *wrapped_; }
    [[nodiscard]] arena* operator->() { return wrapped_.get(); }
    [[nodiscard]] laws::journal& journal() { return over_.journal(); }
    void move() { wrapped_ = std::make_unique<arena>(std::move(*wrapped_)); }
    void list(std::vector<space>& into) { over_.list(into); }
    template <class Address>
    [[nodiscard]] piece locate(const Address& address, number size) {
        return over_.locate(address, size);
    }

private:
    Over over_;
    std::unique_ptr<arena> wrapped_;
};

/// `Outer` around `Inner`.
template <class Outer, class Inner>
struct pair_of {
    template <class A>
    static auto around(A&& inner) {
        return Outer::around(Inner::around(std::forward<A>(inner)));
    }
    static void refine(contract& c) {
        if constexpr (requires { Inner::refine(c); }) Inner::refine(c);
        if constexpr (requires { Outer::refine(c); }) Outer::refine(c);
    }
};

// ── wrappers. A is a reference for an arena, and a value for a wrapper. ──────────────────────────────────────────────

struct in_counted {
    template <class A>
    static auto around(A&& inner) {
        return allot::counted<A>{std::forward<A>(inner)};
    }
};
struct in_limited {
    template <class A>
    static auto around(A&& inner) {
        return allot::limited<A>{std::forward<A>(inner), ~std::size_t{0}};
    }
};
struct in_observed {
    struct observer {
        std::size_t calls = 0;
        void on_allocate(const auto&, layout) noexcept { ++calls; }
        void on_refusal(layout, allot::diagnosis) noexcept { ++calls; }
        void on_deallocate(const auto&) noexcept { ++calls; }
        void on_resize(const auto&, const auto&) noexcept { ++calls; }
    };
    template <class A>
    static auto around(A&& inner) {
        return allot::observed<A, observer>{std::forward<A>(inner), {}};
    }
};
struct in_recorded {
    template <class A>
    static auto around(A&& inner) {
        return allot::recorded<A, allot::trace_writer>{std::forward<A>(inner), {}};
    }
};
struct in_failing {
    template <class A>
    static auto around(A&& inner) {
        return allot::failing<A>{std::forward<A>(inner)};
    }
};
struct in_retrying {
    struct frees_nothing {
        bool operator()(layout) const noexcept { return false; }
    };
    static void refine(contract& c) {
        c.gives_back = c.gives_back || c.trims;
        c.releases = c.trims;
    }
    template <class A>
    static auto around(A&& inner) {
        return allot::retrying<A, frees_nothing>{std::forward<A>(inner), {}};
    }
};
struct in_any {
    template <class A>
    static auto around(A&& inner) {
        using type = std::remove_reference_t<A>;
        constexpr auto options = [] {
            allot::any_allocator_options wide = allot::any_options_of<type>;
            wide.metadata = sizeof(decltype(allot::block_of<type>::metadata)) + 1;
            return wide;
        }();
        if constexpr (std::is_lvalue_reference_v<A>)
            return allot::any_allocator_ref<typename type::address_model, options>{inner};
        else return allot::any_allocator<typename type::address_model, options>{std::move(inner)};
    }
};

struct in_tagged {
    template <class A>
    static auto around(A&& inner) {
        return allot::tagged<A>{std::forward<A>(inner)};
    }
};
struct in_indexed {
    template <class A>
    static auto around(A&& inner) {
        return allot::indexed<A>{std::forward<A>(inner)};
    }
};
/// Blocks with guards need more bytes than the laws compute, so that the calls that fail are not checked.
struct in_guarded {
    static constexpr bool predicts = false;  // whether a block takes the bytes that its strategy states
    template <class A>
    static auto around(A&& inner) {
        return allot::guarded<A>{std::forward<A>(inner)};
    }
    static void refine(contract& c) { c.exact = c.claims = c.resizes = false; }
};
/// A request that fails frees the blocks that wait.
struct in_quarantined {
    static constexpr bool predicts = true;  // whether a block takes the bytes that its strategy states
    template <class A>
    static auto around(A&& inner) {
        return allot::quarantined<A, allot::quarantine_options{.bytes = 3000}>{std::forward<A>(inner)};
    }
    static void refine(contract& c) {
        c.exact = c.resizes = false;
        c.gives_back = true;
    }
};
/// Sizes and alignments are rounded up, and a request that fails frees the kept blocks.
struct in_block_cache {
    static constexpr bool predicts = false;  // whether a block takes the bytes that its strategy states
    template <class A>
    static auto around(A&& inner) {
        return allot::block_cache<
            A, allot::block_cache_options{.smallest = 8, .largest = 4096, .align = 8, .bytes = 9000}>{
            std::forward<A>(inner)};
    }
    static void refine(contract& c) {
        c.exact = c.claims = c.resizes = false;
        c.gives_back = true;
    }
};

/// The cache of a thread. Sizes and alignments are rounded up, and a request that fails frees the kept blocks.
template <class A>
class cache_of_a_thread {
    static constexpr allot::per_thread_options options{
        .smallest = 8, .largest = 4096, .align = 8, .bytes = 9000, .batch = 4};
    using shared_type = allot::per_thread<A, allot::spin_lock, options>;
    using cache_type = allot::thread_cache<shared_type>;
    std::unique_ptr<shared_type> shared_;
    std::unique_ptr<cache_type> cache_;

public:
    using address_model = typename cache_type::address_model;
    using block_type = typename cache_type::block_type;
    static constexpr bool host_accessible = cache_type::host_accessible;
    static constexpr allot::offset_use offsets = cache_type::offsets;
    static constexpr allot::dl_device_type dl_device = cache_type::dl_device;
    static constexpr reclaim reclaims = cache_type::reclaims;

    explicit cache_of_a_thread(A&& inner)
        : shared_{std::make_unique<shared_type>(std::forward<A>(inner))},
          cache_{std::make_unique<cache_type>(*shared_)} {}

    [[nodiscard]] block_type allocate(layout wanted) noexcept { return cache_->allocate(wanted); }
    void deallocate(block_type held) noexcept { cache_->deallocate(held); }
    [[nodiscard]] bool resize(block_type& held, std::size_t size) noexcept
        requires allot::resizable_allocator<cache_type>
    {
        return cache_->resize(held, size);
    }
    [[nodiscard]] std::size_t capacity(block_type held) const noexcept { return cache_->capacity(held); }
    [[nodiscard]] bool owns(block_type held) const noexcept { return cache_->owns(held); }
    [[nodiscard]] std::size_t size() const noexcept { return cache_->size(); }
    [[nodiscard]] allot::diagnosis diagnose(layout wanted) noexcept { return cache_->diagnose(wanted); }
    std::size_t trim() noexcept
        requires allot::trimmable_allocator<cache_type>
    {
        return cache_->trim();
    }
};
struct in_per_thread {
    static constexpr bool predicts = false;  // whether a block takes the bytes that its strategy states
    template <class A>
    static auto around(A&& inner) {
        return cache_of_a_thread<A>{std::forward<A>(inner)};
    }
    static void refine(contract& c) {
        c.exact = c.claims = c.resizes = c.resets = c.marks = false;
        c.gives_back = true;
    }
};

/// One shard.
struct in_one_shard {
    template <class A>
    static auto around(A&& inner) {
        using locked = allot::synchronized<A, allot::no_lock>;
        return allot::sharded<locked, 1>{[&](std::size_t) { return locked{std::forward<A>(inner)}; }};
    }
};

// ── rows ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

template <class Wrap, class Device, class Strategy, class Growth = none, allot::arena_options Options = plain>
using in = arena_subject<wrapped_over<Wrap, arena_over<Device, Strategy, Growth, Options>>>;

/// A wrapper around one arena of each kind.
template <class Wrap>
inline constexpr row wrapped_arenas[] = {
    {"best fit, in band, two ends", make<in<Wrap, uneven_pages, in_band_two_ends>>},
    {"best fit, side table of 24, protected pages", make<in<Wrap, protected_pages, beside_fixed>>},
    {"best fit, debug, fixed growth", make<in<Wrap, uneven_pages, in_band, fixed, debug>>, true},
    {"best fit, handles, fixed growth", make<in<Wrap, uneven_handles, automatic, fixed>>, true},
    {"best fit, contiguous growth", make<in<Wrap, stretching, in_band, contiguous>>, true},
    {"bump up, geometric growth", make<in<Wrap, odd_pages, up, geometric>>, true},
    {"stack, two ends", make<in<Wrap, uneven_pages, stack_two_ends>>},
    {"stack, checked", make<in<Wrap, uneven_pages, stack, none, checked>>},
    {"ring, protected pages", make<in<Wrap, protected_pages, ring>>},
    {"pool, in band", make<in<Wrap, odd_pages, pool<allot::pool_store::in_band, 0>>>},
};

/// Checks the laws for a wrapper around one arena of each kind.
template <class Wrap>
void judge_wrapped() {
    judge(wrapped_arenas<Wrap>, {.seeds = 1, .sequences = 500, .failures = 100});
}

/// Plays random calls on each subject.
inline void play_each(std::initializer_list<maker> subjects) {
    for (const maker& each : subjects) {
        with_laws([&] { CHECK(play_random(each, 1, times(500)).served > 30); },
                  [](const std::string& law) { FAIL_CHECK(law); });
    }
}

/// Checks the laws for `Outer` around each of `Inner`, around an arena that frees in any order.
template <class Outer, class... Inner>
void judge_pairs_in_any_order() {
    (play_each({make<in<pair_of<Outer, Inner>, uneven_pages, in_band, fixed, checked>>}), ...);
}

/// Checks the laws for `Outer` around each of `Inner`, around an arena that frees in any order and one with marks.
template <class Outer, class... Inner>
void judge_pairs() {
    judge_pairs_in_any_order<Outer, Inner...>();
    (play_each({make<in<pair_of<Outer, Inner>, uneven_handles, stack>>}), ...);
}

}  // namespace laws
