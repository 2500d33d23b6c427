// Blocks that wait are linked through their bytes; a strategy with records beside the memory keeps off these.
// refused: allot: deferred links waiting blocks through their bytes, and so needs a strategy in band
#include <allot/allot.hpp>

int main() {
#ifdef MISUSE
    constexpr auto store = allot::node_store::side_table;
#else
    constexpr auto store = allot::node_store::in_band;
#endif
    alignas(16) static std::byte bytes[256];
    allot::arena<allot::host::buffer, allot::deferred<allot::best_fit<allot::best_fit_options{.store = store}>>> arena{
        allot::host::buffer{bytes}};
    return static_cast<int>(arena.size());
}
