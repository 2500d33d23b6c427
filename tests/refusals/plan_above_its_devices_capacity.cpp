// A plan that needs more bytes than its device has; the message contains the shortfall.
// refused: plan_shortfall<36>
#include <allot/host/static_storage.hpp>
#include <allot/plan/planned.hpp>

#include <array>

struct two_places {
    std::array<allot::plan_place, 2> places{{{0, 60}, {60, 40}}};
    std::uint64_t peak = 100, align = 4;
};
constexpr two_places layout;

#ifdef MISUSE
constexpr std::size_t size = 64;
#else
constexpr std::size_t size = 100;
#endif

int main() {
    allot::arena<allot::host::static_storage<size>, allot::planned<layout>> memory;
    return memory.at<1>() ? 0 : 1;
}
