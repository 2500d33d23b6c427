// A failed allocation returns an empty block. `diagnose` reports the reason, and never changes the arena.
#include <allot/allot.hpp>

#include <cstdio>

using namespace allot::literals;

template <class Arena>
static allot::refusal report(const char* request, const Arena& memory, allot::layout wanted) {
    const allot::diagnosis reason = memory.diagnose(wanted);
    std::printf("%-28s %s (largest hole: %llu bytes)\n", request, reason.what(),
                static_cast<unsigned long long>(reason.largest_hole));
    return reason.reason;
}

int main() {
    allot::arena<allot::host::static_storage<4_KiB>, allot::best_fit<>> memory;

    // Every second block is freed: half of the memory is free, in pieces.
    decltype(memory)::block_type blocks[7];
    for (auto& block : blocks) block = memory.allocate({.size = 500});
    for (int i = 1; i < 7; i += 2) memory.deallocate(blocks[i]);

    bool right = !memory.allocate({.size = 1000});
    right = right && report("1000 bytes:", memory, {.size = 1000}) == allot::refusal::fragmented;
    right = right && report("100,000 bytes:", memory, {.size = 100'000}) == allot::refusal::exhausted;
    right = right && report("100 bytes:", memory, {.size = 100}) == allot::refusal::none;
    right = right && report("0 bytes:", memory, {.size = 0}) == allot::refusal::empty_layout;
    right = right &&
            report("100 bytes, aligned to 48:", memory, {.size = 100, .align = 48}) == allot::refusal::bad_alignment;

    // An arena whose first region was refused is false. The device's own error code is in the diagnosis.
    std::byte small[100];
    allot::arena<allot::host::buffer, allot::bump<>> none{allot::host::buffer{small}, 4_KiB};
    right = right && !none;
    right = right && report("a buffer of 100 bytes:", none, {.size = 1}) == allot::refusal::device_refused;
    const auto code = static_cast<allot::host::window_error>(none.diagnose({.size = 1}).device_error);
    return right && code == allot::host::window_error::too_small ? 0 : 1;
}
