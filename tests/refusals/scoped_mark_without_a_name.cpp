// A scoped_mark without a name, which ends before the allocations after it. The compilers warn.
// refused: allot: name the scoped_mark: without a name, it ends at once
#include <allot/allot.hpp>
#include <allot/object.hpp>

int main() {
    allot::arena<allot::host::static_storage<4096>, allot::bump<>> scratch;
#ifdef MISUSE
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wunused-result"
#pragma GCC diagnostic error "-Wunused-value"
    allot::scoped_mark{scratch};
#pragma GCC diagnostic pop
#else
    const allot::scoped_mark scope{scratch};
#endif
    return scratch.allocate({.size = 100}) ? 0 : 1;
}
