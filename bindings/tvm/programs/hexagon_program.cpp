// The seed program of the discontiguous-tensor proposal on a bare Hexagon, with kernels that TVM compiled. hexagon.py
// builds it, runs it in qemu-hexagon and compares the results.
//
//     stdin   x, y, z                  three tensors of (4, 64) 32-bit integers
//     stdout  the report below, then the refusals of TVM and of allot, a line each
//
// allot supplies the storages, the tables and the copies. TVM's kernels receive each table as a tensor of 4 entries.
#include <allot/allot.hpp>
#include <allot/hexagon/vtcm.hpp>
#include <allot/tensor.hpp>

#include <doctest/doctest.h>  // the functions of ../../../tests/targets/hexagon/runtime.cpp

#include <tvm/ffi/c_api.h>

#include <cstdint>
#include <cstring>
#include <utility>

extern "C" {
using packed_function = int(void*, const TVMFFIAny*, std::int32_t, TVMFFIAny*);
packed_function __tvm_ffi_compute_add_in_vtcm, __tvm_ffi_compute_mul_in_vtcm;
}

namespace {

using namespace allot::literals;

constexpr long system_read = 63, system_write = 64;

/// Transfers all bytes from or to a descriptor with a system call of Linux.
void transfer(long number, long descriptor, void* bytes, std::size_t size) noexcept {
    for (std::size_t done = 0; done != size;) {
        register long r0 asm("r0") = descriptor;
        register long r1 asm("r1") = reinterpret_cast<long>(bytes) + static_cast<long>(done);
        register long r2 asm("r2") = static_cast<long>(size - done);
        register long r6 asm("r6") = number;
        asm volatile("trap0(#1)" : "+r"(r0) : "r"(r1), "r"(r2), "r"(r6) : "memory");
        if (r0 <= 0) freestanding::stop("a read or write failed");
        done += static_cast<std::size_t>(r0);
    }
}

/// A VTCM of 4096 bytes. The emulator has none, so ordinary memory replaces it.
struct window {
    alignas(2048) static inline std::byte bytes[4096];
    [[nodiscard]] std::size_t size() const noexcept { return sizeof bytes; }
    [[nodiscard]] void* acquire(std::size_t) noexcept { return bytes; }
    void release(void*) noexcept {}
};

using vtcm_arena = allot::arena<allot::hexagon::vtcm<window>, allot::best_fit<allot::best_fit_options{.records = 64}>>;
using main_arena = allot::arena<allot::host::static_storage<16_KiB>, allot::best_fit<>>;

/// The first part of the output, as hexagon.py reads it.
struct report {
    std::uint32_t vtcm_base = 0;    // the address of the data storage
    std::uint32_t tables[2][12]{};  // the tables at 0, 16 and 32 before each of the two kernels
    std::int32_t sum[256]{}, product[256]{};
};

char tvm_refusal[512];  // the last error that a kernel of TVM raises

template <class Result>
auto value_of(Result made) noexcept {
    if (!made) freestanding::stop(made.error().what());
    return *std::move(made);
}

/// Calls a kernel with the tables of three tensors. A table is a tensor of `entries` unsigned 32-bit integers.
template <class Tensor>
int call(packed_function& kernel, const Tensor& a, const Tensor& b, const Tensor& c, std::int64_t entries) noexcept {
    std::int64_t stride = 1;
    DLTensor tables[3]{};
    TVMFFIAny arguments[3]{}, result{};
    const void* const pointers[]{a.table().entries, b.table().entries, c.table().entries};
    for (std::size_t i = 0; i != 3; ++i) {
        tables[i] = {const_cast<void*>(pointers[i]), {kDLCPU, 0}, 1, {kDLUInt, 32, 1}, &entries, &stride, 0};
        arguments[i].type_index = kTVMFFIDLTensorPtr;
        arguments[i].v_ptr = &tables[i];
    }
    return kernel(nullptr, arguments, 3, &result);
}

template <class Tensor>
void run_kernel(packed_function& kernel, const Tensor& a, const Tensor& b, const Tensor& c) noexcept {
    if (call(kernel, a, b, c, 4) != 0) freestanding::stop(tvm_refusal);
}

template <class From, class To>
void copy(const From& from, const To& to) noexcept {
    value_of(allot::copy_tensor(from, to));
}

void write_line(const char* text) noexcept {
    transfer(system_write, 1, const_cast<char*>(text), std::strlen(text));
    transfer(system_write, 1, const_cast<char*>("\n"), 1);
}

void run_seed() noexcept {
    vtcm_arena vtcm;
    main_arena host;
    const auto io = value_of(allot::alloc_storage(host, 8_KiB));
    const auto tables = value_of(allot::alloc_storage(host, 64));       // global_obj
    const auto data = value_of(allot::alloc_storage(vtcm, 4096, 128));  // vtcm_obj
    const auto plain = [&] { return value_of(allot::alloc_tensor(io, allot::anywhere, {4, 64}, allot::int32)); };
    const auto in_vtcm = [&](std::int64_t table, allot::row_offsets rows) {
        return value_of(allot::alloc_discontiguous_tensor(tables, table, data, rows, {4, 64}, allot::int32));
    };
    const auto x = plain(), y = plain(), z = plain(), out = plain();
    for (const auto& each : {x, y, z}) transfer(system_read, 0, each.data(), each.size_bytes());

    static report made;
    made.vtcm_base = static_cast<std::uint32_t>(allot::raw_pointer::position(data.base()));
    auto a = in_vtcm(0, {768, 256, 2304, 3072});
    copy(x, a);
    auto b = in_vtcm(16, {1536, 1280, 3328, 2560});
    copy(y, b);
    const auto c = in_vtcm(32, {512, 0, 2048, 3840});
    std::memcpy(made.tables[0], tables.base(), sizeof made.tables[0]);
    run_kernel(__tvm_ffi_compute_add_in_vtcm, a, b, c);
    copy(c, out);
    std::memcpy(made.sum, out.data(), sizeof made.sum);
    a.kill();
    b.kill();
    const auto d = in_vtcm(0, {1536, 1280, 3328, 2560});  // the former rows of b
    copy(z, d);
    const auto e = in_vtcm(16, {768, 256, 2304, 3072});
    std::memcpy(made.tables[1], tables.base(), sizeof made.tables[1]);
    run_kernel(__tvm_ffi_compute_mul_in_vtcm, c, d, e);
    copy(e, out);
    std::memcpy(made.product, out.data(), sizeof made.product);
    transfer(system_write, 1, &made, sizeof made);

    if (call(__tvm_ffi_compute_add_in_vtcm, c, d, e, 3) == 0) freestanding::stop("TVM accepted a table of 3 entries");
    write_line(tvm_refusal);
    const auto second =
        allot::alloc_discontiguous_tensor(tables, 48, data, {1024, 0, 2816, 3584}, {4, 64}, allot::int32);
    if (second) freestanding::stop("allot accepted the row of another tensor");
    write_line(second.error().what());
}

}  // namespace

extern "C" void TVMFFIErrorSetRaisedFromCStrParts(const char*, const char** parts, std::int32_t count) {
    std::size_t end = 0;
    for (std::int32_t i = 0; i != count; ++i) {
        for (const char* at = parts[i]; at != nullptr && *at != '\0' && end + 1 != sizeof tvm_refusal; ++at)
            tvm_refusal[end++] = *at == '\n' ? ' ' : *at;
    }
    tvm_refusal[end] = '\0';
}

void freestanding::stop(const char* reason) noexcept {
    for (const char* text : {"stopped: ", reason, "\n"})
        transfer(system_write, 2, const_cast<char*>(text), std::strlen(text));
    end_program(1);
}

int freestanding::run_all() noexcept {
    run_seed();
    return 0;
}
