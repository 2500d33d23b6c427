// Tests of scope_map: memories by exact name and device ordinal.
#include <allot/allot.hpp>
#include <allot/tensor.hpp>

#include <doctest/doctest.h>

#include <string>

namespace {

namespace scope = allot::scope;
using allot::in_scope;
using allot::tensor_refusal;

struct my_scratchpad {
    static constexpr std::string_view name = "local.scratchpad";
};

using host_memory = allot::arena<allot::host::heap, allot::best_fit<>>;
using naive_memory = allot::naive<allot::host::heap>;

const auto which = [](auto& allocator) noexcept { return allot::tensor_result<const void*>{&allocator}; };

}  // namespace

TEST_CASE("scope_map: get finds a memory at compile time, visit by name") {
    host_memory host{{}, 4096}, vtcm{{}, 4096};
    naive_memory second, mine;
    const allot::scope_map memories{in_scope<scope::global>(host), in_scope<scope::vtcm>(vtcm),
                                    in_scope<scope::vtcm, 1>(second), in_scope<my_scratchpad, 3>(mine)};
    static_assert(sizeof memories == 4 * sizeof(void*));
    static_assert(std::same_as<decltype(memories.get<scope::vtcm, 1>()), naive_memory&>);
    CHECK(&memories.get<scope::global>() == &host);
    CHECK(&memories.get<scope::vtcm>() == &vtcm);
    CHECK(&memories.get<my_scratchpad, 3>() == &mine);

    CHECK(*memories.visit("global", 0, which) == &host);
    CHECK(*memories.visit("", 0, which) == &host);
    CHECK(*memories.visit("global.vtcm", 0, which) == &vtcm);
    CHECK(*memories.visit("global.vtcm", 1, which) == &second);
    CHECK(*memories.visit("local.scratchpad", 3, which) == &mine);
}

TEST_CASE("scope_map: names match exactly") {
    host_memory host{{}, 4096};
    const allot::scope_map memories{in_scope<scope::global>(host), in_scope<scope::texture>(host)};
    for (const std::string name : {"globalfoo", "my-texture", "global.", "Global", " global", "global.texture-",
                                   "texture", "global.vtcm", "global.textures", "vtcm"}) {
        CAPTURE(name);
        CHECK(memories.visit(name, 0, which).error().reason == tensor_refusal::unknown_scope);
    }
    CHECK(memories.visit(std::string_view{"global\0", 7}, 0, which).error().reason == tensor_refusal::unknown_scope);
}

TEST_CASE("scope_map: a wrong ordinal and an unknown scope are different errors") {
    host_memory host{{}, 4096};
    const allot::scope_map memories{in_scope<scope::global>(host)};
    CHECK(memories.visit("global", 1, which).error().reason == tensor_refusal::unknown_device);
    CHECK(memories.visit("global", -1, which).error().reason == tensor_refusal::unknown_device);
    CHECK(memories.visit("global.ddr", 1, which).error().reason == tensor_refusal::unknown_scope);
}

TEST_CASE("scope_map: alloc_storage uses the memory of a scope, by size and by shape") {
    host_memory host{{}, 65536};
    naive_memory vtcm;
    const allot::scope_map memories{in_scope<scope::global>(host), in_scope<scope::vtcm>(vtcm)};
    const auto flat = allot::alloc_storage<scope::vtcm>(memories, 4096, 2048);
    REQUIRE(flat);
    CHECK(flat->size() == 4096);
    CHECK(reinterpret_cast<std::uintptr_t>(flat->base()) % 2048 == 0);
    const auto shaped = allot::alloc_storage<scope::global>(memories, {2, 3, 5}, allot::uint4, 32);
    REQUIRE(shaped);
    CHECK(shaped->size() == 15);
    CHECK(shaped->align() == 32);

    const auto by_name = [&](std::string_view name) {
        return memories.visit(name, 0, [](auto& memory) noexcept {
            const auto made = allot::alloc_storage(memory, 100);
            return made ? allot::tensor_result<std::size_t>{made->size()}
                        : allot::tensor_result<std::size_t>::failure(made.error());
        });
    };
    CHECK(*by_name("global.vtcm") == 100);
    CHECK(by_name("global.vtcn").error().reason == tensor_refusal::unknown_scope);
}
