// The string ends before the block.
// refused: allot: a tag refers to the letters of its name and does not copy them: pass a string literal, or a const char* to a text that outlives the allocator
#include <allot/allot.hpp>

#include <string>

int main() {
    allot::arena arena{allot::host::heap{}, 4096};
#ifdef MISUSE
    allot::tagged memory{arena};
    (void)memory.allocate({.size = 10}, std::string{"weights"});
#else
    allot::tagged memory{arena};
    (void)memory.allocate({.size = 10}, "weights");
#endif
    return memory.allocate({.size = 10}) ? 0 : 1;
}
