// OpenCL on the installed driver: a block is a cl_mem and an offset, and a kernel takes both.
#include <allot/allot.hpp>
#include <allot/opencl/buffer.hpp>
#include <allot/opencl/imported.hpp>
#include <allot/opencl/svm.hpp>
#include <allot/opencl/texture_pool.hpp>
#include <allot/tensor.hpp>

#include "installed.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace {

using namespace allot::literals;
using allot::refusal;
using tests::opencl;
using tests::run;

allot::opencl::buffer buffers() { return {opencl().context, opencl().device}; }

constexpr const char* source = R"(
__kernel void fill(__global uchar* base, ulong offset, uchar seed) {
    base[offset + get_global_id(0)] = (uchar)(seed + get_global_id(0) * 7);
}
__kernel void add(__global const uchar* from, ulong from_offset, __global uchar* to, ulong to_offset) {
    to[to_offset + get_global_id(0)] += from[from_offset + get_global_id(0)];
}
)";

cl::Kernel kernel(const char* name) { return tests::kernel(source, name); }

using bytes = std::vector<unsigned char>;

void write(cl_mem buffer, const bytes& what) {
    REQUIRE(::clEnqueueWriteBuffer(opencl().queue(), buffer, CL_TRUE, 0, what.size(), what.data(), 0, nullptr,
                                   nullptr) == CL_SUCCESS);
}
bytes read(cl_mem buffer, std::size_t size) {
    bytes what(size);
    REQUIRE(::clEnqueueReadBuffer(opencl().queue(), buffer, CL_TRUE, 0, size, what.data(), 0, nullptr, nullptr) ==
            CL_SUCCESS);
    return what;
}
unsigned char filled(unsigned char seed, std::size_t item) { return static_cast<unsigned char>(seed + item * 7); }

template <class Strategy>
using arena = allot::arena<allot::opencl::buffer, Strategy>;

}  // namespace

TEST_CASE("opencl set_arg: a kernel writes to the block only") {
    constexpr std::size_t size = 64_KiB;
    arena<allot::best_fit<>> memory{buffers(), size};
    REQUIRE(memory.size() == size);
    const cl_mem buffer = memory.regions()[0].base.handle;
    const auto before = memory.allocate({1000, 64});
    const auto block = memory.allocate({777, 64});
    const auto after = memory.allocate({1000, 64});
    REQUIRE((before && block && after));
    CHECK(block.address.handle == buffer);
    CHECK(block.address.offset > 0);
    CHECK(block.address.offset % 64 == 0);

    write(buffer, bytes(size, 0xEE));
    cl::Kernel fill = kernel("fill");
    REQUIRE(allot::opencl::set_arg(fill, 0, block) == CL_SUCCESS);
    REQUIRE(fill.setArg(2, cl_uchar{42}) == CL_SUCCESS);
    run(fill, block.size);

    const bytes result = read(buffer, size);
    for (std::size_t i = 0; i != size; ++i) {
        const bool inside = i >= block.address.offset && i < block.address.offset + block.size;
        REQUIRE(result[i] == (inside ? filled(42, i - block.address.offset) : 0xEE));
    }
}

TEST_CASE("opencl set_arg: passes the buffer and offset of a tensor or a view") {
    arena<allot::best_fit<>> memory{buffers(), 8_KiB};
    const auto data = *allot::alloc_storage(memory, 4096, 64);
    const auto whole = *allot::alloc_tensor(data, 1024, {16, 64}, allot::uint8);
    const auto rows = *allot::slice(whole, {3, 0}, {2, 64});
    write(whole.data(), bytes(8_KiB, 0xEE));
    const auto fill = [](const auto& tensor, unsigned char seed) {
        cl::Kernel call = kernel("fill");
        REQUIRE(allot::opencl::set_arg(call, 0, tensor) == CL_SUCCESS);
        REQUIRE(call.setArg(2, cl_uchar{seed}) == CL_SUCCESS);
        run(call, tensor.size_bytes());
    };
    fill(whole, 1);
    fill(rows, 99);
    const bytes result = read(whole.data(), 8_KiB);
    const std::size_t first = whole.byte_offset(), in_slice = first + 3 * 64;
    for (std::size_t i = 0; i != result.size(); ++i) {
        const bool in_rows = i >= in_slice && i < in_slice + 128, in_whole = i >= first && i < first + 1024;
        REQUIRE(result[i] == (in_rows ? filled(99, i - in_slice) : in_whole ? filled(1, i - first) : 0xEE));
    }
}

