// A device acquires regions. It has no blocks to report.
// refused: allot: this is a device, which acquires regions: combine it with a strategy: allot::arena<Device, Strategy>, or use allot::naive<Device>
#include <allot/allot.hpp>
#include <allot/inspect/report.hpp>

int main() {
#ifdef MISUSE
    allot::host::heap memory;
#else
    allot::arena<allot::host::heap, allot::best_fit<>> memory{{}, 4096};
#endif
    return allot::report(memory).empty() ? 1 : 0;
}
