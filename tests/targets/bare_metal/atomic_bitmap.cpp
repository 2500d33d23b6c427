// Compiles for a core with instructions for exclusive access. A Cortex-M0+ lacks them and gets one error message.
// refused: allot: this core has no instructions for exclusive access
#include <allot/allot.hpp>

allot::arena<allot::host::static_storage<1024>,
             allot::pool<allot::pool_options{.slot = 64, .count = 16, .store = allot::pool_store::atomic_bitmap}>>
    slots;
