// A scope is known by its name at run time.
// refused: allot: a scope is a type with a name: struct on_chip { static constexpr std::string_view name = "global.on_chip"; }
#include <allot/allot.hpp>
#include <allot/tensor.hpp>

using namespace allot::literals;

struct unnamed {};
struct named {
    static constexpr std::string_view name = "global.named";
};
allot::arena<allot::host::heap, allot::best_fit<>> memory{{}, 4_KiB};

int main() {
#ifdef MISUSE
    allot::scope_map memories{allot::in_scope<unnamed>(memory)};
#else
    allot::scope_map memories{allot::in_scope<named>(memory)};
#endif
}
