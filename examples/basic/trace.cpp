// A trace: the allocations of a program are recorded, and replayed on other strategies to compare them.
#include <allot/allot.hpp>
#include <allot/inspect/trace.hpp>

#include <cstdio>
#include <vector>

using namespace allot::literals;

// Returns the number of requests that fail in so many bytes.
template <class Strategy>
static int failures(const allot::trace& recorded, std::size_t bytes) {
    allot::arena memory{allot::host::heap{}, bytes, allot::use<Strategy>};
    std::vector<typename decltype(memory)::block_type> slots(recorded.slots);
    int failed = 0;
    for (const allot::trace_operation& each : recorded.operations) {
        auto& slot = slots[each.slot];
        if (each.action == allot::trace_action::allocate) {
            slot = memory.allocate({static_cast<std::size_t>(each.size), static_cast<std::size_t>(each.align())});
            failed += slot ? 0 : 1;
        } else if (each.action == allot::trace_action::deallocate) {
            memory.deallocate(slot);
            slot = {};
        }
    }
    return failed;
}

int main() {
    // Record: one line for each call of the program's allocator.
    allot::trace_writer writer;
    std::vector<std::uint64_t> live;
    for (std::uint64_t i = 0; i != 1000; ++i) {
        live.push_back(writer.allocate(64 + i * 37 % 500));
        if (i % 3 != 0) {  // the older of the last two is freed
            writer.deallocate(live[live.size() - 2]);
            live.erase(live.end() - 2);
        }
    }
    writer.reset();
    const std::vector<std::byte> file = writer.bytes();

    const auto read = allot::read_trace(file);
    if (!read) {
        std::printf("byte %zu: %s\n", read.error.position, read.error.what());
        return 1;
    }
    std::printf("%zu operations in %zu bytes; at most %llu bytes are live\n", read.value.operations.size(), file.size(),
                static_cast<unsigned long long>(read.value.peak));
    const int best_fit = failures<allot::best_fit<>>(read.value, 128_KiB),
              bump = failures<allot::bump<>>(read.value, 128_KiB);
    std::printf("failures in 128 KiB: best_fit %d, bump %d\n", best_fit, bump);
    return best_fit == 0 && bump > 0 ? 0 : 1;
}
