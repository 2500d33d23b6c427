// The demo's memory for Metal: a network has the same digest as in host memory.
#include "../../../examples/apps/network_demo/host_memory.hpp"
#include "../../../examples/apps/network_demo/metal_memory.hpp"
#include "machine.hpp"

#include <filesystem>

namespace {

MTL::Device* opened = nullptr;
MTL::Device* open_device() { return opened; }

}  // namespace

TEST_CASE("demo: a network has the same digest in a Metal buffer") {
    const tests::metal_machine there{{.memory = std::size_t{16} << 20, .longest = std::size_t{8} << 20}};
    const auto file =
        std::filesystem::path{__FILE__}.parent_path() / "../../../examples/apps/network_demo/squeezenet.network";
    const demo::network net = demo::load(file.string());
    const auto nothing_shown = [](std::size_t, std::size_t) {};
    demo::tally counts, others;
    using memory_type = demo::metal_memory<MTL::Device, open_device>;
    CHECK_THROWS_AS(memory_type(net, counts), demo::unavailable);
    opened = there.device;
    memory_type memory{net, counts};
    demo::host_memory host{net, others};
    CHECK(demo::run(net, memory, nothing_shown) == demo::run(net, host, nothing_shown));
    CHECK(counts.acquisitions == 1);
}
