#include <allot/allot.hpp>

int main() {
    allot::arena<allot::host::static_storage<65536>, allot::bump<>> scratch;
    auto block = scratch.allocate({.size = 256, .align = 32});
    return block.address == nullptr;
}
