// A buffer index outside of the plan.
// refused: allot: the plan has no buffer with this index
#include <allot/host/static_storage.hpp>
#include <allot/plan/planned.hpp>

#include <array>

struct two_places {
    std::array<allot::plan_place, 2> places{{{0, 60}, {60, 40}}};
    std::uint64_t peak = 100, align = 4;
};
constexpr two_places layout;

#ifdef MISUSE
constexpr std::size_t id = 2;
#else
constexpr std::size_t id = 1;
#endif

int main() {
    allot::arena<allot::host::static_storage<100>, allot::planned<layout>> memory;
    return memory.at<id>() ? 0 : 1;
}
