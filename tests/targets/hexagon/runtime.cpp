// The environment of a C++ program for tests on a bare Hexagon under qemu-hexagon: startup code, two system calls of
// Linux, a heap, and the functions that compilers assume.
#include <allot/allot.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <exception>
#include <new>

namespace {

constexpr long system_write = 64, system_exit = 94;

long call_system(long number, long first, long second = 0, long third = 0) noexcept {
    register long r0 asm("r0") = first;
    register long r1 asm("r1") = second;
    register long r2 asm("r2") = third;
    register long r6 asm("r6") = number;
    asm volatile("trap0(#1)" : "+r"(r0) : "r"(r1), "r"(r2), "r"(r6) : "memory");
    return r0;
}
/// Blocks are never reused: a test program ends before it has used the whole heap.
[[nodiscard]] void* from_heap(std::size_t size, std::size_t align) noexcept {
    using namespace allot::literals;
    static allot::arena<allot::host::static_storage<64_MiB>, allot::bump<>> heap;
    return heap.allocate({.size = size == 0 ? 1 : size, .align = align < 16 ? 16 : align}).address;
}
[[nodiscard]] void* from_heap_or_stop(std::size_t size, std::size_t align) noexcept {
    void* const fresh = from_heap(size, align);
    if (fresh == nullptr) freestanding::stop("the heap is exhausted");
    return fresh;
}

}  // namespace

void freestanding::print(const char* text) noexcept {
    call_system(system_write, 1, reinterpret_cast<long>(text), static_cast<long>(std::strlen(text)));
}
void freestanding::end_program(int status) noexcept {
    for (;;) call_system(system_exit, status);
}

// ── startup ──────────────────────────────────────────────────────────────────────────────────────────────────────────

asm(".globl _start\n"
    "_start:\n"
    "    r29 = and(r29, #-128)\n"  // vectors on the stack are aligned
    "    call run_all_tests\n");

extern "C" {

using constructor = void (*)();
extern constructor __init_array_start[], __init_array_end[];

[[noreturn]] void run_all_tests() {
    for (constructor* each = __init_array_start; each != __init_array_end; ++each) (*each)();
    freestanding::end_program(freestanding::run_all());
}

// ── functions that compilers call ────────────────────────────────────────────────────────────────────────────────────

[[noreturn]] void __cxa_pure_virtual() { freestanding::stop("a pure virtual function was called"); }
void __assert_func(const char* file, int, const char*, const char* what) {
    for (const char* text : {file, ": "}) freestanding::print(text);
    freestanding::stop(what);
}
void* __hexagon_memcpy_likely_aligned_min32bytes_mult8bytes(void* to, const void* from, std::size_t size) {
    return std::memmove(to, from, size);
}
}  // extern "C"

// Shared prologues and epilogues for small code, as the ABI defines them: registers from r16 to the named one, in pairs
// below the frame pointer (r30), r17:16 highest. Both forms of __restore leave the frame; "_before_tailcall" returns to
// the calling function, and the other form returns from that function.
#define RESTORE(LAST, SUFFIX, LOAD)                                   \
    ".globl __restore_r16_through_r" #LAST "_and_deallocframe" SUFFIX \
    "\n"                                                              \
    "__restore_r16_through_r" #LAST "_and_deallocframe" SUFFIX ":\n" LOAD
#define RESTORE_ALL(SUFFIX, LEAVE)                   \
    RESTORE(27, SUFFIX, "r27:26 = memd(r30+#-48)\n") \
    RESTORE(25, SUFFIX, "r25:24 = memd(r30+#-40)\n") \
    RESTORE(23, SUFFIX, "r23:22 = memd(r30+#-32)\n") \
    RESTORE(21, SUFFIX, "r21:20 = memd(r30+#-24)\n") \
    RESTORE(19, SUFFIX, "r19:18 = memd(r30+#-16)\n") \
    RESTORE(17, SUFFIX, "r17:16 = memd(r30+#-8)\n" LEAVE)
#define SAVE(LAST, PAIR, AT)            \
    ".globl __save_r16_through_r" #LAST \
    "\n"                                \
    "__save_r16_through_r" #LAST        \
    ":\n"                               \
    "memd(r30+#" #AT ") = " PAIR "\n"
asm(".text\n"
    ".p2align 4\n" SAVE(27, "r27:26", -48) SAVE(25, "r25:24", -40) SAVE(23, "r23:22", -32) SAVE(21, "r21:20", -24)
        SAVE(19, "r19:18", -16)
            SAVE(17, "r17:16", -8) "jumpr r31\n" RESTORE_ALL("_before_tailcall", "{ deallocframe; jumpr r31 }\n")
                RESTORE_ALL("", "dealloc_return\n"));
