// SPDX-License-Identifier: BSL-1.0
// The instructions of an allocator's worst and mean operations on a microcontroller, counted with the core's timer
// under QEMU's -icount, where every instruction takes the same time.
//
//     calibrate: a loop of known length ─► timer ticks an instruction
//     stress:    allocate and deallocate, each between two readings, less the cost of an empty function
//
// The stress is deterministic: blocks of random sizes up to `LARGEST`, in random order, until the memory has been full
// many times. Then follow patterns that are bad for lists of holes: all blocks of the least size, every other one
// deallocated, merges with both neighbors, and requests that fail. `ALIGN` is the largest requested alignment. Prints
// five numbers: instructions of the worst and of the mean allocate, the same of deallocate, and the timer's ticks in
// 20,000 instructions.
//     -include <the header with SUBJECT>   -DSUBJECT=pool   -DLARGEST=32   -DALIGN=8   -DGIVEN_BACK=any, newest, oldest or all
#include "../../examples/apps/firmware/board/semihosting.hpp"

#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace {

struct nothing {
    void* allocate(std::size_t, std::size_t) { return nullptr; }
    void deallocate(void*, std::size_t) {}
};

SUBJECT subject;
nothing empty;

// ── the timer: 24 bits, counting down ────────────────────────────────────────────────────────────────────────────────

