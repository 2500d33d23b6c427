// SPDX-License-Identifier: BSL-1.0
// One of the programs whose sizes size.sh compares: an allocator, and the first OPERATIONS of its operations.
//
//     -include <the header with SUBJECT>   -DSUBJECT=pool   -DOPERATIONS=3       1 construct, 2 allocate, 3 deallocate,
//                                                                                4 diagnose, 5 resize
//
// main calls every operation through a separate function that the compiler does not analyze. With the subject
// `nothing`, these functions are empty. The difference between the two programs is the size of the allocator.
#include "../../examples/apps/firmware/board/semihosting.hpp"

#include <cstddef>

namespace {

struct nothing {
    void* allocate(std::size_t, std::size_t) { return nullptr; }
    void deallocate(void*, std::size_t) {}
    int diagnose(std::size_t, std::size_t) { return 0; }
    bool resize(void*, std::size_t, std::size_t) { return false; }
};

SUBJECT subject;
volatile std::size_t size = 24, align = 4, more = 40;
void* volatile held;
volatile int answer;

[[gnu::noipa, maybe_unused]] void* allocate(std::size_t bytes, std::size_t alignment) {
    return subject.allocate(bytes, alignment);
}
[[gnu::noipa, maybe_unused]] void deallocate(void* block, std::size_t bytes) { subject.deallocate(block, bytes); }
#if OPERATIONS >= 4
[[gnu::noipa]] int diagnose(std::size_t bytes, std::size_t alignment) { return subject.diagnose(bytes, alignment); }
#endif
#if OPERATIONS >= 5
[[gnu::noipa]] bool resize(void* block, std::size_t bytes, std::size_t to) { return subject.resize(block, bytes, to); }
#endif

}  // namespace

int main() {
    asm volatile("" : : "r"(&subject));  // keeps the object in the program
#if OPERATIONS >= 2
    held = allocate(size, align);
#endif
#if OPERATIONS >= 3
    deallocate(held, size);
#endif
#if OPERATIONS >= 4
    answer = diagnose(size, align);
#endif
#if OPERATIONS >= 5
    answer = resize(held, size, more);
#endif
    return 0;
}