TEST_CASE("opencl set_arg: a kernel takes two blocks of one buffer or of two") {
    arena<allot::best_fit<>> one{buffers(), 8_KiB}, two{buffers(), 8_KiB};
    const auto skipped = one.allocate({100, 64});
    const auto a = one.allocate({500, 64}), b = one.allocate({500, 64});
    const auto c = two.allocate({500, 64});
    REQUIRE((skipped && a && b && c));
    CHECK(a.address.handle == b.address.handle);
    CHECK(a.address.handle != c.address.handle);
    const auto fill = [](const auto& block, unsigned char seed) {
        cl::Kernel call = kernel("fill");
        REQUIRE(allot::opencl::set_arg(call, 0, block) == CL_SUCCESS);
        REQUIRE(call.setArg(2, cl_uchar{seed}) == CL_SUCCESS);
        run(call, block.size);
    };
    const auto add = [](const auto& from, const auto& to) {
        cl::Kernel call = kernel("add");
        REQUIRE(allot::opencl::set_arg(call, 0, from) == CL_SUCCESS);
        REQUIRE(allot::opencl::set_arg(call, 2, to) == CL_SUCCESS);
        run(call, from.size);
    };
    fill(a, 1);
    fill(b, 2);
    fill(c, 3);
    add(a, b);
    add(b, c);
    const bytes first = read(a.address.handle, 8_KiB), second = read(c.address.handle, 8_KiB);
    for (std::size_t i = 0; i != 500; ++i) {
        const auto sum = static_cast<unsigned char>(filled(1, i) + filled(2, i));
        REQUIRE(first[a.address.offset + i] == filled(1, i));
        REQUIRE(first[b.address.offset + i] == sum);
        REQUIRE(second[c.address.offset + i] == static_cast<unsigned char>(sum + filled(3, i)));
    }
}

TEST_CASE("opencl: blocks of every strategy and of several regions do not overlap") {
    const auto writes_apart = [](auto memory) {
        std::vector<typename decltype(memory)::block_type> blocks;
        for (std::size_t i = 0; i != 12; ++i) {
            blocks.push_back(memory.allocate({300 + i, 64}));
            REQUIRE(blocks.back());
            cl::Kernel fill = kernel("fill");
            REQUIRE(allot::opencl::set_arg(fill, 0, blocks.back()) == CL_SUCCESS);
            REQUIRE(fill.setArg(2, static_cast<cl_uchar>(i)) == CL_SUCCESS);
            run(fill, blocks.back().size);
        }
        for (std::size_t i = 0; i != blocks.size(); ++i) {
            const auto& at = blocks[i].address;
            const bytes buffer = read(at.handle, at.offset + blocks[i].size);
            for (std::size_t n = 0; n != blocks[i].size; ++n)
                REQUIRE(buffer[at.offset + n] == filled(static_cast<unsigned char>(i), n));
        }
    };
    writes_apart(arena<allot::best_fit<>>{buffers(), 16_KiB});
    writes_apart(arena<allot::bump<>>{buffers(), 16_KiB});
    writes_apart(arena<allot::stack<>>{buffers(), 16_KiB});
    writes_apart(arena<allot::ring<>>{buffers(), 16_KiB});
    writes_apart(arena<allot::pool<allot::pool_options{.slot = 512, .count = 16, .align = 64}>>{buffers(), 16_KiB});
    using growth = allot::growth::fixed<allot::growth_options{.step = 1_KiB, .regions = 16}>;
    writes_apart(allot::arena<allot::opencl::buffer, allot::best_fit<>, growth>{buffers()});
    writes_apart(allot::arena<allot::opencl::buffer, allot::bump<>, growth>{buffers()});
}

TEST_CASE("opencl set_arg: returns the driver's error") {
    arena<allot::best_fit<>> memory{buffers(), 1_KiB};
    const auto block = memory.allocate({100, 64});
    cl::Kernel fill = kernel("fill");
    CHECK(allot::opencl::set_arg(fill, 7, block) == CL_INVALID_ARG_INDEX);
    CHECK(allot::opencl::set_arg(fill, 2, block) != CL_SUCCESS);  // the last argument is a byte, not a buffer
}

