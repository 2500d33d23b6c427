// The same in C++11, with an owner of the handle and an exception of the program's own.
#include <allot.h>

#include <iostream>
#include <memory>
#include <stdexcept>

namespace {

void check(allot_status status) {
    if (status != ALLOT_OK) throw std::runtime_error(allot_status_text(status));
}

struct destroy {
    void operator()(allot_arena* arena) const noexcept { allot_arena_destroy(arena); }
};
using arena = std::unique_ptr<allot_arena, destroy>;

arena make_arena(void* memory, std::size_t size) {
    allot_arena_options options = ALLOT_ARENA_OPTIONS_INIT;
    options.memory = memory;
    options.size = size;
    allot_arena* made = nullptr;
    check(allot_arena_create(&options, &made));
    return arena(made);
}

}  // namespace

int main() {
    alignas(64) static unsigned char bytes[8192];
    const arena memory = make_arena(bytes, sizeof bytes);
    void *tensor = nullptr, *weights = nullptr;
    check(allot_arena_allocate(memory.get(), 1000, 256, &tensor));
    check(allot_arena_allocate(memory.get(), 3000, 256, &weights));
    std::cout << "tensor at " << static_cast<unsigned char*>(tensor) - bytes << ", weights at "
              << static_cast<unsigned char*>(weights) - bytes << '\n';
    check(allot_arena_free(memory.get(), tensor));
    try {
        check(allot_arena_free(memory.get(), tensor));
    } catch (const std::runtime_error& error) {
        std::cout << "again: " << error.what() << '\n';
        return 0;
    }
    return 1;
}
