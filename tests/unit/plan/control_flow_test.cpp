#include <allot/plan/control_flow.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string_view>

namespace {

using indices = std::vector<std::uint32_t>;
using allot::flow_refusal;

/// A program that owns its arrays.
struct owner {
    struct step {
        indices reads, writes, next;
    };
    std::size_t tensors = 0;
    indices inputs, outputs;
    std::vector<step> steps;

    [[nodiscard]] allot::flow_lifetimes lifetimes() const {
        std::vector<allot::flow_step> views;
        for (const step& each : steps) views.push_back({each.reads, each.writes, each.next});
        return allot::find_lifetimes({tensors, inputs, outputs, views});
    }
};

/// Returns the steps of each tensor's lifetimes.
std::vector<std::set<std::int64_t>> steps_of(const allot::flow_lifetimes& found) {
    std::vector<std::set<std::int64_t>> made(found.first.size());
    const auto add = [&](std::size_t tensor, allot::lifetime live) {
        for (std::int64_t now = live.from; now != live.until; ++now) CHECK(made[tensor].insert(now).second);
    };
    for (std::size_t i = 0; i != made.size(); ++i) add(i, found.first[i]);
    for (const allot::plan_revival& each : found.revivals) add(each.buffer, each.live);
    return made;
}

/// Finds the live steps by the definition: it follows all paths of up to `longest` steps.
class all_paths {
public:
    all_paths(const owner& program, std::size_t longest)
        : program_{program}, longest_{longest}, live_(program.tensors), is_input_(program.tensors) {
        for (const std::uint32_t tensor : program.inputs) {
            live_[tensor].insert(0);
            is_input_[tensor] = true;
        }
        reached_.resize(program.steps.size());
        go(0);
    }
    [[nodiscard]] const std::vector<std::set<std::int64_t>>& live() const { return live_; }
    [[nodiscard]] bool reads_too_early() const { return too_early_; }
    [[nodiscard]] bool reaches_all() const { return std::ranges::find(reached_, false) == reached_.end(); }

private:
    void go(std::uint32_t now) {
        if (now == program_.steps.size()) {
            for (const std::uint32_t tensor : program_.outputs) read(tensor, path_.size());
            return;
        }
        if (path_.size() == longest_) return;
        reached_[now] = true;
        path_.push_back(now);
        const owner::step& step = program_.steps[now];
        for (const std::uint32_t tensor : step.reads) read(tensor, path_.size() - 1);
        for (const std::uint32_t tensor : step.writes) live_[tensor].insert(now);
        if (step.next.empty()) go(now + 1);
        for (const std::uint32_t next : step.next) go(next);
        path_.pop_back();
    }
    /// Adds the steps from the last write before position `at` of the path up to `at`.
    void read(std::uint32_t tensor, std::size_t at) {
        if (at < path_.size()) live_[tensor].insert(path_[at]);
        std::size_t from = at;
        bool found = false;
        while (from != 0 && !found) {
            --from;
            found = std::ranges::count(program_.steps[path_[from]].writes, tensor) != 0;
        }
        if (!found && !is_input_[tensor]) too_early_ = true;
        for (; from < at; ++from) live_[tensor].insert(path_[from]);
    }

    const owner& program_;
    std::size_t longest_;
    std::vector<std::set<std::int64_t>> live_;
    std::vector<bool> is_input_, reached_;
    indices path_;
    bool too_early_ = false;
};

}  // namespace

TEST_CASE("tensors of two branches are never live at the same step") {
    // x, an If with the branches 1 and 2, and y
    const owner program{4, {}, {3}, {{{}, {0}, {1, 2}}, {{0}, {1}, {3}}, {{0}, {2}, {}}, {{}, {3}, {}}}};
    const auto live = steps_of(program.lifetimes());
    CHECK(live[0] == std::set<std::int64_t>{0, 1, 2});
    CHECK(live[1] == std::set<std::int64_t>{1});
    CHECK(live[2] == std::set<std::int64_t>{2});
    CHECK(live[3] == std::set<std::int64_t>{3});
}

TEST_CASE("an output that each branch writes is not live in the other branch") {
    const owner program{
        3, {0}, {2}, {{{0}, {}, {1, 3}}, {{0}, {1}, {}}, {{1}, {2}, {4}}, {{0}, {2}, {}}, {{2}, {}, {}}}};
    const allot::flow_lifetimes found = program.lifetimes();
    CHECK(found.first[2] == allot::lifetime{2, 5});
    const auto live = steps_of(found);
    CHECK(live[0] == std::set<std::int64_t>{0, 1, 3});
    CHECK(live[1] == std::set<std::int64_t>{1, 2});
}

