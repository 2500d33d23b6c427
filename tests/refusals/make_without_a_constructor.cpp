// An object whose type has no constructor for the arguments.
// refused: allot: no constructor of this type accepts these arguments
#include <allot/allot.hpp>
#include <allot/object.hpp>

struct camera {
    explicit camera(const char* given) : name{given} {}
    const char* name;
};

int main() {
    allot::arena<allot::host::static_storage<4096>, allot::best_fit<>> memory;
#ifdef MISUSE
    const auto made = allot::make_unique<camera>(memory, 7.5);
#else
    const auto made = allot::make_unique<camera>(memory, "front");
#endif
    return made ? 0 : 1;
}
