// The plan is in the failing allocator, not in a wrapper around it.
// refused: allot: fail_each_request takes the failing allocator itself: failing requests{arena}; counted memory{requests}; fail_each_request(requests, run)
#include <allot/allot.hpp>

int main() {
    allot::arena arena{allot::host::heap{}, 4096};
#ifdef MISUSE
    allot::counted memory{allot::failing{arena}};
    const auto run = [&] { memory.deallocate(memory.allocate({.size = 10})); };
    allot::fail_each_request(memory, run);
#else
    allot::failing requests{arena};
    allot::counted memory{requests};
    const auto run = [&] { memory.deallocate(memory.allocate({.size = 10})); };
    allot::fail_each_request(requests, run);
#endif
    return memory.allocate({.size = 10}) ? 0 : 1;
}