#undef RESTORE
#undef RESTORE_ALL
#undef SAVE

// ── division, which the processor does not have ──────────────────────────────────────────────────────────────────────

namespace {
template <class Unsigned>
struct divided {
    Unsigned quotient = 0, rest = 0;
    divided(Unsigned number, Unsigned by) noexcept {
        if (by == 0) freestanding::stop("division by 0");
        for (int bit = std::numeric_limits<Unsigned>::digits; bit-- != 0;) {
            const bool carry = (rest >> (std::numeric_limits<Unsigned>::digits - 1)) != 0;
            rest = static_cast<Unsigned>(rest << 1 | ((number >> bit) & 1));
            if (carry || rest >= by) {
                rest -= by;
                quotient |= Unsigned{1} << bit;
            }
        }
    }
};
template <class Signed, class Unsigned>
[[nodiscard]] Unsigned magnitude(Signed number) noexcept {
    return number < 0 ? Unsigned{0} - static_cast<Unsigned>(number) : static_cast<Unsigned>(number);
}
template <class Signed, class Unsigned>
[[nodiscard]] Signed with_sign(bool negative, Unsigned number) noexcept {
    return static_cast<Signed>(negative ? Unsigned{0} - number : number);
}
}  // namespace

extern "C" {
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i32 = std::int32_t;
using i64 = std::int64_t;
u32 __hexagon_udivsi3(u32 a, u32 b) { return divided<u32>{a, b}.quotient; }
u32 __hexagon_umodsi3(u32 a, u32 b) { return divided<u32>{a, b}.rest; }
u64 __hexagon_udivdi3(u64 a, u64 b) { return divided<u64>{a, b}.quotient; }
u64 __hexagon_umoddi3(u64 a, u64 b) { return divided<u64>{a, b}.rest; }
i32 __hexagon_divsi3(i32 a, i32 b) {
    return with_sign<i32, u32>((a < 0) != (b < 0),
                               divided<u32>{magnitude<i32, u32>(a), magnitude<i32, u32>(b)}.quotient);
}
i32 __hexagon_modsi3(i32 a, i32 b) {
    return with_sign<i32, u32>(a < 0, divided<u32>{magnitude<i32, u32>(a), magnitude<i32, u32>(b)}.rest);
}
i64 __hexagon_divdi3(i64 a, i64 b) {
    return with_sign<i64, u64>((a < 0) != (b < 0),
                               divided<u64>{magnitude<i64, u64>(a), magnitude<i64, u64>(b)}.quotient);
}
i64 __hexagon_moddi3(i64 a, i64 b) {
    return with_sign<i64, u64>(a < 0, divided<u64>{magnitude<i64, u64>(a), magnitude<i64, u64>(b)}.rest);
}
}

// ── functions of the C++ library ─────────────────────────────────────────────────────────────────────────────────────

const std::nothrow_t std::nothrow{};

namespace std {
void __throw_length_error(const char* reason) { freestanding::stop(reason); }
void __throw_logic_error(const char* reason) { freestanding::stop(reason); }
void __throw_out_of_range_fmt(const char* reason, ...) { freestanding::stop(reason); }
void __throw_bad_alloc() { freestanding::stop("bad_alloc"); }
void __throw_bad_array_new_length() { freestanding::stop("bad_array_new_length"); }
}  // namespace std

void* operator new(std::size_t size) { return from_heap_or_stop(size, __STDCPP_DEFAULT_NEW_ALIGNMENT__); }
void* operator new(std::size_t size, std::align_val_t align) {
    return from_heap_or_stop(size, static_cast<std::size_t>(align));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    return from_heap(size, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
}
void* operator new(std::size_t size, std::align_val_t align, const std::nothrow_t&) noexcept {
    return from_heap(size, static_cast<std::size_t>(align));
}
void* operator new[](std::size_t size) { return operator new(size); }
void* operator new[](std::size_t size, const std::nothrow_t& none) noexcept { return operator new(size, none); }
void operator delete(void*) noexcept {}
void operator delete[](void*) noexcept {}
void operator delete[](void*, std::size_t) noexcept {}
void operator delete(void*, std::size_t) noexcept {}
void operator delete(void*, std::align_val_t) noexcept {}
void operator delete(void*, std::size_t, std::align_val_t) noexcept {}
