// A report diagnoses, which may change an allocator.
// refused: allot: a report calls diagnose, which is not a constant function of every allocator: pass an allocator that is not const
#include <allot/allot.hpp>
#include <allot/inspect/report.hpp>

int main() {
#ifdef MISUSE
    const
#endif
        allot::arena<allot::host::heap, allot::best_fit<>>
            memory{{}, 4096};
    return allot::report(memory).empty() ? 1 : 0;
}
