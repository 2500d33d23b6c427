// A program that a debugger stops in `stop_here`. Before, it prints what the debugger must show, from the public
// interface only: a line is the name of a global variable, a kind, and values, separated by spaces. Its argument is the
// file to print to; without an argument it prints to standard output.
//
//     NAME block POSITION CAPACITY      a live block; POSITION is an address, or an offset behind a handle
//     NAME live POSITION SIZE CALL      a live block of a hardened allocator
//     NAME hole POSITION CAPACITY       found by a child process that allocates every hole as a whole
//     NAME waiting POSITION CAPACITY    a freed block of deferred
//     NAME region POSITION SIZE
//     NAME says TEXT…                   words of the summary
//     NAME part NAME-OF-CHILD TEXT…     words of a child
#include "../../unit/arena/helpers.hpp"

#include <allot/address/const_pointer.hpp>
#include <allot/arena/hardening.hpp>
#include <allot/inspect/gdb_printers.hpp>
#include <allot/object.hpp>
#include <allot/plan.hpp>
#include <allot/tensor.hpp>

#include <array>
#include <cstdio>
#include <cstring>
#include <new>
#include <sys/wait.h>
#include <unistd.h>

using namespace allot::literals;
using allot::arena, allot::host::heap, allot::host::static_storage, allot::best_fit, allot::anywhere;
namespace growth = allot::growth;

constexpr allot::best_fit_options table_of_40{.store = allot::node_store::side_table, .records = 40};
constexpr allot::best_fit_options by_offset{.store = allot::node_store::side_table, .offset_index = true};
constexpr allot::best_fit_options by_12{.store = allot::node_store::side_table, .granule = 4};
template <allot::pool_store Store, std::size_t Count, std::size_t Align = 4>
using pool = allot::pool<allot::pool_options{.slot = 37, .count = Count, .align = Align, .store = Store}>;

// ── arenas ───────────────────────────────────────────────────────────────────────────────────────────────────────────

