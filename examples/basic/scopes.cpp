// Memory by name, as graph compilers spell it: "global", "global.vtcm". The name is known at compile time or at run
// time.
#include <allot/allot.hpp>
#include <allot/tensor.hpp>

#include <cstdio>
#include <string_view>

using namespace allot::literals;

// A scope of your own is a type with a name.
struct on_chip {
    static constexpr std::string_view name = "global.on_chip";
};

int main() {
    allot::arena host{allot::host::heap{}, 1_MiB};
    allot::arena<allot::host::static_storage<16_KiB, 128>, allot::best_fit<>> fast, other_core;
    const allot::scope_map memories{allot::in_scope<allot::scope::global>(host), allot::in_scope<on_chip>(fast),
                                    allot::in_scope<on_chip, 1>(other_core)};

    // Known at compile time: no comparison at run time.
    const auto direct = allot::alloc_storage(memories.get<on_chip, 1>(), 4096, 128);
    if (!direct) return 1;

    // Known at run time: the call sees the allocator's own type. Names match exactly.
    const auto bytes_free = [&](std::string_view scope, int ordinal) {
        return memories.visit(scope, ordinal, [](auto& memory) noexcept -> allot::tensor_result<std::uint64_t> {
            return memory.diagnose({.size = 1}).largest_hole;
        });
    };
    for (const std::string_view scope : {"", "global", "global.on_chip", "global.on_chips"}) {
        const auto found = bytes_free(scope, 0);
        if (found) std::printf("'%s': %llu bytes\n", scope.data(), static_cast<unsigned long long>(*found));
        else std::printf("'%s': %s\n", scope.data(), found.error().what());
    }
    return bytes_free("global.on_chip", 2).error().reason == allot::tensor_refusal::unknown_device ? 0 : 1;
}
