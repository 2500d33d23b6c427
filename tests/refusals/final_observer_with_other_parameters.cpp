// The names of a final class are checked as well: a function that cannot be called would be skipped without a message.
// refused: allot: a function of this observer has other parameters: on_allocate(const Block&, layout), on_refusal(layout, diagnosis), on_deallocate(const Block&), on_resize(const Block&, const Block&), on_trim(std::size_t), on_reset() and on_rollback() are called
#include <allot/allot.hpp>

struct logger final {
#ifdef MISUSE
    void on_refusal(allot::layout) noexcept {}
#else
    void on_refusal(allot::layout, allot::diagnosis) noexcept {}
#endif
};

int main() {
    allot::observed<allot::arena<allot::host::static_storage<256>, allot::bump<>>, logger> memory;
    return memory.allocate({.size = 10}) ? 0 : 1;
}
