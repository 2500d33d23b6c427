// The functions of a C library that compilers require, for machines without one. Compiled with -fno-builtin.
#include <doctest/doctest.h>

#include <cstddef>

extern "C" {

/// Static objects live until the program ends, so their destructors are never called.
void* __dso_handle = nullptr;
int __cxa_atexit(void (*)(void*), void*, void*) { return 0; }
[[noreturn]] void abort() { freestanding::stop("abort"); }

void* memset(void* to, int value, std::size_t size) {
    auto* const bytes = static_cast<unsigned char*>(to);
    for (std::size_t i = 0; i != size; ++i) bytes[i] = static_cast<unsigned char>(value);
    return to;
}
void* memmove(void* to, const void* from, std::size_t size) {
    auto* const target = static_cast<unsigned char*>(to);
    const auto* const source = static_cast<const unsigned char*>(from);
    if (target < source) {
        for (std::size_t i = 0; i != size; ++i) target[i] = source[i];
    } else {
        for (std::size_t i = size; i-- != 0;) target[i] = source[i];
    }
    return to;
}
void* memcpy(void* __restrict to, const void* __restrict from, std::size_t size) { return memmove(to, from, size); }
int memcmp(const void* a, const void* b, std::size_t size) {
    const auto* const left = static_cast<const unsigned char*>(a);
    const auto* const right = static_cast<const unsigned char*>(b);
    for (std::size_t i = 0; i != size; ++i) {
        if (left[i] != right[i]) return left[i] < right[i] ? -1 : 1;
    }
    return 0;
}
std::size_t strlen(const char* text) {
    std::size_t size = 0;
    while (text[size] != '\0') ++size;
    return size;
}
}
