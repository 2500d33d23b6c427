// A device ordinal below 0.
// refused: allot: a device ordinal must not be negative
#include <allot/allot.hpp>
#include <allot/tensor.hpp>

#ifdef MISUSE
constexpr std::int64_t ordinal = -1;
#else
constexpr std::int64_t ordinal = 1;
#endif

int main() {
    allot::naive<allot::host::heap> memory;
    const allot::scope_map memories{allot::in_scope<allot::scope::vtcm, ordinal>(memory)};
    return &memories.get<allot::scope::vtcm, ordinal>() == &memory ? 0 : 1;
}
