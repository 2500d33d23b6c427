// host: one arena on the heap, as large as the plan's peak, and raw pointers into it.
//
//     one region   │ t4 │  t0   │      t2      │ … │        every tensor at its planned offset, for as long as it lives
#pragma once

#include "planned_arena.hpp"

#include <allot/device/host.hpp>

namespace demo {

class host_memory : public mixed_by_host<host_memory> {
public:
    host_memory(const network& net, tally& counts)
        : wanted_{requests_of(net, host_align)},
          plan_{checked_plan(wanted_, {{.align = host_align}})},
          tensors_{{}, counts, plan_.peaks[0], wanted_.size()} {}

    void begin(std::size_t t) { tensors_.claim(t, {plan_.places[t].offset, wanted_[t].size}); }
    void end(std::size_t t) { tensors_.give_back(t); }

    template <class Use>
    void for_pieces(std::size_t t, Use&& use) {
        use(tensors_[t].address, tensors_[t].size, std::size_t{0});
    }

    [[nodiscard]] std::size_t arena_bytes() const { return tensors_.size(); }
    [[nodiscard]] const placement& places() const { return plan_; }

private:
    std::vector<request> wanted_;
    placement plan_;
    planned_arena<allot::host::heap> tensors_;
};

}  // namespace demo
