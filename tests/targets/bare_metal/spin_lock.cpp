// Compiles for a core with instructions for exclusive access. A Cortex-M0+ lacks them and gets one error message.
// refused: allot: spin_lock needs instructions for exclusive access, which this core lacks: use a critical section
#include <allot/allot.hpp>

allot::synchronized<allot::arena<allot::host::static_storage<1024>, allot::bump<>>, allot::spin_lock> scratch;
bool works() { return static_cast<bool>(scratch.allocate({.size = 8})); }
