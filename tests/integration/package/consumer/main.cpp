#include <allot/allot.hpp>

#ifdef CONSUMER_HARDENING
#include <allot/arena/hardening.hpp>
constexpr allot::arena_options options{.hardening = allot::hardening::CONSUMER_HARDENING};
#else
constexpr allot::arena_options options;
#endif

int main() {
    allot::arena<allot::host::static_storage<65536>, allot::bump<>, allot::growth::none<>, options> scratch;
    auto block = scratch.allocate({.size = 256, .align = 32});
    return block.address == nullptr;
}
