// Programs with one mistake each. The name of a mistake selects it; `--list` writes the names, and the tools that find
// them: a for AddressSanitizer, v for Valgrind, m for MemorySanitizer. `correct` has no mistake.
#include <allot/adapt/memory_resource.hpp>
#include <allot/adapt/std_allocator.hpp>
#include <allot/allot.hpp>
#include <allot/inspect/describe_address.hpp>
#include <allot/tensor.hpp>

#include <cstdio>
#include <cstring>
#include <memory_resource>
#include <string_view>
#include <utility>
#include <vector>

using namespace allot::literals;

namespace {

// The arena of the mistake, for the line that precedes a report.
const void* described = nullptr;
allot::address_description (*describe)(const void*, const void*) = nullptr;

template <class Arena>
void set_described(const Arena& memory) {
    described = &memory;
    describe = [](const void* arena, const void* address) {
        return allot::describe_address(*static_cast<const Arena*>(arena), address);
    };
}

using bytes = unsigned char*;
template <class Block>
bytes at(const Block& block) {
    return static_cast<bytes>(block.address);
}

volatile unsigned char sink = 0;
/// Reads a byte and branches on it, so that MemorySanitizer looks at it.
[[gnu::noinline]] void use(const unsigned char* byte) {
    if (*const_cast<const volatile unsigned char*>(byte) == 7) sink = 1;
}
[[gnu::noinline]] void change(unsigned char* byte) { *const_cast<volatile unsigned char*>(byte) = 7; }

using heap_fit = allot::arena<allot::host::heap, allot::best_fit<>>;
using table_fit =
    allot::arena<allot::host::heap, allot::best_fit<allot::best_fit_options{.store = allot::node_store::side_table}>>;
using apart_fit = allot::guarded<table_fit>;
using growing_fit = allot::arena<allot::host::heap, allot::best_fit<>, allot::growth::geometric<>>;
using slots = allot::arena<allot::host::static_storage<4_KiB>, allot::pool<allot::pool_options{.slot = 64}>>;
using bits =
    allot::arena<allot::host::static_storage<4_KiB>,
                 allot::pool<allot::pool_options{.slot = 64, .count = 32, .store = allot::pool_store::bitmap}>>;
using apart_slots =
    allot::guarded<allot::arena<allot::host::static_storage<4_KiB>, allot::pool<allot::pool_options{.slot = 96}>>>;
using bumped = allot::arena<allot::host::static_storage<4_KiB>, allot::bump<>>;
using upward = allot::bump<allot::bump_options{.direction = allot::direction::up}>;
using apart_bump = allot::guarded<allot::arena<allot::host::static_storage<4_KiB>, upward>>;
using growing_bump = allot::arena<allot::host::heap, upward, allot::growth::fixed<>>;
using stacked = allot::arena<allot::host::static_storage<4_KiB>, allot::stack<>>;
using apart_stack = allot::guarded<stacked>;
using circular = allot::arena<allot::host::static_storage<4_KiB>, allot::ring<>>;
using apart_ring = allot::guarded<circular>;
using quarantined = allot::quarantined<slots>;
using waiting = allot::arena<allot::host::heap, allot::deferred<allot::best_fit<>>>;

template <class Arena>
Arena make() {
    if constexpr (std::is_same_v<Arena, apart_fit>) return Arena{{{}, 4_KiB}};
    else if constexpr (requires { requires std::is_same_v<typename Arena::device_type, allot::host::heap>; })
        return Arena{{}, 4_KiB};
    else return Arena{};
}

/// Three initialized blocks of `Size` bytes in an arena.
template <class Arena, std::size_t Size>
struct blocks {
    Arena memory = make<Arena>();
    typename Arena::block_type first = memory.allocate({.size = Size}), second = memory.allocate({.size = Size}),
                               third = memory.allocate({.size = Size});
    blocks() {
        set_described(memory);
        for (const auto& each : {first, second, third}) std::memset(each.address, 1, Size);
    }
};

template <class Arena>
void use_after_free() {
    blocks<Arena, 64> all;
    const auto gone = Arena::reclaims == allot::reclaim::lifo ? all.third : all.first;
    all.memory.deallocate(gone);
    use(at(gone) + 20);
}
template <class Arena>
void write_after_free() {
    blocks<Arena, 64> all;
    const auto gone = Arena::reclaims == allot::reclaim::lifo ? all.third : all.first;
    all.memory.deallocate(gone);
    change(at(gone));
}
template <class Arena>
void double_free() {
    blocks<Arena, 64> all;
    const auto gone = Arena::reclaims == allot::reclaim::lifo ? all.third : all.first;
    all.memory.deallocate(gone);
    all.memory.deallocate(gone);
}
template <class Arena>
void use_after_reset() {
    blocks<Arena, 64> all;
    all.memory.reset();
    use(at(all.second));
}
template <class Arena>
void use_after_rollback() {
    blocks<Arena, 64> all;
    const auto mark = all.memory.mark();
    const auto fresh = all.memory.allocate({.size = 40});
    std::memset(fresh.address, 1, 40);
    all.memory.rollback(mark);
    use(at(all.second));  // still live
    use(at(fresh) + 39);
}
/// `Size` is a multiple of nothing, or the block ends where the next one starts.
template <class Arena, std::size_t Size, std::size_t By>
void overflow() {
    blocks<Arena, Size> all;
    for (std::size_t i = 0; i != By; ++i) change(at(all.second) + Size + i);
}
/// One write of one byte, `By` bytes after the end.
template <class Arena, std::size_t Size, std::size_t By>
void write_beyond() {
    blocks<Arena, Size> all;
    change(at(all.second) + Size + By - 1);
}
template <class Arena, std::size_t Size>
void underflow() {
    blocks<Arena, Size> all;
    change(at(all.second) - 1);
}
template <class Arena>
void reused_uninitialized() {
    blocks<Arena, 64> all;
    const auto gone = Arena::reclaims == allot::reclaim::lifo ? all.third : all.first;
    all.memory.deallocate(gone);
    for (int i = 0; i != 64; ++i) {  // a ring comes around
        const auto fresh = all.memory.allocate({.size = 64});
        if (!fresh) return;
        if (at(fresh) == at(gone)) return use(at(fresh) + 33);
        std::memset(fresh.address, 1, 64);
        if constexpr (Arena::reclaims == allot::reclaim::fifo) {
            all.memory.deallocate(std::exchange(all.second, std::exchange(all.third, fresh)));
        }
    }
}
template <class Arena>
void never_allocated() {
    blocks<Arena, 64> all;
    const auto region = *std::begin(all.memory.regions());
    use(static_cast<bytes>(region.base) + region.size / 2);
}
void shrunk() {
    blocks<heap_fit, 100> all;
    if (all.memory.resize(all.third, 40)) change(at(all.third) + 40);
}
void moved() {
    heap_fit first{{}, 4_KiB};
    const auto block = first.allocate({.size = 100});
    heap_fit second = std::move(first);
    set_described(second);
    change(at(block) + 99);
    second.deallocate(block);
    use(at(block) + 99);
}
void freed_by_std_allocator() {
    heap_fit memory{{}, 4_KiB};
    set_described(memory);
    std::vector<unsigned char, allot::std_allocator<unsigned char, heap_fit>> numbers(memory);
    numbers.assign(100, 1);
    const auto* const old = numbers.data();
    numbers.assign(500, 1);
    use(old + 30);
}
void beyond_std_allocator() {
    heap_fit memory{{}, 4_KiB};
    set_described(memory);
    allot::std_allocator<unsigned char, heap_fit> adapter{memory};
    change(adapter.allocate(100) + 100);
}
void freed_by_pmr() {
    heap_fit memory{{}, 4_KiB};
    set_described(memory);
    allot::memory_resource<heap_fit> resource{memory};
    std::pmr::vector<unsigned char> numbers(100, 1, &resource);
    const auto* const old = numbers.data();
    numbers.assign(500, 1);
    use(old + 30);
}
void double_free_by_pmr() {
    heap_fit memory{{}, 4_KiB};
    set_described(memory);
    allot::memory_resource<heap_fit> resource{memory};
    void* const block = resource.allocate(100, 8);
    resource.deallocate(block, 100, 8);
    resource.deallocate(block, 100, 8);
}

/// Two tensors of 64 bytes next to each other in a storage.
struct tensors {
    heap_fit memory{{}, 8_KiB};
    decltype(allot::alloc_storage(memory, 4_KiB, 64)) pool = allot::alloc_storage(memory, 4_KiB, 64);
    decltype(allot::alloc_tensor(*pool, 0, {64}, allot::int8)) first = allot::alloc_tensor(*pool, 0, {64}, allot::int8),
                                                               second =
                                                                   allot::alloc_tensor(*pool, 128, {60}, allot::int8);
    tensors() {
        set_described(memory);
        std::memset(first->data(), 1, 64);
        std::memset(second->data(), 1, 60);
    }
    unsigned char* data() { return static_cast<bytes>(second->data()); }
};
void tensor_after_kill() {
    tensors all;
    const auto* const old = all.data();
    all.second->kill();
    use(old + 8);
}
void tensor_overflow() {
    tensors all;
    change(all.data() + 60);
}
void tensor_underflow() {
    tensors all;
    change(all.data() - 1);
}
void tensor_reused() {
    tensors all;
    all.second->kill();
    const auto fresh = allot::alloc_tensor(*all.pool, 128, {60}, allot::int8);
    use(static_cast<bytes>(fresh->data()) + 31);
}

// ── no mistake ───────────────────────────────────────────────────────────────────────────────────────────────────────

template <class Arena>
void fill_and_free() {
    blocks<Arena, 52> all;
    std::memset(all.third.address, 2, all.memory.capacity(all.third));  // all usable bytes
    if constexpr (Arena::reclaims == allot::reclaim::lifo) {
        for (const auto& each : {all.third, all.second, all.first}) all.memory.deallocate(each);
    } else {
        for (const auto& each : {all.first, all.second, all.third}) all.memory.deallocate(each);
    }
    for (std::size_t size = 1; size != 64; ++size) {
        const auto fresh = all.memory.allocate({.size = size});
        if (!fresh) break;
        std::memset(fresh.address, 3, size);
        use(at(fresh) + size - 1);
        if constexpr (Arena::reclaims != allot::reclaim::never) all.memory.deallocate(fresh);
    }
    if constexpr (requires { all.memory.reset(); }) {
        all.memory.reset();
        const auto fresh = all.memory.allocate({.size = 60});
        std::memset(fresh.address, 3, 60);
        use(at(fresh) + 59);
    }
    if constexpr (requires { all.memory.trim(); }) all.memory.trim();
}
/// The bytes of an arena belong to the program before and after it.
void buffer_on_the_stack() {
    unsigned char here[1001];
    std::memset(here, 1, sizeof here);
    {
        allot::arena<allot::host::buffer, allot::best_fit<>> memory{allot::host::buffer{here + 3, 995}};
        const auto block = memory.allocate({.size = 77});
        std::memset(block.address, 1, 77);
        use(here + 1);
        use(here + 999);
    }
    for (const unsigned char& each : here) use(&each);
}
/// An arena in a block of another arena.
void arena_in_an_arena() {
    heap_fit outer{{}, 4_KiB};
    const auto block = outer.allocate({.size = 1000});
    {
        allot::arena<allot::host::buffer, allot::bump<>> inner{allot::host::buffer{block.address, block.size}};
        std::memset(inner.allocate({.size = 100}).address, 1, 100);
    }
    std::memset(block.address, 1, block.size);
    use(at(block) + 999);
    outer.deallocate(block);
}
void correct() {
    fill_and_free<heap_fit>();
    fill_and_free<table_fit>();
    fill_and_free<apart_fit>();
    fill_and_free<growing_fit>();
    fill_and_free<slots>();
    fill_and_free<bits>();
    fill_and_free<apart_slots>();
    fill_and_free<quarantined>();
    fill_and_free<bumped>();
    fill_and_free<apart_bump>();
    fill_and_free<growing_bump>();
    fill_and_free<stacked>();
    fill_and_free<apart_stack>();
    fill_and_free<circular>();
    fill_and_free<apart_ring>();
    fill_and_free<waiting>();
    buffer_on_the_stack();
    arena_in_an_arena();
    tensors all;
    use(all.data() + 59);
}

struct mistake {
    const char* name;
    const char* tools;
    void (*make)();
};
constexpr mistake all_mistakes[] = {
    {"correct", "", correct},
    {"best_fit_use_after_free", "avm", use_after_free<heap_fit>},
    {"best_fit_write_after_free", "av", write_after_free<heap_fit>},
    {"best_fit_double_free", "av", double_free<heap_fit>},
    {"best_fit_overflow_1", "av", overflow<heap_fit, 101, 1>},
    {"best_fit_overflow_8_into_the_record", "av", overflow<heap_fit, 104, 8>},
    {"best_fit_overflow_16", "av", overflow<heap_fit, 100, 16>},
    {"best_fit_underflow", "av", underflow<heap_fit, 100>},
    {"best_fit_reused_uninitialized", "vm", reused_uninitialized<heap_fit>},
    {"best_fit_never_allocated", "avm", never_allocated<heap_fit>},
    {"best_fit_shrunk", "av", shrunk},
    {"best_fit_moved_arena", "avm", moved},
    {"growing_best_fit_use_after_free", "avm", use_after_free<growing_fit>},
    {"side_table_use_after_free", "avm", use_after_free<table_fit>},
    {"side_table_double_free", "av", double_free<table_fit>},
    {"side_table_overflow_1", "av", overflow<apart_fit, 64, 1>},
    {"side_table_write_16_beyond", "av", write_beyond<apart_fit, 64, 16>},
    {"pool_use_after_free", "avm", use_after_free<slots>},
    {"pool_double_free", "av", double_free<slots>},
    {"pool_overflow_1", "av", overflow<slots, 61, 1>},
    {"pool_overflow_16", "av", overflow<slots, 48, 16>},
    {"pool_overflow_of_a_full_slot", "av", overflow<apart_slots, 64, 1>},
    {"pool_reused_uninitialized", "vm", reused_uninitialized<slots>},
    {"pool_bitmap_write_after_free", "av", write_after_free<bits>},
    {"pool_bitmap_double_free", "av", double_free<bits>},
    {"quarantined_use_after_free", "av", use_after_free<quarantined>},
    {"quarantined_double_free", "av", double_free<quarantined>},
    {"bump_use_after_free", "avm", use_after_free<bumped>},
    {"bump_use_after_reset", "avm", use_after_reset<bumped>},
    {"bump_use_after_rollback", "avm", use_after_rollback<bumped>},
    {"bump_overflow_3", "av", overflow<bumped, 61, 3>},
    {"bump_overflow_of_a_full_block", "av", write_beyond<apart_bump, 64, 9>},
    {"bump_never_allocated", "avm", never_allocated<bumped>},
    {"growing_bump_use_after_reset", "avm", use_after_reset<growing_bump>},
    {"growing_bump_use_after_rollback", "avm", use_after_rollback<growing_bump>},
    {"stack_use_after_free", "avm", use_after_free<stacked>},
    {"stack_double_free", "av", double_free<stacked>},
    {"stack_use_after_reset", "avm", use_after_reset<stacked>},
    {"stack_use_after_rollback", "avm", use_after_rollback<stacked>},
    {"stack_overflow_of_a_full_block", "av", overflow<apart_stack, 64, 16>},
    {"stack_reused_uninitialized", "vm", reused_uninitialized<stacked>},
    {"ring_use_after_free", "avm", use_after_free<circular>},
    {"ring_double_free", "av", double_free<circular>},
    {"ring_use_after_rollback", "avm", use_after_rollback<circular>},
    {"ring_underflow", "av", underflow<apart_ring, 64>},
    {"ring_reused_uninitialized", "vm", reused_uninitialized<circular>},
    {"deferred_use_after_free", "avm", use_after_free<waiting>},
    {"deferred_write_after_free", "av", write_after_free<waiting>},
    {"deferred_double_free", "av", double_free<waiting>},
    {"deferred_reused_uninitialized", "vm", reused_uninitialized<waiting>},
    {"pmr_use_after_free", "avm", freed_by_pmr},
    {"pmr_double_free", "av", double_free_by_pmr},
    {"std_allocator_use_after_free", "avm", freed_by_std_allocator},
    {"std_allocator_overflow", "av", beyond_std_allocator},
    {"tensor_use_after_kill", "avm", tensor_after_kill},
    {"tensor_overflow", "av", tensor_overflow},
    {"tensor_underflow", "av", tensor_underflow},
    {"tensor_reused_uninitialized", "vm", tensor_reused},
};

}  // namespace

#if defined(ALLOT_HAS_ADDRESS_SANITIZER)
extern "C" void __asan_on_error() {
    if (describe != nullptr) std::fprintf(stderr, "%s\n", describe(described, __asan_get_report_address()).what());
}
#endif

int main(int count, char** arguments) {
    if (count != 2) return 2;
    const std::string_view wanted = arguments[1];
    for (const mistake& each : all_mistakes) {
        if (wanted == "--list") std::printf("%s %s\n", each.name, each.tools);
        if (wanted != each.name) continue;
        each.make();
        std::puts("end");
        return 0;
    }
    return wanted == "--list" ? 0 : 2;
}
