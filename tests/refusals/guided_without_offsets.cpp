// A consumer of a separate region takes no offset into it.
// refused: allot: consumers of this memory take no offset: a guided allocator needs offsets for its blocks
#include <allot/allot.hpp>
#include <allot/plan/guided.hpp>

#ifdef MISUSE
using device = allot::separate<allot::host::heap>;
#else
using device = allot::host::heap;
#endif

int main() {
    allot::guided<allot::naive<device>> memory{{.size = 1024, .align = 16}};
    return memory.allocate({.size = 10}) ? 0 : 1;
}