TEST_CASE("opencl: sizes above the device's limit fail without a driver call") {
    const cl_ulong largest = opencl().device.getInfo<CL_DEVICE_MAX_MEM_ALLOC_SIZE>();
    allot::opencl::buffer device = buffers();
    for (const cl_ulong size : {largest + 1, ~cl_ulong{0}, ~cl_ulong{0} - 4095}) {
        const auto region = device.acquire({static_cast<std::size_t>(size), 64});
        CHECK_FALSE(region);
        CHECK(region.error() == CL_INVALID_BUFFER_SIZE);
    }
    CHECK(device.acquire({0, 64}).error() == CL_INVALID_BUFFER_SIZE);

    arena<allot::best_fit<>> memory{buffers(), static_cast<std::size_t>(largest + 1)};
    CHECK(memory.size() == 0);
    CHECK_FALSE(memory.allocate({1, 1}));
    CHECK(memory.diagnose({1, 1}).reason == refusal::device_refused);
    CHECK(memory.diagnose({1, 1}).device_error == CL_INVALID_BUFFER_SIZE);
}

TEST_CASE("opencl: base alignment is the device's, in bytes, and enforced by allot") {
    const std::size_t align = std::size_t{opencl().device.getInfo<CL_DEVICE_MEM_BASE_ADDR_ALIGN>()} / 8;
    allot::opencl::buffer device = buffers();
    CHECK(device.base_align() == align);
    CHECK(align >= allot::opencl::buffer::min_align);
    const auto region = device.acquire({1000, align});
    REQUIRE(region);
    CHECK(region->align == align);
    CHECK(region->size >= 1000);
    CHECK(region->base.offset == 0);
    device.release(*region);
    CHECK(device.acquire({1000, 2 * align}).error() == CL_MISALIGNED_SUB_BUFFER_OFFSET);
    CHECK_FALSE(device.acquire({1000, 0}));
    CHECK_FALSE(device.acquire({1000, 3}));

    arena<allot::best_fit<>> memory{buffers(), 64_KiB};
    CHECK(memory.allocate({100, align}));
    CHECK_FALSE(memory.allocate({100, 2 * align}));
    CHECK(memory.diagnose({100, 2 * align}).reason == refusal::misaligned);
}

TEST_CASE("opencl: buffers are released with the arena and by a trim") {
    cl_mem buffer = nullptr;
    const auto references = [&] {
        cl_uint count = 0;
        REQUIRE(::clGetMemObjectInfo(buffer, CL_MEM_REFERENCE_COUNT, sizeof count, &count, nullptr) == CL_SUCCESS);
        return count;
    };
    {
        arena<allot::bump<>> memory{buffers(), 1_KiB};
        buffer = memory.regions()[0].base.handle;
        CHECK(references() == 1);  // blocks do not own the buffer
        const auto block = memory.allocate({100, 64});
        CHECK(block.address.handle == buffer);
        CHECK(references() == 1);
        ::clRetainMemObject(buffer);
    }
    CHECK(references() == 1);
    ::clReleaseMemObject(buffer);

    using growth = allot::growth::fixed<allot::growth_options{.step = 1_KiB, .regions = 4}>;
    allot::arena<allot::opencl::buffer, allot::best_fit<>, growth> memory{buffers()};
    const auto block = memory.allocate({100, 64});
    REQUIRE(block);
    buffer = block.address.handle;
    ::clRetainMemObject(buffer);
    CHECK(references() == 2);
    memory.deallocate(block);
    CHECK(memory.trim() == 1_KiB);
    CHECK(references() == 1);
    ::clReleaseMemObject(buffer);
}

TEST_CASE("opencl paged: a table on the host names rows of a buffer") {
    constexpr std::size_t row = 256, size = 4_KiB;
    using table = allot::pointer_table<row, allot::row_index<std::uint32_t>, allot::handle_offset<cl_mem>>;
    arena<allot::best_fit<>> rows{buffers(), size};
    allot::arena<allot::host::heap, allot::bump<>> tables{{}, 1_KiB};
    allot::paged<decltype(rows)&, decltype(tables)&, table> tensors{rows, tables, rows.regions()[0].base};
    const auto a = rows.allocate({row, row > rows.regions()[0].align ? 1 : row});
    const auto tensor = tensors.allocate({3 * row, 1});
    REQUIRE((a && tensor));
    write(rows.regions()[0].base.handle, bytes(size, 0));
    for (std::size_t i = 0; i != tensor.address.size(); ++i) {
        cl::Kernel fill = kernel("fill");
        const allot::block<allot::handle_offset<cl_mem>::address, int> piece{tensor.address[i], row, 0};
        REQUIRE(allot::opencl::set_arg(fill, 0, piece) == CL_SUCCESS);
        REQUIRE(fill.setArg(2, static_cast<cl_uchar>(i + 1)) == CL_SUCCESS);
        run(fill, row);
    }
    const bytes result = read(rows.regions()[0].base.handle, size);
    for (std::size_t n = 0; n != 3 * row; ++n)
        REQUIRE(result[table::locate(tensor.address, n).offset] ==
                filled(static_cast<unsigned char>(n / row + 1), n % row));
    for (std::size_t n = 0; n != row; ++n) REQUIRE(result[a.address.offset + n] == 0);
}

