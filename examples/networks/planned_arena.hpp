// planned_arena: the tensors that a plan gives an offset, in one arena that is exactly as large as the plan needs.
// Every tensor is claimed at its offset when its life begins and given back when it ends: the allocator refuses a claim
// on a byte that is taken, so that it proves the plan once more.
#pragma once

#include "counting.hpp"
#include "network.hpp"
#include "placement.hpp"
#include "run.hpp"

#include <allot/arena.hpp>
#include <allot/strategy/best_fit.hpp>

namespace demo {

/// What every tensor in host memory is aligned to.
inline constexpr std::size_t host_align = 64;

/// The requests of a network's tensors at one alignment.
[[nodiscard]] inline std::vector<request> requests_of(const network& net, std::size_t align) {
    std::vector<request> wanted;
    for (const tensor& t : net.tensors) wanted.push_back({t.size, align, t.first, t.last});
    return wanted;
}

/// A plan, checked; throws when there is none, or when the planner has made a mistake.
[[nodiscard]] inline placement checked_plan(const std::vector<request>& wanted, const std::vector<space>& spaces) {
    auto made = plan(wanted, spaces);
    if (!made) throw std::runtime_error{"the planner found no place for a tensor"};
    if (const std::string why = first_mistake(wanted, spaces, *made); !why.empty())
        throw std::logic_error{"the planner made a mistake: " + why};
    return std::move(*made);
}

template <class Device>
class planned_arena {
    using strategy = allot::best_fit<allot::best_fit_options{.store = allot::node_store::side_table}>;
    using arena = allot::arena<counting<Device>, strategy, allot::growth::none,
                               allot::arena_options{.align = host_align}>;

public:
    using block = typename arena::block_type;

    /// Acquires `size` bytes; none at all for a plan without a byte.
    planned_arena(Device device, tally& counts, std::size_t size, std::size_t tensors)
        : arena_{counting<Device>{std::move(device), counts}, size}, blocks_(tensors) {
        if (size != 0 && arena_.size() == 0)
            throw unavailable{"the device gives no " + std::to_string(size) + " bytes at once (its error: " +
                              std::to_string(arena_.diagnose({.size = size}).device_error) + ")"};
    }

    void claim(std::size_t tensor, allot::extent where) {
        blocks_[tensor] = arena_.claim(where);
        if (!blocks_[tensor])
            throw std::logic_error{"the arena refuses tensor " + std::to_string(tensor) + " its planned place"};
    }
    void give_back(std::size_t tensor) { arena_.deallocate(std::exchange(blocks_[tensor], block{})); }

    [[nodiscard]] const block& operator[](std::size_t tensor) const { return blocks_[tensor]; }
    [[nodiscard]] std::size_t size() const { return arena_.size(); }

private:
    arena arena_;
    std::vector<block> blocks_;
};

}  // namespace demo
