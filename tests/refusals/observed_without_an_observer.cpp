// An observer is not optional.
// refused: allot: the second argument of observed is an observer, an object of a class: observed{allocator, logger}, and *logger for a pointer to one
#include <allot/allot.hpp>

struct logger {
    void on_refusal(allot::layout, allot::diagnosis) noexcept {}
};

int main() {
    allot::arena arena{allot::host::heap{}, 4096};
#ifdef MISUSE
    allot::observed memory{arena};
#else
    allot::observed memory{arena, logger{}};
#endif
    return memory.allocate({.size = 10}) ? 0 : 1;
}
