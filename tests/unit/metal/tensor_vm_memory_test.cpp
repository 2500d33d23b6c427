// The tensor VM's memory for Metal: programs print the same output as in host memory.
#include "../../../examples/apps/tensor_vm/metal_memory.hpp"
#include "../../tensor_vm_programs.hpp"
#include "machine.hpp"

namespace {

MTL::Device* opened = nullptr;
MTL::Device* open_device() { return opened; }

}  // namespace

TEST_CASE("tensor VM: programs have the same output in Metal buffers") {
    const tests::metal_machine there;
    using memory_type = vm::metal_memory<MTL::Device, open_device>;
    opened = nullptr;
    CHECK_THROWS_AS(memory_type({}), vm::unavailable);
    opened = there.device;
    for (const std::string& name : tests::tensor_vm_programs) {
        CAPTURE(name);
        CHECK(tests::printed<memory_type>(name) == tests::printed<vm::host_memory>(name));
    }
    CHECK_THROWS_AS(memory_type({.vtcm = std::size_t{4} << 20}), vm::unavailable);  // above maxBufferLength
}
