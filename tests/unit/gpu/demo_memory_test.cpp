// The demo's memory for GPUs: a network has the same digest as in host memory, wherever its tensors are.
#include "../../../examples/apps/network_demo/host_memory.hpp"
#include "../../../examples/apps/network_demo/staged_memory.hpp"
#include "machine.hpp"

#include <filesystem>

TEST_CASE("demo: a network has the same digest in device memory") {
    const tests::machine there;
    const auto file =
        std::filesystem::path{__FILE__}.parent_path() / "../../../examples/apps/network_demo/squeezenet.network";
    const demo::network net = demo::load(file.string());
    const auto nothing_shown = [](std::size_t, std::size_t) {};
    demo::tally counts, others;
    demo::staged_memory<vendor::device_memory, vendor::stream_copy> memory{net, counts};
    demo::host_memory host{net, others};
    CHECK(demo::run(net, memory, nothing_shown) == demo::run(net, host, nothing_shown));
    CHECK(memory.arena_bytes() == host.arena_bytes());
    CHECK(counts.acquisitions == 1);
}