TEST_CASE("opencl cached: a block is not reused for another device or a greater alignment") {
    const cl::Context second{opencl().device};
    using pooled = allot::naive<allot::cached<allot::opencl::buffer>>;
    pooled here{allot::cached<allot::opencl::buffer>{buffers()}};
    pooled there{allot::cached<allot::opencl::buffer>{{second, opencl().device}}};
    const auto context_of = [](cl_mem handle) {
        cl_context found = nullptr;
        REQUIRE(::clGetMemObjectInfo(handle, CL_MEM_CONTEXT, sizeof found, &found, nullptr) == CL_SUCCESS);
        return found;
    };
    const auto a = here.allocate({1000, 64});
    REQUIRE(a);
    here.deallocate(a);  // cached
    const auto b = there.allocate({1000, 64});
    REQUIRE(b);
    CHECK(b.address.handle != a.address.handle);
    CHECK(context_of(b.address.handle) == second());
    there.deallocate(b);
    const auto again = here.allocate({900, 64});
    CHECK(again.address.handle == a.address.handle);
    CHECK(context_of(again.address.handle) == opencl().context());
    const std::size_t align = buffers().base_align();
    here.deallocate(again);
    CHECK_FALSE(here.allocate({900, 2 * align}));  // no buffer has this alignment, cached or not
    CHECK(here.diagnose({900, 2 * align}).device_error == CL_MISALIGNED_SUB_BUFFER_OFFSET);
    const auto aligned = here.allocate({900, align});
    REQUIRE(aligned);
    CHECK(aligned.metadata.align >= align);
    here.deallocate(aligned);
}

// Also run without a driver: see tests/CMakeLists.txt. Therefore the test must not request the installed one.
TEST_CASE("opencl: without a driver or device, every request fails with a code of OpenCL") {
    cl_int reason = CL_SUCCESS;
    cl_uint platforms = 0;
    const cl_int found = ::clGetPlatformIDs(0, nullptr, &platforms);
    const cl::Context context = found == CL_SUCCESS ? cl::Context{} : cl::Context::getDefault(&reason);
    const cl::Device device = found == CL_SUCCESS ? cl::Device{} : cl::Device::getDefault();
    if (std::getenv("ALLOT_NO_OPENCL") != nullptr) CHECK(found == -1001);  // CL_PLATFORM_NOT_FOUND_KHR
    CHECK(context() == nullptr);
    CHECK(device() == nullptr);

    alignas(4096) static std::byte bytes[4096];
    const auto is_refused = [](auto from, cl_int code) {
        using device_type = decltype(from);
        CHECK(from.acquire({100, 1}).error() == code);
        allot::naive<device_type> naive{from};
        CHECK_FALSE(naive.allocate({100, 1}));
        CHECK(naive.diagnose({100, 1}) == allot::diagnosis{refusal::device_refused, 0, code});
        allot::naive<allot::cached<device_type>> pooled{allot::cached<device_type>{from}};
        CHECK_FALSE(pooled.allocate({100, 1}));
        if constexpr (!allot::bounded_device<device_type>) {
            allot::arena<device_type, allot::best_fit<>> memory{from, 4096};
            CHECK(memory.size() == 0);
            CHECK_FALSE(memory.allocate({100, 1}));
            CHECK(memory.diagnose({100, 1}) == allot::diagnosis{refusal::device_refused, 0, code});
        }
    };
    is_refused(allot::opencl::buffer{context, device}, CL_INVALID_DEVICE);
    is_refused(allot::opencl::imported{context, device, bytes, sizeof bytes}, CL_INVALID_DEVICE);
    is_refused(allot::opencl::coarse_svm{context, device}, CL_INVALID_OPERATION);
    is_refused(allot::opencl::fine_svm{context, device}, CL_INVALID_OPERATION);
    CHECK(allot::opencl::image{context, device}.acquire({8, 8}, allot::int32).error() == CL_INVALID_OPERATION);
    allot::arena<allot::opencl::buffer, allot::best_fit<>> nothing{{context, device}, 4096};
    allot::opencl::texture_pool<decltype(nothing)> pool{nothing, context, device};
    CHECK(pool.acquire({8, 8}, allot::int32).error() == CL_INVALID_OPERATION);
}
