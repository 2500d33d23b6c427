// An aggregate whose member is narrower than its value.
// refused: allot: no constructor of this type accepts these arguments
#include <allot/allot.hpp>
#include <allot/object.hpp>

struct sample {
    int number;
    float value;
};

int main() {
    allot::arena<allot::host::static_storage<4096>, allot::best_fit<>> memory;
#ifdef MISUSE
    const auto made = allot::make_unique<sample>(memory, 1.5, 2.5f);
#else
    const auto made = allot::make_unique<sample>(memory, 1, 2.5f);
#endif
    return made ? 0 : 1;
}
