// separate: every tensor has a region of its own from the heap, acquired when its life begins. The reference: nothing
// is planned, so nothing can be planned wrong.
#pragma once

#include "counting.hpp"
#include "run.hpp"

#include <allot/device/host.hpp>

namespace demo {

class separate_memory : public mixed_by_host<separate_memory> {
public:
    separate_memory(const network& net, tally& counts)
        : net_{net}, device_{{}, counts}, regions_(net.tensors.size()) {}
    separate_memory(const separate_memory&) = delete;
    separate_memory& operator=(const separate_memory&) = delete;
    ~separate_memory() {
        for (const auto& held : regions_) {
            if (held) device_.release(held);
        }
    }

    void begin(std::size_t t) {
        const auto answer = device_.acquire({.size = net_.tensors[t].size});
        if (!answer) throw unavailable{"the heap gives no " + std::to_string(net_.tensors[t].size) + " bytes"};
        regions_[t] = *answer;
    }
    void end(std::size_t t) { device_.release(std::exchange(regions_[t], {})); }

    template <class Use>
    void for_pieces(std::size_t t, Use&& use) {
        use(regions_[t].base, regions_[t].size, std::size_t{0});
    }

private:
    const network& net_;
    counting<allot::host::heap> device_;
    std::vector<allot::region<void*>> regions_;
};

}  // namespace demo
