#include <allot/allot.hpp>
#include <allot/tensor.hpp>
#include <allot/plan.hpp>
#include <allot/dma/heap.hpp>
#include <allot/adapt/bad_alloc.hpp>
#include <allot/adapt/memory_resource.hpp>
#include <allot/adapt/std_allocator.hpp>
#include <allot/address/const_pointer.hpp>
#include <allot/address/raw_pointer.hpp>
#include <allot/allot.hpp>
#include <allot/arena/arena.hpp>
#include <allot/arena/growth.hpp>
#include <allot/arena/hardening.hpp>
#include <allot/compose/cached.hpp>
#include <allot/compose/fallback.hpp>
#include <allot/compose/paged.hpp>
#include <allot/compose/synchronized.hpp>
#include <allot/core/allocator.hpp>
#include <allot/core/arithmetic.hpp>
#include <allot/core/block.hpp>
#include <allot/core/communicator.hpp>
#include <allot/core/device.hpp>
#include <allot/core/diagnosis.hpp>
#include <allot/core/layout.hpp>
#include <allot/core/literals.hpp>
#include <allot/core/options.hpp>
#include <allot/core/strategy.hpp>
#include <allot/core/target.hpp>
#include <allot/dma/buffer.hpp>
#include <allot/dma/copy.hpp>
#include <allot/dma/heap.hpp>
#include <allot/dma/u_dma_buf.hpp>
#include <allot/dma/udmabuf.hpp>
#include <allot/host/memory.hpp>
#include <allot/host/pages.hpp>
#include <allot/host/pinned_pages.hpp>
#include <allot/host/shared_memory.hpp>
#include <allot/host/virtual_memory.hpp>
#include <allot/inspect/trace.hpp>
#include <allot/plan.hpp>
#include <allot/plan/check.hpp>
#include <allot/plan/memories.hpp>
#include <allot/plan/memories_problem.hpp>
#include <allot/plan/moves.hpp>
#include <allot/plan/moves_problem.hpp>
#include <allot/plan/pages.hpp>
#include <allot/plan/plan.hpp>
#include <allot/plan/planned.hpp>
#include <allot/plan/problem.hpp>
#include <allot/plan/replan.hpp>
#include <allot/plan/static_memories.hpp>
#include <allot/plan/validate.hpp>
#include <allot/plan/validate_moves.hpp>
#include <allot/plan/validate_pages.hpp>
#include <allot/strategy/best_fit.hpp>
#include <allot/strategy/bump.hpp>
#include <allot/strategy/deferred.hpp>
#include <allot/strategy/pool.hpp>
#include <allot/strategy/ring.hpp>
#include <allot/strategy/stack.hpp>
#include <allot/tensor.hpp>
#include <allot/tensor/detail/storage_body.hpp>
#include <allot/tensor/discontiguous.hpp>
#include <allot/tensor/dlpack.hpp>
#include <allot/tensor/policies.hpp>
#include <allot/tensor/refusal.hpp>
#include <allot/tensor/runs.hpp>
#include <allot/tensor/scope.hpp>
#include <allot/tensor/shape.hpp>
#include <allot/tensor/storage.hpp>
#include <allot/tensor/tensor.hpp>
#include <allot/tensor/texture_shape.hpp>
#include <cstring>
#include <memory>
#include <memory_resource>
#include <string>
#include <vector>
using namespace allot::literals;
using heap_arena = allot::arena<allot::host::heap, allot::best_fit<>>;
struct widget {};
template <class... T> void log(const T&...) {}
template <class... T> void report(const T&...) {}
template <class... T> int complain(const T&...) { return 1; }
void write_register(int, std::uint64_t);
void consumer_takes(void*);
void sample_0() {
#line 1 "adapt/bad_alloc.hpp: what is given"
std::vector<int> values;
#line 1 "adapt/bad_alloc.hpp: its sample"
try { values.resize(1'000'000); }
catch (const allot::bad_alloc& error) { log(error.what(), error.reason().largest_hole); }   // or std::bad_alloc
;
}
void sample_1() {
#line 1 "adapt/memory_resource.hpp: what is given"
#line 1 "adapt/memory_resource.hpp: its sample"
allot::arena<allot::host::heap, allot::best_fit<>> memory{{}, 1_MiB};
allot::memory_resource resource{memory};                       // refers to memory
std::pmr::vector<std::pmr::string> names{&resource};           // both in the arena
;
}
void sample_2() {
#line 1 "adapt/std_allocator.hpp: what is given"
#line 1 "adapt/std_allocator.hpp: its sample"
using memory_type = allot::arena<allot::host::heap, allot::best_fit<>>;
memory_type memory{{}, 1_MiB};
std::vector<int, allot::std_allocator<int, memory_type>> values{memory};       // refers to memory
auto shared = std::allocate_shared<widget>(allot::std_allocator{memory});
;
}
void sample_3() {
#line 1 "address/const_pointer.hpp: what is given"
#line 1 "address/const_pointer.hpp: its sample"
const void* second = allot::const_pointer::locate("ab", 1);
;
}
void sample_4() {
#line 1 "address/raw_pointer.hpp: what is given"
#line 1 "address/raw_pointer.hpp: its sample"
int numbers[4]{};
void* third = allot::raw_pointer::locate(numbers, 2 * sizeof(int));
;
}
void sample_5() {
#line 1 "allot.hpp: what is given"
#line 1 "allot.hpp: its sample"
allot::arena<allot::host::heap, allot::best_fit<>> memory{{}, 1_MiB};
auto block = memory.allocate({.size = 4096, .align = 64});
memory.deallocate(block);
;
}
void sample_6() {
#line 1 "arena/arena.hpp: what is given"
#line 1 "arena/arena.hpp: its sample"
allot::arena<allot::host::static_storage<64_KiB>, allot::bump<>> scratch;
auto block = scratch.allocate({.size = 256, .align = 32});
;
}
void sample_7() {
#line 1 "arena/growth.hpp: what is given"
#line 1 "arena/growth.hpp: its sample"
using heap = allot::arena<allot::host::heap, allot::best_fit<>, allot::growth::geometric<>>;
;
}
void sample_8() {
#line 1 "arena/hardening.hpp: what is given"
#line 1 "arena/hardening.hpp: its sample"
allot::arena<allot::host::heap, allot::best_fit<>, allot::growth::none,
             allot::arena_options{.hardening = allot::hardening::debug}> memory{{}, 1_MiB};
auto block = memory.allocate({.size = 100});
memory.deallocate(block);
;
}
void sample_9() {
#line 1 "compose/cached.hpp: what is given"
#line 1 "compose/cached.hpp: its sample"
allot::naive<allot::cached<allot::host::pages<>>> memory;
;
}
void sample_10() {
#line 1 "compose/fallback.hpp: what is given"
heap_arena tightly_coupled{{}, 1_KiB}, ddr{{}, 1_MiB};
#line 1 "compose/fallback.hpp: its sample"
allot::fallback memory{tightly_coupled, ddr};       // refers to both allocators
auto block = memory.allocate({.size = 4096});       // the block records its allocator
;
}
void sample_11() {
#line 1 "compose/paged.hpp: what is given"
using rows_of = allot::pool<allot::pool_options{.slot = 2048}>;
using row_arena = allot::arena<allot::host::heap, rows_of>;
using table_arena = heap_arena;
row_arena rows{{}, 1_MiB};
table_arena tables{{}, 1_MiB};
#line 1 "compose/paged.hpp: its sample"
allot::paged<row_arena&, table_arena&, allot::pointer_table<2048>> tensors{rows, tables};
auto tensor = tensors.allocate({.size = 10'000, .align = 128});      // five rows, not adjacent
auto byte = allot::pointer_table<2048>::locate(tensor.address, 4711);
;
}
int sample_12() {
#line 1 "compose/synchronized.hpp: what is given"
#line 1 "compose/synchronized.hpp: its sample"
using shared_memory = allot::arena<allot::host::static_storage<64_KiB>, allot::best_fit<>>;
allot::synchronized<shared_memory, allot::spin_lock> memory;
auto block = memory.allocate({.size = 256});                                  // locks during the call
auto grown = memory.locked([&](auto& arena) { return arena.resize(block, 512); });  // any other function
;
return 0;
}
namespace sample_13 {
#line 1 "core/allocator.hpp: its sample"
template <allot::allocator Allocator>
[[nodiscard]] auto alloc_page(Allocator& memory) noexcept { return memory.allocate({4096, 4096}); }
;
}
void sample_14() {
#line 1 "core/arithmetic.hpp: what is given"
#line 1 "core/arithmetic.hpp: its sample"
std::size_t count = 1000, bytes = 0;
if (!allot::checked_multiply(count, sizeof(float), bytes)) log("the array is too large");
;
}
void sample_15() {
#line 1 "core/block.hpp: what is given"
#line 1 "core/block.hpp: its sample"
allot::arena<allot::host::heap, allot::best_fit<>> arena{{}, 64_KiB};
auto block = arena.allocate({.size = 256, .align = 32});
if (block) std::memset(block.address, 0, block.size);
arena.deallocate(block);
;
}
void sample_16() {
#line 1 "core/communicator.hpp: what is given"
#line 1 "core/communicator.hpp: its sample"
struct my_ranks {
    int rank() const noexcept;                                    // 0 … size() - 1
    int size() const noexcept;
    long maximum(std::span<std::uint64_t> values) noexcept;       // collective; 0 or an error code
};
;
}
namespace sample_17 {
#line 1 "core/device.hpp: its sample"
struct my_memory {
    using address_model = allot::raw_pointer;
    using error = int;                                            // the type of error codes
    static constexpr bool host_accessible = true;                 // can the host read and write the bytes?
    static constexpr auto offsets = allot::offset_use::arithmetic;
    static constexpr std::size_t min_align = 64;                  // alignment of every region
    static constexpr std::size_t granularity = 4096;              // regions are multiples of it
    static constexpr auto dl_device = allot::dl_device_type::cpu;  // device type in DLPack
    allot::acquired<my_memory> acquire(allot::layout) noexcept;   // a region or an error
    void release(allot::region<void*>) noexcept;                  // an acquired region, unchanged
};
;
}
void sample_18() {
#line 1 "core/diagnosis.hpp: what is given"
heap_arena arena{{}, 1_MiB};
allot::layout wanted{64};
#line 1 "core/diagnosis.hpp: its sample"
if (auto block = arena.allocate(wanted); !block) log(arena.diagnose(wanted).what());
;
}
void sample_19() {
#line 1 "core/layout.hpp: what is given"
#line 1 "core/layout.hpp: its sample"
constexpr allot::layout page{.size = 4096, .align = 256};
;
}
void sample_20() {
#line 1 "core/literals.hpp: what is given"
#line 1 "core/literals.hpp: its sample"
using namespace allot::literals;
allot::arena<allot::host::static_storage<64_KiB>, allot::bump<>> scratch;
;
}
namespace sample_21 {
#line 1 "core/options.hpp: its sample"
inline constexpr allot::pool_options packets{.slot = 128, .count = 64, .store = allot::pool_store::bitmap};
inline constexpr allot::best_fit_options tensors{.records = 64, .largest_extent = 256_KiB};
using packet_pool = allot::arena<allot::host::static_storage<8_KiB>, allot::pool<packets>>;
;
}
void sample_22() {
#line 1 "core/strategy.hpp: what is given"
#line 1 "core/strategy.hpp: its sample"
allot::best_fit<> disk;                                   // manages blocks of a disk
disk.insert({.offset = 1000, .size = 1'000'000});         // the blocks that it manages
auto file = disk.allocate({.size = 40, .align = 8});      // file.where.offset: 1000
disk.deallocate(file);
;
}
void sample_23() {
#line 1 "core/target.hpp: what is given"
#line 1 "core/target.hpp: its sample"
constexpr allot::best_fit_options as_by_default{.prefer_size = allot::is_microcontroller};
;
}
int sample_24() {
#line 1 "dma/buffer.hpp: what is given"
char from[4096]{};
#line 1 "dma/buffer.hpp: its sample"
allot::arena<allot::dma::heap<"reserved">, allot::best_fit<>> memory{{}, 8_MiB};
const auto block = memory.allocate({.size = 4096, .align = 32});
const allot::dma::buffer buffer = memory.device().buffer_of(block.address);     // descriptor, offset, whole size
{
    const auto access = memory.device().access(block.address, block.size, allot::dma::cpu_use::write);
    if (!access) return access.error();                                        // errno
    std::memcpy(block.address, from, block.size);
}                                                                              // the caches are written back
;
return 0;
}
void sample_25() {
#line 1 "dma/copy.hpp: what is given"
heap_arena arena{{}, 1_MiB};
auto data = *allot::alloc_storage(arena, 8192, 128);
auto host = *allot::alloc_tensor(data, 0, {4}, allot::int32);
allot::arena<allot::dma::heap<"reserved">, allot::best_fit<>> memory{{}, 8_MiB};
auto &one = memory, &another = memory;
auto device_data = *allot::alloc_storage(memory, 4096);
auto in_dma_memory = *allot::alloc_tensor(device_data, 0, {4}, allot::int32);
auto in_one = in_dma_memory, in_another = in_dma_memory;
#line 1 "dma/copy.hpp: its sample"
auto copied = allot::copy_tensor(host, in_dma_memory, allot::dma::mapped_copy{memory.device()});
auto moved = allot::copy_tensor(in_one, in_another, allot::dma::mapped_copy{one.device(), another.device()});
;
}
void sample_26() {
#line 1 "dma/heap.hpp: what is given"
#line 1 "dma/heap.hpp: its sample"
allot::arena<allot::dma::heap<"system">, allot::best_fit<>> scattered{{}, 8_MiB};
using contiguous = allot::dma::heap<"reserved", allot::dma::heap_options{.contiguous = true}>;
allot::arena<contiguous, allot::best_fit<>> memory{{}, 8_MiB};
auto block = memory.allocate({.size = 4096});
memory.device().buffer_of(block.address);      // the descriptor and the offset for a driver: see dma::buffer
;
}
void sample_27() {
#line 1 "dma/u_dma_buf.hpp: what is given"
int source = 0;
#line 1 "dma/u_dma_buf.hpp: its sample"
allot::arena<allot::dma::u_dma_buf<>, allot::best_fit<>> memory{allot::dma::u_dma_buf<>{"udmabuf0"}};
const auto block = memory.allocate({.size = 4096, .align = 64});
write_register(source, *memory.device().bus_address(block.address));
const auto access = memory.device().access(block.address, block.size, allot::dma::cpu_use::write);
;
}
void sample_28() {
#line 1 "dma/udmabuf.hpp: what is given"
#line 1 "dma/udmabuf.hpp: its sample"
allot::arena<allot::dma::udmabuf<>, allot::best_fit<>> memory{{}, 8_MiB};
auto block = memory.allocate({.size = 4096});
memory.device().buffer_of(block.address);      // the descriptor and the offset for a driver: see dma::buffer
;
}
void sample_29() {
#line 1 "host/memory.hpp: what is given"
#line 1 "host/memory.hpp: its sample"
alignas(64) static std::byte bytes[4096];
allot::arena<allot::host::heap, allot::best_fit<>> on_heap{{}, 1_MiB};
allot::arena<allot::host::buffer, allot::bump<>> in_bytes{allot::host::buffer{bytes}};
static allot::arena<allot::host::static_storage<64_KiB>, allot::bump<>> in_object;
;
}
void sample_30() {
#line 1 "host/pages.hpp: what is given"
#line 1 "host/pages.hpp: its sample"
allot::arena<allot::host::pages<>, allot::best_fit<>> memory{{}, 64_MiB};
allot::host::pages<allot::host::pages_options{.huge = allot::host::huge_pages::required}> device;
;
}
void sample_31() {
#line 1 "host/pinned_pages.hpp: what is given"
#line 1 "host/pinned_pages.hpp: its sample"
allot::arena<allot::host::pinned_pages, allot::best_fit<>> memory{{}, 1_MiB};
if (memory.size() == 0) report(memory.diagnose({.size = 1}).device_error, allot::host::pinned_pages::limit());
;
}
void sample_32() {
#line 1 "host/shared_memory.hpp: what is given"
int socket = 0;
#line 1 "host/shared_memory.hpp: its sample"
auto memory = allot::host::shared_memory::create(64_MiB);                    // in one process
memory->send(socket);
auto same = allot::host::shared_memory::receive(socket);                     // in the other process
auto named = allot::host::shared_memory::create("/frames", 64_MiB);          // or: open("/frames") elsewhere
;
}
void sample_33() {
#line 1 "host/virtual_memory.hpp: what is given"
#line 1 "host/virtual_memory.hpp: its sample"
using memory = allot::arena<allot::host::virtual_memory, allot::best_fit<>, allot::growth::contiguous<>>;
memory arena{allot::host::virtual_memory{64_GiB}};                  // reserves addresses, not memory
memory other{allot::host::virtual_memory::up_to(64_GiB)};           // fewer if the process has a limit
;
}
int sample_34() {
#line 1 "inspect/trace.hpp: what is given"
std::vector<std::byte> bytes;
#line 1 "inspect/trace.hpp: its sample"
auto read = allot::read_trace(bytes);
if (!read) return complain(read.error().what(), read.error().position);
for (const allot::trace_operation& each : read->operations) {}
;
return 0;
}
void sample_35() {
#line 1 "plan/check.hpp: what is given"
static constexpr allot::plan_buffer buffers[] = {{.size = 4096, .live = {0, 2}}, {.size = 1024, .live = {1, 3}}};
const allot::plan_problem problem{.buffers = buffers};
#line 1 "plan/check.hpp: its sample"
if (auto error = allot::check_problem(problem); error.reason != allot::plan_refusal::none)
    report(error.reason, error.which);
;
}
void sample_36() {
#line 1 "plan/memories.hpp: what is given"
static constexpr allot::plan_buffer buffers[] = {{.size = 4096, .live = {0, 2}}, {.size = 1024, .live = {1, 3}}};
#line 1 "plan/memories.hpp: its sample"
// fast; slow and unbounded
allot::plan_memory memories[] = {{.capacity = 768_KiB, .align = 128, .cost = 0}, {.cost = 1}};
auto made = allot::plan_memories({.buffers = {.buffers = buffers}, .memories = memories});
if (!made) {}                                            // the problem is invalid: made.error()
made->places[1].memory; made->places[1].offset; made->cost; made->spilled; made->status;
;
}
void sample_37() {
#line 1 "plan/memories_problem.hpp: what is given"
#line 1 "plan/memories_problem.hpp: its sample"
static constexpr allot::plan_buffer tensors[] = {{.size = 512, .live = {0, 4}}, {.size = 768, .live = {1, 2}}};
static constexpr allot::plan_memory chip[] = {{.capacity = 1024, .align = 128}, {.cost = 1}};
static constexpr std::uint64_t times[] = {10, 1};
const allot::memories_problem network{.buffers = {.buffers = tensors}, .memories = chip, .uses = times};
;
}
void sample_38() {
#line 1 "plan/moves.hpp: what is given"
static constexpr allot::plan_buffer buffers[] = {{.size = 4096, .live = {0, 2}}, {.size = 1024, .live = {1, 3}}};
#line 1 "plan/moves.hpp: its sample"
// fast; slow and unbounded
allot::plan_memory memories[] = {{.capacity = 768_KiB}, {.cost = 1}};
allot::plan_access accesses[] = {{.buffer = 0, .step = 0, .writes = true}, {.buffer = 0, .step = 9}};
auto made = allot::plan_moves({{.buffers = {.buffers = buffers}, .memories = memories}, accesses});
if (!made) {}                                            // the problem is invalid: made.error()
made->piece_of[1];                                      // the piece that accesses[1] uses
for (const allot::plan_copy& copy : made->copies) {}     // from made->pieces[copy.from] to made->pieces[copy.to]
;
}
void sample_39() {
#line 1 "plan/moves_problem.hpp: what is given"
#line 1 "plan/moves_problem.hpp: its sample"
static constexpr allot::plan_buffer tensors[] = {{.size = 600, .live = {0, 10}}, {.size = 800, .live = {3, 7}}};
static constexpr allot::plan_memory chip[] = {{.capacity = 1000}, {.cost = 1}};
static constexpr allot::plan_access used[] = {{0, 0, true}, {0, 1}, {1, 3, true}, {1, 6}, {0, 9}};
const allot::moves_problem network{{.buffers = {.buffers = tensors}, .memories = chip}, used};
;
}
void sample_40() {
#line 1 "plan/pages.hpp: what is given"
#line 1 "plan/pages.hpp: its sample"
static constexpr allot::plan_buffer frames[] = {{.size = 8192, .live = {0, 2}}, {.size = 4096, .live = {1, 3}}};
const allot::plan_problem problem{.buffers = frames};
std::vector<std::uint32_t> first(problem.buffers.size() + 1), pages(*allot::pages_in_all(problem, 4096));
allot::plan_heap workspace{allot::pages_space(problem)};
const auto count = allot::plan_pages(problem, 4096, first, pages, workspace);    // pages needed: 3
pages[first[1]];                                                                 // first page of buffer 1
;
}
void sample_41() {
#line 1 "plan/plan.hpp: what is given"
#line 1 "plan/plan.hpp: its sample"
allot::plan_buffer buffers[] = {{.size = 4096, .live = {0, 2}}, {.size = 1024, .live = {1, 3}, .align = 64}};
auto made = allot::plan({.buffers = buffers}, {.capacity = 64_KiB});
if (!made) {}                                            // the problem is invalid: made.error()
made->places[1].offset; made->peak; made->bound; made->status;
allot::arena<allot::host::heap, allot::planned<>> memory{{}, *made};        // planned.hpp
;
}
void sample_42() {
#line 1 "plan/planned.hpp: what is given"
#line 1 "plan/planned.hpp: its sample"
static constexpr allot::plan_buffer buffers[] = {{.size = 1000, .live = {0, 2}},
                                                 {.size = 500, .live = {1, 3}, .align = 64}};
static constexpr auto layout = allot::plan<buffers>();                      // computed in a constant expression
allot::arena<allot::host::static_storage<layout.peak, layout.align>, allot::planned<layout>> memory;
auto input = memory.at<0>();                                                // 1000 bytes at layout.places[0]
;
}
void sample_43() {
#line 1 "plan/problem.hpp: what is given"
#line 1 "plan/problem.hpp: its sample"
static constexpr allot::plan_buffer steps[] = {{.size = 600, .live = {0, 3}, .align = 4},
                                               {.size = 300, .live = {2, 5}, .align = 8}};
static constexpr allot::plan_pair in_place[] = {{0, 1}};     // both at one offset
const allot::plan_problem network{.buffers = steps, .together = in_place};
;
}
void sample_44() {
#line 1 "plan/replan.hpp: what is given"
static constexpr allot::plan_buffer buffers[] = {{.size = 4096, .live = {0, 2}}, {.size = 1024, .live = {1, 3}}};
const allot::plan_problem problem{.buffers = buffers};
#line 1 "plan/replan.hpp: its sample"
auto made = allot::plan(problem);                      // later, buffers[7] has grown:
auto again = allot::replan(problem, made->places, 4);  // places it anywhere, and moves at most four others
if (!again) {}                                          // invalid, or more moves are necessary: again.error()
again->places; again->peak; again->moved; again->status;
;
}
void sample_45() {
#line 1 "plan/static_memories.hpp: what is given"
#line 1 "plan/static_memories.hpp: its sample"
static constexpr allot::plan_buffer buffers[] = {{.size = 4096, .live = {0, 2}}, {.size = 9216, .live = {1, 3}}};
static constexpr allot::plan_memory memories[] = {{.capacity = 4_KiB}, {.capacity = 12_KiB, .cost = 1}};
static constexpr allot::memories_problem network{.buffers = {.buffers = buffers}, .memories = memories};
static constexpr auto layout = allot::plan_memories<network>();
static constexpr auto in_fast = layout.in(0), in_slow = layout.in(1);
static allot::arena<allot::host::static_storage<4_KiB>, allot::planned<in_fast>> fast;
static allot::arena<allot::host::static_storage<12_KiB>, allot::planned<in_slow>> slow;
fast.at<0>(), slow.at<1>()                               // empty if the buffer lives in another memory
;
}
void sample_46() {
#line 1 "plan/validate.hpp: what is given"
#line 1 "plan/validate.hpp: its sample"
static constexpr allot::plan_buffer frames[] = {{.size = 64, .live = {0, 2}}, {.size = 64, .live = {1, 3}}};
const allot::plan_problem problem{.buffers = frames};
const std::uint64_t offsets[] = {0, 64};
allot::plan_heap workspace{allot::validate_space(problem)};
const auto found = allot::validate(problem, offsets, 128, workspace);
if (found.kind != allot::plan_violation_kind::none) report(found.kind, found.first, found.second);
;
}
int sample_47() {
#line 1 "plan/validate_moves.hpp: what is given"
#line 1 "plan/validate_moves.hpp: its sample"
static constexpr allot::plan_buffer tensors[] = {{.size = 600, .live = {0, 9}}, {.size = 800, .live = {3, 7}}};
static constexpr allot::plan_memory chip[] = {{.capacity = 1000}, {.cost = 1}};
static constexpr allot::plan_access used[] = {{0, 0, true}, {1, 3, true}, {1, 6}, {0, 8}};
const allot::moves_problem problem{{.buffers = {.buffers = tensors}, .memories = chip}, used};
const auto made = allot::plan_moves(problem);
if (!made) return complain(made.error());
const auto found = allot::validate_moves(problem, *made);
return found.kind == allot::moves_violation_kind::none ? 0 : complain(found.which);
;
return 0;
}
void sample_48() {
#line 1 "plan/validate_pages.hpp: what is given"
#line 1 "plan/validate_pages.hpp: its sample"
static constexpr allot::plan_buffer frames[] = {{.size = 8192, .live = {0, 2}}, {.size = 4096, .live = {2, 3}}};
const allot::plan_problem problem{.buffers = frames};
const std::uint32_t first[] = {0, 2, 3}, pages[] = {0, 1, 0};        // buffer 0: pages 0 and 1; buffer 1: page 0
allot::plan_heap workspace{allot::validate_pages_space(problem, 2)};
const auto found = allot::validate_pages(problem, 4096, first, pages, 2, workspace);
if (found.kind != allot::pages_violation_kind::none) report(found.kind, found.first, found.second);
;
}
void sample_49() {
#line 1 "plan.hpp: what is given"
#line 1 "plan.hpp: its sample"
static constexpr allot::plan_buffer buffers[] = {{.size = 4096, .live = {0, 2}}, {.size = 1024, .live = {1, 3}}};
const allot::plan_problem problem{.buffers = buffers};
;
}
void sample_50() {
#line 1 "strategy/best_fit.hpp: what is given"
#line 1 "strategy/best_fit.hpp: its sample"
allot::arena<allot::host::heap, allot::best_fit<>> memory{{}, 16_MiB};
auto block = memory.allocate({.size = 3000, .align = 64});
memory.deallocate(block);
;
}
void sample_51() {
#line 1 "strategy/bump.hpp: what is given"
#line 1 "strategy/bump.hpp: its sample"
allot::arena<allot::host::static_storage<64_KiB>, allot::bump<>> scratch;
const auto before = scratch.mark();
auto block = scratch.allocate({.size = 256, .align = 32});
scratch.rollback(before);  // frees the block
;
}
void sample_52() {
#line 1 "strategy/deferred.hpp: what is given"
#line 1 "strategy/deferred.hpp: its sample"
using fast = allot::arena<allot::host::heap, allot::deferred<allot::best_fit<>>>;
;
}
void sample_53() {
#line 1 "strategy/pool.hpp: what is given"
#line 1 "strategy/pool.hpp: its sample"
using packets = allot::pool<allot::pool_options{.slot = 128}>;
;
}
void sample_54() {
#line 1 "strategy/ring.hpp: what is given"
#line 1 "strategy/ring.hpp: its sample"
allot::arena<allot::host::static_storage<64_KiB>, allot::ring<>> messages;
auto first = messages.allocate({.size = 256});
auto second = messages.allocate({.size = 100});
messages.deallocate(first);
messages.deallocate(second);
;
}
void sample_55() {
#line 1 "strategy/stack.hpp: what is given"
#line 1 "strategy/stack.hpp: its sample"
allot::arena<allot::host::static_storage<64_KiB>, allot::stack<>> memory;
auto outer = memory.allocate({.size = 256});
auto inner = memory.allocate({.size = 64, .align = 16});
memory.deallocate(inner);
memory.deallocate(outer);
;
}
void sample_56() {
#line 1 "tensor/detail/storage_body.hpp: what is given"
#line 1 "tensor/detail/storage_body.hpp: its sample"
allot::arena<allot::host::heap, allot::best_fit<>> heap{{}, 65536};
using uncounted = allot::storage_policies<allot::best_fit<>, allot::references::none<>>;
allot::storage_body<decltype(heap), uncounted> body;                    // outlives its tensors
auto data = *allot::alloc_storage(body, heap, 4096);
;
}
void sample_57() {
#line 1 "tensor/discontiguous.hpp: what is given"
heap_arena arena{{}, 1_MiB};
auto data = *allot::alloc_storage(arena, 8192, 128);
auto table = *allot::alloc_storage(arena, 256);
#line 1 "tensor/discontiguous.hpp: its sample"
auto a = *allot::alloc_discontiguous_tensor(table, 0, data, {768, 256, 2304, 3072}, {4, 64}, allot::int32);
auto b = *allot::alloc_discontiguous_tensor<allot::row_offset<>>(table, 64, data, allot::anywhere, {4, 64},
                                                                  allot::int32);
;
}
void sample_58() {
#line 1 "tensor/dlpack.hpp: what is given"
heap_arena arena{{}, 1_MiB};
auto data = *allot::alloc_storage(arena, 8192, 128);
auto t = *allot::alloc_tensor(data, 0, {4}, allot::int32);
auto producer_gives = [] { return decltype(allot::dlpack_pointer{}.release()){}; };
#line 1 "tensor/dlpack.hpp: its sample"
allot::dlpack_pointer shared = *allot::to_dlpack(t);             // a result: check it first
consumer_takes(shared.release());                                // DLManagedTensorVersioned*: theirs to delete
;
}
void sample_59() {
#line 1 "tensor/policies.hpp: what is given"
heap_arena arena{{}, 1_MiB};
#line 1 "tensor/policies.hpp: its sample"
using on_threads = allot::storage_policies<allot::best_fit<>, allot::references::atomic>;
using by_planner = allot::storage_policies<allot::as_given>;
auto data = allot::alloc_storage<by_planner>(arena, 4096);
;
}
void sample_60() {
#line 1 "tensor/refusal.hpp: what is given"
heap_arena arena{{}, 1_MiB};
auto storage = *allot::alloc_storage(arena, 4096);
#line 1 "tensor/refusal.hpp: its sample"
auto t = allot::alloc_tensor(storage, 100, {4, 64}, allot::int32);
if (!t) log(t.error().what());                       // "the offset or address is not aligned as required"
;
}
void sample_61() {
#line 1 "tensor/runs.hpp: what is given"
heap_arena arena{{}, 1_MiB};
auto data = *allot::alloc_storage(arena, 8192, 128);
auto tensor = *allot::alloc_tensor(data, 0, {4}, allot::int32);
long sum = 0;
auto checksum = [](void*, std::size_t) { return 1; };
#line 1 "tensor/runs.hpp: its sample"
auto why = allot::for_each_run(tensor, [&](auto at, std::size_t bytes) noexcept { sum += checksum(at, bytes); });
;
}
int sample_62() {
#line 1 "tensor/scope.hpp: what is given"
heap_arena heap{{}, 1_MiB}, first_core{{}, 1_MiB}, second_core{{}, 1_MiB};
unsigned ordinal = 0;
#line 1 "tensor/scope.hpp: its sample"
allot::scope_map memories{allot::in_scope<allot::scope::global>(heap),
                          allot::in_scope<allot::scope::vtcm>(first_core),
                          allot::in_scope<allot::scope::vtcm, 1>(second_core)};
auto& arena = memories.get<allot::scope::vtcm, 1>();                  // chosen by the compiler
memories.visit("global.vtcm", ordinal, [](auto& arena) { return allot::tensor_result<int>{1}; });        // chosen at run time
;
return 0;
}
void sample_63() {
#line 1 "tensor/shape.hpp: what is given"
#line 1 "tensor/shape.hpp: its sample"
allot::shape logical{2, 2, 8, 8};
auto physical = allot::physical_shape(logical, {2});        // axes 0–1 and 2–3 become one each: (4, 64)
;
}
void sample_64() {
#line 1 "tensor/storage.hpp: what is given"
heap_arena arena{{}, 1_MiB};
allot::scope_map memories{allot::in_scope<allot::scope::vtcm>(arena)};
#line 1 "tensor/storage.hpp: its sample"
auto data = *allot::alloc_storage(arena, 4096, 128);                    // bytes, alignment of every tensor
auto a = *allot::alloc_tensor(data, 1024, {4, 64}, allot::int32);       // tensor.hpp
auto more = *allot::alloc_storage<allot::scope::vtcm>(memories, {4, 64}, allot::float32, 2048);
;
}
void sample_65() {
#line 1 "tensor/tensor.hpp: what is given"
heap_arena arena{{}, 1_MiB};
auto data = *allot::alloc_storage(arena, 8192, 128);
#line 1 "tensor/tensor.hpp: its sample"
auto a = *allot::alloc_tensor(data, 1024, {4, 64}, allot::int32);                  // offset from a planner
auto b = *allot::alloc_tensor(data, allot::anywhere, {4, 64}, allot::float16);     // offset from a search
auto bits = *allot::view(b, allot::uint16, {256});                                 // other dtype and shape
auto rows = *allot::slice(a, {1, 0}, {2, 64});                                     // a part, with a's strides
a.kill();                                       // drops this reference; bytes that a view uses stay allocated
;
}
void sample_66() {
#line 1 "tensor/texture_shape.hpp: what is given"
#line 1 "tensor/texture_shape.hpp: its sample"
constexpr auto image = *allot::texture_of<allot::scope::texture>({1, 8, 32, 30, 4});      // 30 × 256 pixels
auto bytes = allot::texture_bytes(image, allot::float16, 64);                             // rows of 64 pixels
;
}
void sample_67() {
#line 1 "tensor.hpp: what is given"
#line 1 "tensor.hpp: its sample"
allot::arena<allot::host::heap, allot::best_fit<>> memory{{}, 1_MiB};
auto storage = allot::alloc_storage(memory, 4096, 256);
if (!storage) log(storage.error().what());
;
}
