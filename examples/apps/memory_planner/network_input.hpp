// SPDX-License-Identifier: BSL-1.0
// network_input: the tensors of a network as buffers. A tensor lives from the step that writes it up to and including
// the last step that reads it. In a network with branches and loops it may have several lifetimes: other buffers may use
// its bytes between them.
#pragma once

#include "../network_demo/network.hpp"
#include "input.hpp"

namespace planner {

[[nodiscard]] inline input input_of(const demo::network& net, std::string path) {
    input made;
    made.path = std::move(path);
    made.format = "a network";
    const bool has_branches = net.has_branches();
    made.has_branches = has_branches;
    made.columns = has_branches ? "id,lower,upper,size,gaps" : "id,lower,upper,size";
    for (const demo::tensor& each : net.tensors) {
        const std::size_t id = made.buffers.size();
        const allot::lifetime live{static_cast<std::int64_t>(each.first), static_cast<std::int64_t>(each.last) + 1};
        made.rows.push_back({id, std::to_string(id) + ',' + std::to_string(live.from) + ',' +
                                     std::to_string(live.until) + ',' + std::to_string(each.size)});
        made.buffers.push_back({.size = each.size, .live = has_branches ? each.lives.front() : live});
        made.names.push_back(each.name);
        made.memory_of.push_back(0);
        if (!has_branches) continue;
        std::string gaps;
        for (std::size_t i = 1; i < each.lives.size(); ++i) {
            if (i != 1) gaps += ' ';
            gaps += std::to_string(each.lives[i - 1].until) + '-' + std::to_string(each.lives[i].from);
            made.revivals.push_back({id, each.lives[i]});
        }
        made.rows.back().text += ',' + gaps;
    }
    for (std::size_t now = 0; now != net.steps.size(); ++now) {
        for (const std::size_t id : net.steps[now].reads) made.accesses.push_back({id, static_cast<std::int64_t>(now)});
        for (const std::size_t id : net.steps[now].writes)
            made.accesses.push_back({id, static_cast<std::int64_t>(now), true});
    }
    for (std::size_t id = 0; id != net.tensors.size(); ++id)  // the user of the network reads its outputs
        if (net.tensors[id].is_output) made.accesses.push_back({id, static_cast<std::int64_t>(net.tensors[id].last)});
    if (made.buffers.empty()) throw input_error{made.path + ": the network has no tensors"};
    return made;
}

}  // namespace planner