TEST_CASE("a variable of a loop has a gap, and a tensor from outside does not") {
    // 0: v, w =   1: t = v, w   2: u = t   3: v = u, to 1 or 4   4: y = v
    const owner program{
        5, {}, {4}, {{{}, {0, 1}, {}}, {{0, 1}, {2}, {}}, {{2}, {3}, {}}, {{3}, {0}, {1, 4}}, {{0}, {4}, {}}}};
    const auto live = steps_of(program.lifetimes());
    CHECK(live[0] == std::set<std::int64_t>{0, 1, 3, 4});
    CHECK(live[1] == std::set<std::int64_t>{0, 1, 2, 3});  // the next iteration reads it
    CHECK(live[2] == std::set<std::int64_t>{1, 2});
    CHECK(live[3] == std::set<std::int64_t>{2, 3});
    CHECK(live[4] == std::set<std::int64_t>{4});
}

TEST_CASE("steps in a row have the lifetimes from first to last use") {
    const owner program{4, {0, 3}, {2}, {{{0}, {1}, {}}, {{}, {}, {}}, {{1}, {2}, {}}, {{}, {}, {}}}};
    const allot::flow_lifetimes found = program.lifetimes();
    CHECK(found.first == std::vector<allot::lifetime>{{0, 1}, {0, 3}, {2, 4}, {0, 1}});
    CHECK(found.revivals.empty());
}

TEST_CASE("a program without steps has live inputs") {
    CHECK(owner{2, {0}, {0}, {}}.lifetimes().first == std::vector<allot::lifetime>{{0, 1}, {0, 0}});
    CHECK(owner{1, {}, {0}, {}}.lifetimes().error == allot::flow_error{flow_refusal::read_too_early, 0});
}

TEST_CASE("each mistake has its reason and place") {
    CHECK(owner{1, {}, {}, {{{}, {0}, {}}, {{1}, {}, {}}}}.lifetimes().error ==
          allot::flow_error{flow_refusal::no_such_tensor, 1});
    CHECK(owner{1, {}, {1}, {{{}, {0}, {}}}}.lifetimes().error == allot::flow_error{flow_refusal::no_such_tensor, 1});
    CHECK(owner{1, {}, {}, {{{}, {0}, {2}}}}.lifetimes().error == allot::flow_error{flow_refusal::no_such_step, 0});
    CHECK(owner{1, {}, {}, {{{}, {0}, {2}}, {{0}, {}, {}}, {}}}.lifetimes().error ==
          allot::flow_error{flow_refusal::unreachable, 1});
    const owner skipped{2, {}, {}, {{{}, {0}, {1, 2}}, {{}, {1}, {}}, {{1}, {}, {}}}};  // the jump to 2 skips the write
    CHECK(skipped.lifetimes().error == allot::flow_error{flow_refusal::read_too_early, 1});
    CHECK(skipped.lifetimes().first.empty());
    for (const auto reason : {flow_refusal::none, flow_refusal::no_such_tensor, flow_refusal::no_such_step,
                              flow_refusal::unreachable, flow_refusal::read_too_early})
        CHECK(allot::to_string(reason) != std::string_view{"unknown"});
}

TEST_CASE("a loop without an exit is permitted") {
    const owner program{2, {}, {1}, {{{}, {0}, {}}, {{0}, {1}, {1}}}};
    const auto live = steps_of(program.lifetimes());
    CHECK(live[0] == std::set<std::int64_t>{0, 1});
    CHECK(live[1] == std::set<std::int64_t>{1});  // the caller never reads it
}

TEST_CASE("random programs have the lifetimes of all their paths") {
    std::mt19937 random{17};
    const auto below = [&](std::size_t bound) { return static_cast<std::uint32_t>(random() % bound); };
    std::size_t valid = 0, early = 0, cut = 0, gaps = 0;
    for (int round = 0; round != 3000; ++round) {
        owner program;
        program.tensors = 1 + below(3);
        program.steps.resize(1 + below(5));
        const auto some = [&](indices& list, unsigned chance) {
            for (std::uint32_t tensor = 0; tensor != program.tensors; ++tensor)
                if (below(10) < chance) list.push_back(tensor);
        };
        some(program.inputs, 4);
        some(program.outputs, 2);
        std::size_t branches = 0;
        for (owner::step& step : program.steps) {
            some(step.reads, 2);
            some(step.writes, 4);
            const std::size_t ways = below(3);
            if (ways == 2 && ++branches > 2) continue;
            for (std::size_t i = 0; i != ways; ++i) step.next.push_back(below(program.steps.size() + 1));
        }
        const all_paths expected{program, 3 * program.steps.size() + 1};
        const allot::flow_lifetimes found = program.lifetimes();
        if (!expected.reaches_all()) {
            CHECK(found.error.reason == flow_refusal::unreachable);
            ++cut;
        } else if (expected.reads_too_early()) {
            CHECK(found.error.reason == flow_refusal::read_too_early);
            ++early;
        } else {
            REQUIRE(found.error.reason == flow_refusal::none);
            CHECK(steps_of(found) == expected.live());
            ++valid;
            gaps += found.revivals.size();
        }
    }
    CHECK(valid > 200);
    CHECK(early > 200);
    CHECK(cut > 200);
    CHECK(gaps > 50);
}
