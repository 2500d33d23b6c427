// Plans of graphs whose tensors share bytes: for the tests of share_bytes and share_branches.
#pragma once

#include <allot/plan/plan.hpp>
#include <allot/plan/share_bytes.hpp>
#include <allot/plan/validate_graph.hpp>

#include <doctest/doctest.h>

#include <utility>
#include <vector>

namespace graphs {

struct shared_plan {
    allot::graph_sharing sharing;
    std::vector<std::uint64_t> offsets;  // by tensor
    std::uint64_t peak = 0, bound = 0;
};

/// Plans the buffers of a graph, and checks that `validate(plan)` finds no violation.
template <class Validate>
shared_plan plan_shared(allot::graph_sharing sharing, Validate validate) {
    shared_plan made{std::move(sharing), {}};
    const auto planned = allot::plan(made.sharing.problem(), {.effort = 20'000});
    REQUIRE(planned);
    for (std::size_t i = 0; i != planned->places.size(); ++i)
        made.offsets.push_back(planned->places[i].offset + made.sharing.shift[i]);
    made.peak = planned->peak;
    made.bound = planned->bound;
    const allot::graph_violation found = validate(std::as_const(made));
    INFO(found.what(), ' ', found.first, ' ', found.second);
    REQUIRE(found == allot::graph_violation{});
    return made;
}

}  // namespace graphs
