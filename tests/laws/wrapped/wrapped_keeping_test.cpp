// The laws of wrappers that change the bytes around a block or the time at which it becomes free, around the arenas
// that they support: see laws.hpp and wrapped.hpp.
#include "wrapped.hpp"

#include <allot/plan/guide.hpp>
#include <allot/plan/guided.hpp>

namespace laws {
namespace {

/// A guided allocator that begins a pass after some requests, and follows a guide of an earlier one. Requests that do
/// not fit in the room are blocks of the arena, and the room is never released.
template <class A>
class guided_by_passes : public allot::guided<A> {
    using base = allot::guided<A>;
    unsigned requests_ = 0;

public:
    explicit guided_by_passes(A&& inner) noexcept : base{std::forward<A>(inner), {.size = 3000, .align = 32}} {}
    [[nodiscard]] auto allocate(layout wanted) noexcept {
        if (++requests_ % 23 == 0) {
            base::begin_pass();
            if (const auto seen = base::take_recording(); !seen.empty())
                (void)base::use_guide(allot::make_guide(seen, {.plan = {.effort = 100}, .trials = 10}).value());
        }
        return base::allocate(wanted);
    }
};
struct in_guided {
    static constexpr bool predicts = false;  // whether a block takes the bytes that its strategy states
    template <class A>
    static auto around(A&& inner) {
        return guided_by_passes<A>{std::forward<A>(inner)};
    }
    static void refine(contract& c) {
        c.exact = c.claims = c.resizes = c.trims = false;
        c.gives_back = true;
        c.nodes = {};  // blocks of the room have no record in front
    }
};

template <class Wrap>
constexpr row any_order[] = {
    {"best fit, in band, two ends", make<in<Wrap, uneven_pages, in_band_two_ends>>, false, Wrap::predicts},
    {"best fit, debug, fixed growth", make<in<Wrap, uneven_pages, in_band, fixed, debug>>, true},
    {"best fit, contiguous growth", make<in<Wrap, stretching, in_band, contiguous>>, true},
};
template <class Wrap>
constexpr row together[] = {
    {"bump", make<in<Wrap, odd_pages, up>>, false, Wrap::predicts},
};
template <class Wrap>
constexpr row oldest_first[] = {
    {"ring", make<in<Wrap, uneven_pages, ring>>, false, Wrap::predicts},
};
template <class Wrap>
constexpr row newest_first[] = {
    {"stack, two ends", make<in<Wrap, uneven_pages, stack_two_ends>>, false, Wrap::predicts},
    {"stack, checked", make<in<Wrap, uneven_pages, stack, none, checked>>, false, Wrap::predicts},
};
template <class Wrap>
constexpr row inaccessible[] = {
    {"best fit, handles, fixed growth", make<in<Wrap, uneven_handles, automatic, fixed>>, true},
    {"best fit, side table of 24, protected pages", make<in<Wrap, protected_pages, beside_fixed>>, false,
     Wrap::predicts},
};

constexpr effort few{.seeds = 1, .sequences = 500, .failures = 100};

}  // namespace
}  // namespace laws

TEST_CASE("laws: guarded around arenas") {
    laws::judge(laws::any_order<laws::in_guarded>, laws::few);
    laws::judge(laws::together<laws::in_guarded>, laws::few);
    laws::judge(laws::oldest_first<laws::in_guarded>, laws::few);
    laws::judge(laws::newest_first<laws::in_guarded>, laws::few);
}
TEST_CASE("laws: quarantined around arenas") {
    laws::judge(laws::any_order<laws::in_quarantined>, laws::few);
    laws::judge(laws::together<laws::in_quarantined>, laws::few);
    laws::judge(laws::oldest_first<laws::in_quarantined>, laws::few);
    laws::judge(laws::inaccessible<laws::in_quarantined>, laws::few);
}
TEST_CASE("laws: block_cache around arenas") {
    laws::judge(laws::any_order<laws::in_block_cache>, laws::few);
    laws::judge(laws::inaccessible<laws::in_block_cache>, laws::few);
}
TEST_CASE("laws: per_thread around arenas") {
    laws::judge(laws::any_order<laws::in_per_thread>, laws::few);
    laws::judge(laws::inaccessible<laws::in_per_thread>, laws::few);
}
TEST_CASE("laws: guided around arenas") {
    laws::judge(laws::any_order<laws::in_guided>, laws::few);
    laws::judge(laws::inaccessible<laws::in_guided>, laws::few);
}
TEST_CASE("laws: sharded around arenas") { laws::judge_wrapped<laws::in_one_shard>(); }
