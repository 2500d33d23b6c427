// A size in bytes does not replace the argument of the device.
// refused: allot: this arena's device needs arguments: arena{device}, such as arena{host::virtual_memory{64_GiB}}
// alone
#include <allot/allot.hpp>
#include <allot/host/virtual_memory.hpp>

using namespace allot::literals;

int main() {
#ifdef MISUSE
    allot::arena<allot::host::virtual_memory, allot::best_fit<>> memory{{}, 64_KiB};
#else
    allot::arena<allot::host::virtual_memory, allot::best_fit<>> memory{allot::host::virtual_memory{1_MiB}, 64_KiB};
#endif
}