auto* const control = reinterpret_cast<volatile std::uint32_t*>(0xE000'E010);
auto* const reload = reinterpret_cast<volatile std::uint32_t*>(0xE000'E014);
auto* const current = reinterpret_cast<volatile std::uint32_t*>(0xE000'E018);
constexpr std::uint32_t all_bits = 0xFF'FFFF;

[[gnu::always_inline]] inline std::uint32_t now() { return *current; }

/// Executes two instructions a turn and no others.
[[gnu::noipa]] std::uint32_t ticks_of_loop(std::uint32_t turns) {
    const std::uint32_t from = now();
    asm volatile(".syntax unified\n1: subs %0, #1\n bne 1b" : "+l"(turns) : : "cc");
    return (from - now()) & all_bits;
}

constexpr std::uint32_t calibration_turns = 10'000;
std::uint32_t ticks_per_20000 = 0;  // ticks of 20,000 instructions

std::uint32_t instructions(std::uint32_t ticks) {
    return static_cast<std::uint32_t>((std::uint64_t{ticks} * 2 * calibration_turns + ticks_per_20000 / 2) /
                                      ticks_per_20000);
}

// ── one operation between two readings ───────────────────────────────────────────────────────────────────────────────

struct counted {
    std::uint32_t worst = 0, count = 0;
    std::uint64_t sum = 0;
    void add(std::uint32_t ticks) {
        if (ticks > worst) worst = ticks;
        sum += ticks;
        ++count;
    }
};
counted of_allocate, of_deallocate;
std::uint32_t empty_allocate = 0, empty_deallocate = 0;

template <class Subject>
[[gnu::noipa]] void* allocate(Subject& from, std::size_t size, std::size_t align) {
    return from.allocate(size, align);
}
template <class Subject>
[[gnu::noipa]] void deallocate(Subject& from, void* block, std::size_t size) {
    from.deallocate(block, size);
}

template <class Subject>
void* timed_allocate(Subject& from, std::size_t size, std::size_t align, std::uint32_t& ticks) {
    const std::uint32_t before = now();
    void* const given = allocate(from, size, align);
    ticks = (before - now()) & all_bits;
    return given;
}
template <class Subject>
void timed_deallocate(Subject& from, void* block, std::size_t size, std::uint32_t& ticks) {
    const std::uint32_t before = now();
    deallocate(from, block, size);
    ticks = (before - now()) & all_bits;
}

// ── the stress ───────────────────────────────────────────────────────────────────────────────────────────────────────

enum class order { any, newest, oldest, all };
constexpr order given_back = order::GIVEN_BACK;
constexpr std::size_t most = 256;

struct no_metadata {};
template <class Subject>
auto metadata_of(Subject& of) {
    if constexpr (requires { of.metadata; }) return of.metadata;
    else return no_metadata{};
}
template <class Subject, class Ticket>
void set_metadata(Subject& of, Ticket metadata) {
    if constexpr (requires { of.metadata; }) of.metadata = metadata;
}
struct held {
    void* block;
    std::size_t size;
    [[no_unique_address]] decltype(metadata_of(subject)) metadata;
} live[most];
std::size_t live_count = 0;

std::uint32_t random_state = 1;
std::size_t below(std::size_t n) {
    random_state = random_state * 1664525U + 1013904223U;
    return (random_state >> 8) % n;
}

/// Subtracts, at least 0: with coarse ticks a short operation may seem shorter than an empty one.
std::uint32_t less(std::uint32_t ticks, std::uint32_t of_empty) { return ticks > of_empty ? ticks - of_empty : 0; }

bool take(std::size_t size, std::size_t align) {
    if (live_count == most) return false;
    std::uint32_t ticks;
    void* const given = timed_allocate(subject, size, align, ticks);
    of_allocate.add(less(ticks, empty_allocate));
    if (given == nullptr) return false;
    auto* const bytes = static_cast<unsigned char*>(given);
    for (std::size_t i = 0; i != size; ++i) bytes[i] = 0xA5;  // as a user of the block does
    live[live_count++] = {given, size, metadata_of(subject)};
    return true;
}
void give(std::size_t index) {
    if (given_back == order::newest || given_back == order::all) index = live_count - 1;
    if (given_back == order::oldest) index = 0;
    const held out = live[index];
    --live_count;
    for (std::size_t i = index; i != live_count; ++i) live[i] = live[i + 1];
    if (given_back == order::all) live_count = 0;
    set_metadata(subject, out.metadata);
    std::uint32_t ticks;
    timed_deallocate(subject, out.block, out.size, ticks);
    of_deallocate.add(less(ticks, empty_deallocate));
}
void give_all() {
    while (live_count != 0) give(live_count - 1);
}
std::size_t some_align() {
    std::size_t align = 1;
    while (align < ALIGN && below(2) != 0) align *= 2;
    return align;
}

void stress() {
    for (unsigned round = 0; round != 4; ++round) {
        const std::size_t shifted = LARGEST >> 2 * round, largest = shifted > 4 ? shifted : 4;
        for (unsigned i = 0; i != 1500; ++i) {
            if (below(2) != 0 || live_count == 0) {
                if (!take(1 + below(largest), some_align()) && live_count != 0) give(below(live_count));
            } else {
                give(below(live_count));
            }
        }
        give_all();
    }
    for (std::size_t size = 1; size <= LARGEST; size *= 4) {
        while (take(size, ALIGN)) {}
        for (std::size_t i = 0; i + 1 < live_count; ++i) give(i);  // about every other block: later blocks shift
        while (take(LARGEST, ALIGN)) {}
        while (take(size, 1)) {}
        while (live_count != 0) give(live_count / 2);  // free neighbors on both sides
    }
}

}  // namespace

int main() {
    *reload = all_bits;
    *current = 0;
    *control = 5;  // the core's clock, no interrupt
    // Both measurements include the reading of the timer; the difference is the loop.
    const std::uint32_t none = ticks_of_loop(1);
    ticks_per_20000 = ticks_of_loop(calibration_turns + 1) - none;
    std::uint32_t ticks = 0;
    void* const given = timed_allocate(empty, 1, 1, ticks);
    empty_allocate = ticks;
    timed_deallocate(empty, given, 1, empty_deallocate);
    stress();
    for (const counted& of : {of_allocate, of_deallocate}) {
        board::print(std::uint64_t{instructions(of.worst)});
        board::print(" ");
        board::print(std::uint64_t{instructions(static_cast<std::uint32_t>(of.sum / of.count))});
        board::print(" ");
    }
    board::print(std::uint64_t{ticks_per_20000});
    board::print("\n");
}
