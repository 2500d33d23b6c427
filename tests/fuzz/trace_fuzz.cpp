// Fuzz target: the reader of allocation traces, with arbitrary bytes. An accepted trace and the part before an error
// can be replayed: each block is allocated in an empty slot and freed once with the same layout, and the summary
// matches the operations.
#include <allot/inspect/trace.hpp>

#include <cstdlib>
#include <span>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const auto require = [](bool right) {
        if (!right) std::abort();
    };
    const auto answer = allot::read_trace(std::as_bytes(std::span{bytes, size}));
    require(answer.error.position <= size && !std::string_view{answer.error.what()}.empty());
    const allot::trace* const read = &answer.value;
    std::vector<allot::trace_operation> held(read->slots);  // size 0: the slot is empty
    std::uint64_t live = 0, peak = 0, largest = 0;
    for (const allot::trace_operation& each : read->operations) {
        if (each.action == allot::trace_action::reset) {
            require(live == 0);
            continue;
        }
        require(each.slot < read->slots && each.size != 0);
        allot::trace_operation& slot = held[each.slot];
        if (each.action == allot::trace_action::allocate) {
            require(slot.size == 0 && each.align() >= read->least_align && each.align() <= read->most_align);
            slot = each;
            live += each.size;
            peak = std::max(peak, live);
            largest = std::max(largest, each.size);
        } else {
            require(slot.size == each.size && slot.align_log2 == each.align_log2);
            slot.size = 0;
            live -= each.size;
        }
    }
    require(peak == read->peak && largest == read->largest);
    return 0;
}
