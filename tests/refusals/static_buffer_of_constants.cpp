// Bytes that nobody may write, as memory for blocks.
// refused: allot: a static buffer is of bytes that nobody has to construct, and that may be written
#include <allot/host/memory.hpp>

#ifdef MISUSE
extern const std::byte bytes[64];
const std::byte bytes[64]{};
#else
std::byte bytes[64];
#endif

int main() { return allot::host::static_buffer<bytes>::capacity() == 64 ? 0 : 1; }
