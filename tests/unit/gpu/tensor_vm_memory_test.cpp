// The tensor VM's memory for GPUs: programs print the same output as in host memory, wherever their tensors are.
#include "../../../examples/apps/tensor_vm/gpu_memory.hpp"
#include "../../tensor_vm_programs.hpp"
#include "machine.hpp"

TEST_CASE("tensor VM: programs have the same output in device memory") {
    const tests::machine there;
    for (const std::string& name : tests::tensor_vm_programs) {
        CAPTURE(name);
        CHECK(tests::printed<vm::gpu_memory<vendor::runtime>>(name) == tests::printed<vm::host_memory>(name));
    }
}

TEST_CASE("tensor VM: reports that a device has too little memory") {
    const tests::machine there;
    using memory_type = vm::gpu_memory<vendor::runtime>;
    CHECK_THROWS_AS(memory_type({.vtcm = std::size_t{1} << 50}), vm::unavailable);
}