arena<static_storage<100'003>, allot::bump<>> bump_down;
arena<heap, helpers::up> bump_up{{}, 1001};
arena<heap, helpers::up, growth::fixed<allot::growth_options{.step = 1000, .regions = 4}>> bump_steps;
arena<heap, allot::stack<allot::stack_options{.large = 200}>> stack{{}, 3001};
arena<static_storage<999, 8>, allot::ring<>> ring;
arena<heap, allot::ring<>> wrapped_ring{{}, 501};
arena<heap, best_fit<>> fit{{}, 10'007};
arena<static_storage<5003>, best_fit<>> fit_embedded;
arena<heap, best_fit<>, growth::fixed<allot::growth_options{.step = 1003, .regions = 8}>> fit_steps;
arena<heap, best_fit<table_of_40>> table{{}, 7001};
arena<heap, best_fit<by_offset>> table_by_offset{{}, 7001};
arena<heap, best_fit<by_12>, growth::geometric<allot::growth_options{.step = 2003, .regions = 16}>> table_steps;
helpers::supply supply_of_board;
arena<helpers::handles<>, best_fit<>> board{helpers::handles<>{supply_of_board}, 4099};
arena<helpers::handles<>, best_fit<by_12, std::uint32_t>,
      growth::fixed<allot::growth_options{.step = 1009, .regions = 4}>>
    boards{helpers::handles<>{supply_of_board}};
arena<heap, allot::deferred<best_fit<>>> deferred{{}, 9001};
arena<heap, pool<allot::pool_store::in_band, 0, 8>> pool_list{{}, 1003};
arena<heap, pool<allot::pool_store::in_band, 7, 8>> pool_limited{{}, 1003};
arena<heap, pool<allot::pool_store::in_band, 0, 8>, growth::fixed<allot::growth_options{.step = 301, .regions = 4}>>
    pool_steps;
arena<static_storage<5001>, pool<allot::pool_store::bitmap, 131>> pool_bitmap;
arena<static_storage<5001>, pool<allot::pool_store::bitmap, 61>> pool_word;
arena<static_storage<5001>, allot::pool<allot::pool_options{
                                .slot = 37, .count = 131, .align = 4, .store = allot::pool_store::bitmap, .recent = 8}>>
    pool_recent;
arena<heap, pool<allot::pool_store::index_stack, 19>> pool_stack{{}, 2001};
arena<static_storage<5001>, pool<allot::pool_store::atomic_bitmap, 131>> pool_atomic;
arena<helpers::handles<>, pool<allot::pool_store::index_stack, 9>> pool_board{helpers::handles<>{supply_of_board}, 999};
arena<heap, pool<allot::pool_store::in_band, 0, 8>, growth::none<>, helpers::checked> pool_list_checked{{}, 2001};
arena<heap, pool<allot::pool_store::index_stack, 19>, growth::none<>, helpers::checked> pool_stack_checked{{}, 2001};
arena<heap, best_fit<>, growth::none<>, helpers::debug> hardened{{}, 8001};
arena<heap, allot::stack<>, growth::none<>, helpers::debug> hardened_stack{{}, 801};
allot::naive<heap, allot::hardening::checked> naive;
arena<heap, best_fit<>> empty_arena{{}, 0};
allot::counted<arena<heap, best_fit<>>> counted_fit{{{}, 3001}};
allot::limited<arena<heap, allot::bump<>>> limited{{{}, 1003}, 700};
allot::tagged<arena<heap, best_fit<>>> tagged{{{}, 5003}};
allot::fallback<arena<heap, pool<allot::pool_store::in_band, 0, 8>>, arena<heap, best_fit<>>&> fallback{{{}, 505}, fit};

// ── values ───────────────────────────────────────────────────────────────────────────────────────────────────────────

allot::layout layout{.size = 77, .align = 32};
allot::extent range{11, 66};
allot::diagnosis diagnosis;
decltype(fit)::block_type block, empty_block;
decltype(board)::block_type board_block;
decltype(hardened)::block_type hardened_block;
allot::tensor_result<int> good{12345}, bad{1};
allot::result<decltype(fit)::block_type, allot::refusal> no_block{
    allot::result<decltype(fit)::block_type, allot::refusal>::failure({})};
allot::dtype dtype = allot::bfloat16;
allot::shape shape{3, 5, 7};
allot::unique_block<decltype(fit)> owner;

using storage_type = allot::storage<decltype(fit)>;
using given_type = allot::storage<decltype(fit), allot::storage_policies<allot::as_given>>;
using board_storage_type = allot::storage<decltype(board)>;
storage_type storage, killed_storage;
given_type given_storage;
board_storage_type board_storage;
allot::tensor_in<storage_type> floats, halves, nibbles, killed, transposed;
allot::tensor_in<given_type> given_tensor;
allot::tensor_in<board_storage_type> board_tensor;
allot::discontiguous_tensor<storage_type, storage_type> rows;
allot::discontiguous_tensor<storage_type, storage_type, allot::row_index<std::uint16_t>> indexed_rows;
allot::discontiguous_tensor<storage_type, board_storage_type, allot::row_offset<>> board_rows;

constexpr allot::plan_buffer planned[] = {
    {.size = 4099, .live = {0, 2}}, {.size = 1021, .live = {1, 3}, .align = 64}, {.size = 77, .live = {2, 5}}};
auto static_plan = allot::plan<planned>();
allot::memory_plan plan;

// ── damaged objects ──────────────────────────────────────────────────────────────────────────────────────────────────

arena<heap, best_fit<>> damaged_header{{}, 2003};
arena<heap, pool<allot::pool_store::in_band, 0, 8>> damaged_list{{}, 1003};
arena<static_storage<1000>, best_fit<table_of_40>> damaged_table;

template <class Type>
struct garbage_of {
    alignas(Type) unsigned char bytes[sizeof(Type)];
};
#define GARBAGE(name)                           \
    garbage_of<decltype(name)> bytes_of_##name; \
    decltype(name)& garbage_##name = reinterpret_cast<decltype(name)&>(bytes_of_##name)
GARBAGE(bump_up);
GARBAGE(bump_steps);
GARBAGE(stack);
GARBAGE(ring);
GARBAGE(fit);
GARBAGE(fit_steps);
GARBAGE(table);
GARBAGE(table_steps);
GARBAGE(boards);
GARBAGE(deferred);
GARBAGE(pool_list);
GARBAGE(pool_steps);
GARBAGE(pool_bitmap);
GARBAGE(pool_stack);
GARBAGE(hardened);
GARBAGE(naive);
GARBAGE(tagged);
GARBAGE(counted_fit);
GARBAGE(board_block);
GARBAGE(good);
GARBAGE(diagnosis);
GARBAGE(shape);
GARBAGE(storage);
GARBAGE(floats);
GARBAGE(board_tensor);
GARBAGE(rows);
GARBAGE(plan);

extern "C" [[gnu::noinline]] void stop_here() { asm volatile("" ::: "memory"); }

namespace {

template <class Block>
std::size_t position(const Block& of) {
    if constexpr (requires { of.address.offset; }) return of.address.offset;
    else return allot::raw_pointer::position(of.address);
}

template <class Arena>
void print_regions(const char* name, const Arena& memory) {
    using model = typename Arena::address_model;
    for (const auto& region : memory.regions())
        if (region) std::printf("%s region %zu %zu\n", name, model::position(region.base), region.size);
}

/// Prints all holes: a child process allocates them.
template <class Arena>
void print_holes(const char* name, Arena& memory) {
    std::fflush(stdout);
    if (const pid_t child = fork(); child != 0) {
        int status = 1;
        if (waitpid(child, &status, 0) != child || status != 0) std::abort();
        return;
    }
    for (;;) {
        const auto largest = static_cast<std::size_t>(memory.diagnose({1, 1}).largest_hole);
        if (largest == 0) break;
        const auto hole = memory.allocate({largest, 1});
        if (!hole) break;
        std::printf("%s hole %zu %zu\n", name, position(hole), memory.capacity(hole));
    }
    std::fflush(stdout);
    _exit(0);
}

template <class Arena, class... Blocks>
void print_blocks(const char* name, const Arena& memory, const Blocks&... live) {
    (std::printf("%s block %zu %zu\n", name, position(live), memory.capacity(live)), ...);
}

/// Allocates blocks, frees every third one, and prints the state.
template <class Arena>
void play(const char* name, Arena& memory, std::vector<std::size_t> sizes) {
    std::vector<typename Arena::block_type> blocks;
    for (const std::size_t size : sizes) blocks.push_back(memory.allocate({size, 4}));
    for (std::size_t i = 0; i != blocks.size(); ++i) {
        if (!blocks[i]) continue;
        if (i % 3 == 1) memory.deallocate(blocks[i]);
        else print_blocks(name, memory, blocks[i]);
    }
    print_regions(name, memory);
    print_holes(name, memory);
}

void play_strategies_with_ends() {
    for (const std::size_t size : {100U, 33U, 1U}) {
        if (!bump_down.allocate({size, 1}) || !bump_up.allocate({size, 8})) std::abort();
    }
    for (int i = 0; i != 5; ++i)
        if (!bump_steps.allocate({350, 1})) std::abort();
    print_regions("bump_steps", bump_steps);
    bump_steps.for_each_hole([](const void* at, std::size_t size) {
        std::printf("bump_steps hole %zu %zu\n", allot::const_pointer::position(at), size);
    });
    const auto low = stack.allocate({100, 1}), high = stack.allocate({201, 4}), gone = stack.allocate({50, 1});
    if (!low || !high || !gone) std::abort();
    stack.deallocate(gone);
    const auto first = ring.allocate({300, 1}), second = ring.allocate({301, 1});
    if (!first || !second) std::abort();
    ring.deallocate(first);
    const auto a = wrapped_ring.allocate({200, 1}), b = wrapped_ring.allocate({250, 1});
    if (!a || !b) std::abort();
    wrapped_ring.deallocate(a);
    if (!wrapped_ring.allocate({60, 1})) std::abort();
    std::printf("ring says 1 block\nwrapped_ring says 2 blocks\n");
    print_regions("bump_down", bump_down);
    print_regions("bump_up", bump_up);
    print_holes("bump_down", bump_down);
    print_holes("bump_up", bump_up);
    print_holes("stack", stack);
    print_holes("ring", ring);
    print_holes("wrapped_ring", wrapped_ring);
}

void play_arenas() {
    const std::vector<std::size_t> sizes{100, 33, 1, 257, 64, 500, 7, 90, 311, 12, 48};
    play("fit", fit, sizes);
    play("fit_embedded", fit_embedded, sizes);
    play("fit_steps", fit_steps, sizes);
    play("table", table, sizes);
    play("table_by_offset", table_by_offset, sizes);
    play("table_steps", table_steps, {900, 33, 2500, 257, 64, 3000, 7});
    play("board", board, sizes);
    play("boards", boards, {500, 33, 700, 257, 64, 500, 7});
    const std::vector<std::size_t> slots(20, 30);
    play("pool_list", pool_list, slots);
    play("pool_limited", pool_limited, slots);
    play("pool_steps", pool_steps, {30, 30, 30, 30, 30, 30, 30, 30, 30});
    play("pool_bitmap", pool_bitmap, std::vector<std::size_t>(70, 37));
    play("pool_word", pool_word, std::vector<std::size_t>(50, 37));
    play("pool_recent", pool_recent, std::vector<std::size_t>(90, 37));
    play("pool_stack", pool_stack, slots);
    play("pool_list_checked", pool_list_checked, slots);
    play("pool_stack_checked", pool_stack_checked, slots);
    play("pool_atomic", pool_atomic, std::vector<std::size_t>(70, 37));
    play("pool_board", pool_board, {30, 30, 30, 30});

    const auto kept = deferred.allocate({100}), freed = deferred.allocate({100}), larger = deferred.allocate({2000}),
               also_freed = deferred.allocate({72});  // too large to be cut together with others
    std::printf("deferred waiting %zu %zu\n", position(freed), deferred.capacity(freed));
    std::printf("deferred waiting %zu %zu\n", position(also_freed), deferred.capacity(also_freed));
    print_blocks("deferred", deferred, kept, larger);
    deferred.deallocate(freed);
    deferred.deallocate(also_freed);
}

/// Calls are numbered from 1, over all allocations and deallocations.
void play_hardened() {
    const auto one = hardened.allocate({33}), two = hardened.allocate({44}), three = hardened.allocate({55});
    hardened.deallocate(two);
    hardened_block = hardened.allocate({1000});
    std::printf("hardened live %zu 33 1\nhardened live %zu 55 3\nhardened live %zu 1000 5\n", position(one),
                position(three), position(hardened_block));
    std::printf("hardened_block says 1000 bytes at %p call 5\n", hardened_block.address);
    print_holes("hardened", hardened);
    const auto low = hardened_stack.allocate({77, 1});
    std::printf("hardened_stack live %zu 77 1\n", position(low));
    print_holes("hardened_stack", hardened_stack);
    for (std::size_t i = 1; i != 30; ++i) {
        const auto each = naive.allocate({i * 3, 1});
        std::printf("naive live %zu %zu %zu\n", position(each), i * 3, i);
    }
}

void play_compositions() {
    const auto one = counted_fit.allocate({100}), two = counted_fit.allocate({301}),
               three = counted_fit.allocate({5000});
    if (three) std::abort();
    counted_fit.deallocate(one);
    const allot::allocator_statistics now = counted_fit.statistics();
    std::printf("counted_fit says %zu block %zu bytes peak %zu %zu requests %zu refused\n", now.count, now.used,
                now.peak, now.requests, now.refusals);
    std::printf("counted_fit says %zu free %zu holes largest %zu\n", now.free, now.holes, now.largest_hole);
    print_blocks("counted_fit", counted_fit, two);
    if (!fallback.allocate({30, 4})) std::abort();
    std::printf("fallback says pool 1 block, 40 best_fit\n");
    if (!limited.allocate({300, 1})) std::abort();
    std::printf("limited says 300 of 700 bytes\n");
    const auto weights = tagged.allocate({400}, "weights"), freed = tagged.allocate({300}, "weights", 77),
               scratch = tagged.allocate({301}, {"scratch", 12}, 0xABC);
    tagged.deallocate(freed);
    std::printf("tagged says 2 blocks, 701 bytes used 2 tags\n");
    std::printf("tagged part block 0 400 bytes %p number 1, weights\n", weights.address);
    std::printf("tagged part block 1 301 bytes %p number 3, scratch:12 0xabc\n", scratch.address);
    tagged.for_each_tag([i = 0](allot::block_tag tag, const allot::allocator_statistics& now) mutable {
        std::printf("tagged part tag %d %s %zu block %zu bytes peak %zu %zu request %zu refused\n", i++, tag.name,
                    now.count, now.used, now.peak, now.requests, now.refusals);
    });
    std::printf("empty_arena says 0 bytes 0 regions\n");
}

void play_values() {
    static decltype(fit) memory{{}, 1003};
    static decltype(board) board_memory{helpers::handles<>{supply_of_board}, 2005};
    block = memory.allocate({13, 4});
    board_block = board_memory.allocate({40, 4});
    owner = allot::allocate_unique(memory, {21, 4});
    diagnosis = fit.diagnose({1'000'000, 4});
    bad = decltype(bad)::failure({allot::tensor_refusal::no_memory, 3, fit.diagnose({1'000'000, 4})});
    no_block = decltype(no_block)::failure(allot::refusal::misaligned);
    std::printf("layout says 77 align 32\nrange says 11 77 66\n");
    std::printf("block says 13 bytes at %p\n", block.address);
    std::printf("board_block says 40 bytes %d + %zu\n", board_block.address.handle, board_block.address.offset);
    std::printf("owner says 21 bytes at %p\n", owner.address());
    std::printf("empty_block says empty\n");
    std::printf("diagnosis says %s %llu\n", diagnosis.what(), static_cast<unsigned long long>(diagnosis.largest_hole));
    std::printf("good says 12345\nbad says no memory row 3 %s\n", bad.error().what());
    std::printf("no_block says error misaligned\n");
    std::printf("dtype says bfloat16\nshape says (3, 5, 7)\n");
}

template <class Tensor>
void print_tensor(const char* name, const Tensor& of, [[maybe_unused]] const char* elements) {
    std::printf("%s says (", name);
    for (std::size_t axis = 0; axis != of.shape().rank(); ++axis)
        std::printf("%s%lld", axis == 0 ? "" : ", ", static_cast<long long>(of.shape()[axis]));
    std::printf(")\n");
    if constexpr (Tensor::host_accessible)
        std::printf("%s says at %p\n%s part elements %s\n", name, of.data(), name, elements);
}

void print_tensors() {
    std::printf("storage says 8195 align 64 at %p\nkilled_storage says killed\n", storage.base());
    std::printf("board_storage says 4097 align 32\n");
    std::printf("given_storage says 1000 align 32 at %p\n", given_storage.base());
    print_tensor("floats", floats, "-1, -0.5, 0, 0.5, 1, 1.5, 2, 2.5, ...");
    print_tensor("halves", halves, "1, -2, 3.14062");
    print_tensor("nibbles", nibbles, "1, 2, 7, -1, -8, 0");
    print_tensor("transposed", transposed, "-0.5, 0, 2, 2.5, 4.5, 5");
    print_tensor("given_tensor", given_tensor, "true, true");
    print_tensor("board_tensor", board_tensor, "");
    std::printf("floats says float32\nhalves says bfloat16\nnibbles says int4\ngiven_tensor says bool\n");
    std::printf("transposed says strides (5, 1)\nkilled says killed\n");
    std::printf("floats part offset 1024\ngiven_tensor part offset 96\nboard_tensor part offset 320\n");
    std::printf("board_tensor says float16 %d + %zu\n", board_tensor.data(), board_tensor.byte_offset());
    std::printf("rows says int32 (4, 3) 4 rows of 12 bytes\n");
    const char* const numbers[] = {"0, -1, -2", "3, 2, 1", "6, 5, 4", "9, 8, 7"};
    for (std::size_t row = 0; row != 4; ++row)
        std::printf("rows part row %zu %p %s\n", row, rows.row(row), numbers[row]);
    std::printf("indexed_rows part row 0 %p 5, 5, 5\n", indexed_rows.row(0));
    std::printf("indexed_rows part row 1 %p 6, 6, 6\n", indexed_rows.row(1));
    for (std::size_t row = 0; row != 2; ++row)
        std::printf("board_rows part row %zu %d + %zu\n", row, board_rows.row(row).handle, board_rows.row(row).offset);
}

void play_tensors() {
    static decltype(fit) memory{{}, 100'003};
    static decltype(board) board_memory{helpers::handles<>{supply_of_board}, 64'007};
    storage = *alloc_storage(memory, 8195, 64);
    killed_storage = *alloc_storage(memory, 100, 64);
    given_storage = *allot::alloc_storage<allot::storage_policies<allot::as_given>>(memory, 1000, 32);
    board_storage = *alloc_storage(board_memory, 4097, 32);
    floats = *alloc_tensor(storage, 1024, {3, 5}, allot::float32);
    for (std::size_t i = 0; i != 15; ++i) static_cast<float*>(floats.data())[i] = static_cast<float>(i) * 0.5F - 1;
    halves = *alloc_tensor(storage, anywhere, {3}, allot::bfloat16);
    const std::uint16_t ones[] = {0x3F80, 0xC000, 0x4049};  // 1, -2, 3.140625
    std::memcpy(halves.data(), ones, sizeof ones);
    nibbles = *alloc_tensor(storage, anywhere, {2, 3}, allot::int4);
    const unsigned char packed[] = {0x21, 0xF7, 0x08};  // the first element is in the lowest bits
    std::memcpy(nibbles.data(), packed, sizeof packed);
    killed = *alloc_tensor(storage, anywhere, {2}, allot::int8);
    killed.kill();
    killed_storage.kill();
    transposed = *slice(floats, {0, 1}, {3, 2});
    given_tensor = *alloc_tensor(given_storage, 96, {2}, allot::boolean);
    std::memset(given_tensor.data(), 1, 2);
    board_tensor = *alloc_tensor(board_storage, 320, {4, 4}, allot::float16);
    rows = *alloc_discontiguous_tensor(storage, 4096, storage, {768, 256, 2304, 3072}, {4, 3}, allot::int32);
    for (int row = 0; row != 4; ++row)
        for (int i = 0; i != 3; ++i)
            static_cast<std::int32_t*>(rows.row(static_cast<std::size_t>(row)))[i] = row * 3 - i;
    indexed_rows = *alloc_discontiguous_tensor<allot::row_index<std::uint16_t>>(
        storage, anywhere, storage, {64 * 80, 64 * 90}, {2, 64}, allot::int8);
    std::memset(indexed_rows.row(0), 5, 64);
    std::memset(indexed_rows.row(1), 6, 64);
    board_rows = *alloc_discontiguous_tensor<allot::row_offset<>>(storage, anywhere, board_storage, {1024, 512}, {2, 8},
                                                                  allot::int16);
    print_tensors();
}

template <class Plan>
void print_plan(const char* name, const Plan& of) {
    std::printf("%s says %s peak %llu\n", name, to_string(of.status), static_cast<unsigned long long>(of.peak));
    for (std::size_t i = 0; i != of.places.size(); ++i) {
        const auto [offset, size] = of.places[i];
        std::printf("%s part buffer %zu [%llu, %llu) %llu\n", name, i, static_cast<unsigned long long>(offset),
                    static_cast<unsigned long long>(offset + size), static_cast<unsigned long long>(size));
    }
}

/// Overwrites records. The debugger shows what it read before and a problem.
void damage() {
    const auto first = damaged_header.allocate({100, 4}), second = damaged_header.allocate({200, 4}),
               third = damaged_header.allocate({300, 4});
    print_blocks("damaged_header", damaged_header, first);
    static_cast<std::size_t*>(third.address)[-1] = 12345;
    std::printf("damaged_header says damaged\n");
    print_blocks("damaged_header", damaged_header, second);

    const auto slot = damaged_list.allocate({30, 4}), next = damaged_list.allocate({30, 4});
    damaged_list.deallocate(slot);
    damaged_list.deallocate(next);
    *static_cast<void**>(slot.address) = next.address;  // slot and next are a circle
    std::printf("damaged_list says circle\n");

    static_cast<void>(damaged_table.allocate({100, 4}));
    static_cast<void>(damaged_table.allocate({200, 4}));
    std::memset(static_cast<void*>(&damaged_table), 0x77, sizeof damaged_table - 1100);  // the records, not the memory
    std::printf("damaged_table says records\n");
}

void fill_garbage(unsigned char value) {
    const auto fill = [&](auto& bytes) {
        for (std::size_t i = 0; i != sizeof bytes; ++i)
            bytes.bytes[i] = value == 1 ? static_cast<unsigned char>(i * 167 + i / 7) : value;
    };
    fill(bytes_of_bump_up), fill(bytes_of_bump_steps), fill(bytes_of_stack), fill(bytes_of_ring), fill(bytes_of_fit);
    fill(bytes_of_fit_steps), fill(bytes_of_table), fill(bytes_of_table_steps), fill(bytes_of_boards);
    fill(bytes_of_deferred), fill(bytes_of_pool_list), fill(bytes_of_pool_steps), fill(bytes_of_pool_bitmap);
    fill(bytes_of_pool_stack), fill(bytes_of_hardened), fill(bytes_of_naive), fill(bytes_of_tagged),
        fill(bytes_of_counted_fit), fill(bytes_of_board_block);
    fill(bytes_of_good), fill(bytes_of_diagnosis), fill(bytes_of_shape), fill(bytes_of_storage), fill(bytes_of_floats);
    fill(bytes_of_board_tensor), fill(bytes_of_rows), fill(bytes_of_plan);
}

}  // namespace

int main(int count, char** arguments) {
    if (count > 1 && !std::freopen(arguments[1], "w", stdout)) return 1;
    play_strategies_with_ends();
    play_arenas();
    play_hardened();
    play_compositions();
    play_values();
    play_tensors();
    plan = *allot::plan({.buffers = planned});
    print_plan("static_plan", static_plan);
    print_plan("plan", plan);
    damage();
    for (int i = 0; i <= static_cast<int>(allot::refusal::pending); ++i)
        std::printf("refusal text %s\n", to_string(static_cast<allot::refusal>(i)));
    std::fflush(stdout);
    for (const unsigned char value : {0xA5, 0xFF, 0x00, 0x01}) {
        fill_garbage(value);
        stop_here();
    }
    _exit(0);  // the damaged objects have no destructor to call
}
