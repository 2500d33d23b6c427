// Leaks of a program that loads a driver. CTest runs these cases with the leak sanitizer and a fake driver
// (../keeping_vulkan), each in a separate process: the first must pass, and the second must be reported.
#include <allot/allot.hpp>

#include <vulkan/vulkan.h>

#include <doctest/doctest.h>

namespace {

void load_and_unload_drivers() {
    VkInstanceCreateInfo wanted{};
    wanted.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    VkInstance instance = VK_NULL_HANDLE;
    REQUIRE(::vkCreateInstance(&wanted, nullptr, &instance) == VK_SUCCESS);
    std::uint32_t count = 0;
    static_cast<void>(::vkEnumeratePhysicalDevices(instance, &count, nullptr));
    ::vkDestroyInstance(instance, nullptr);
}

/// An arena and its region: two allocations that no pointer refers to.
[[gnu::noinline]] void lose_an_arena() {
    using arena = allot::arena<allot::host::heap, allot::bump<>>;
    auto* const lost = new arena{{}, 12345};
    REQUIRE(lost->allocate({100, 8}));
}

/// Overwrites the part of the stack that may still contain a pointer to the arena.
[[gnu::noinline]] void overwrite_stack() {
    volatile unsigned char bytes[4096];
    for (volatile unsigned char& each : bytes) each = 0;
}

}  // namespace

TEST_CASE("vulkan leaks: memory that a driver keeps is not reported" * doctest::skip()) { load_and_unload_drivers(); }

TEST_CASE("vulkan leaks: a lost arena is reported" * doctest::skip()) {
    load_and_unload_drivers();
    lose_an_arena();
    overwrite_stack();
}
