// cached keeps the regions of a device: it is inside naive.
// refused: allot: this is an allocator in the place of a device: write the device inside, such as naive<cached<host::heap>> or arena<host::heap, best_fit<>>
#include <allot/allot.hpp>

int main() {
#ifdef MISUSE
    allot::cached<allot::naive<allot::host::heap>> memory;
#else
    allot::naive<allot::cached<allot::host::heap>> memory;
#endif
}
