// Records inside memory that is read-only.
// refused: allot: records in band need memory with pointers
#include <allot/allot.hpp>
#include <allot/compose/adopted.hpp>

int main() {
#ifdef MISUSE
    constexpr auto store = allot::node_store::in_band;
#else
    constexpr auto store = allot::node_store::automatic;
#endif
    static const int weights[64]{};
    allot::adopted constants{weights, sizeof weights, [](const void*) noexcept {}};
    using strategy = allot::best_fit<allot::best_fit_options{.store = store}>;
    allot::arena<decltype(constants), strategy> arena{std::move(constants)};
    return static_cast<int>(arena.size());
}
