// A limit whose alignment exceeds the memory, so that the object's address decides whether a block fits.
// refused: allot: bump_options::limit_align is larger than this memory, so that no block may fit: use a smaller value
#include <allot/allot.hpp>

int main() {
#ifdef MISUSE
    constexpr std::size_t align = 4096;
#else
    constexpr std::size_t align = 512;
#endif
    using bump = allot::bump<allot::bump_options{.direction = allot::direction::up, .limit_align = align}>;
    allot::arena<allot::host::static_storage<1000>, bump> scratch;
    return scratch.allocate({1, 1}) ? 0 : 1;
}
