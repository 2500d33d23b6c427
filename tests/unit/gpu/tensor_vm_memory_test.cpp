// The tensor VM's memory for GPUs: programs print what they print in the host's memory, wherever their tensors lie.
#include "../../../examples/apps/tensor_vm/gpu_memory.hpp"
#include "../../tensor_vm_programs.hpp"
#include "machine.hpp"

TEST_CASE("programs of the tensor VM, in the memory of a device") {
    const tests::machine there;
    for (const std::string& name : tests::tensor_vm_programs) {
        CAPTURE(name);
        CHECK(tests::printed<vm::gpu_memory<vendor::runtime>>(name) == tests::printed<vm::host_memory>(name));
    }
}

TEST_CASE("the tensor VM says that a device has not as much memory") {
    const tests::machine there;
    using memory_type = vm::gpu_memory<vendor::runtime>;
    CHECK_THROWS_AS(memory_type({.vtcm = std::size_t{1} << 50}), vm::unavailable);
}
