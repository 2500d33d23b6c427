// A pointer has no functions: every call would be skipped without a message.
// refused: allot: the second argument of observed is an observer, an object of a class: observed{allocator, logger}, and *logger for a pointer to one
#include <allot/allot.hpp>

struct logger {
    void on_refusal(allot::layout, allot::diagnosis) noexcept {}
};

int main() {
    allot::arena arena{allot::host::heap{}, 4096};
#ifdef MISUSE
    logger log;
    allot::observed memory{arena, &log};
#else
    logger log;
    allot::observed memory{arena, log};
#endif
    return memory.allocate({.size = 10}) ? 0 : 1;
}
