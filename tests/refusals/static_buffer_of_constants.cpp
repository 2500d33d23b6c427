// A static_buffer over const bytes.
// refused: allot: static_buffer requires a non-const object of a trivially default constructible type
#include <allot/host/static_storage.hpp>

#ifdef MISUSE
extern const std::byte bytes[64];
const std::byte bytes[64]{};
#else
std::byte bytes[64];
#endif

int main() { return allot::host::static_buffer<bytes>::capacity() == 64 ? 0 : 1; }
