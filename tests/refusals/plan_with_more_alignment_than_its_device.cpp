// A plan whose alignment the device does not have.
// refused: allot: the plan needs more alignment than this device has
#include <allot/host/static_storage.hpp>
#include <allot/plan/planned.hpp>

#include <array>

struct two_places {
    std::array<allot::plan_place, 2> places{{{0, 60}, {60, 40}}};
    std::uint64_t peak = 100, align = 64;
};
constexpr two_places layout;

#ifdef MISUSE
constexpr std::size_t align = 32;
#else
constexpr std::size_t align = 64;
#endif

int main() {
    allot::arena<allot::host::static_storage<100, align>, allot::planned<layout>> memory;
    return memory.at<1>() ? 0 : 1;
}
