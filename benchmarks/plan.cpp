// SPDX-License-Identifier: BSL-1.0
// plan: tables of the planner's peak, spilled bytes and time. Run by ./dev bench plan.
//
//     plan [DATA]         run in the root of the repository; DATA: published instances (default: $ALLOT_DATA)
//
// Hard instances are generated (plan_instances.hpp), and the repository contains networks. Published instances are
// planned if their folder exists; otherwise the program reports the missing folder. The validator checks every plan,
// and an error ends the program. "greedy by size" is a peer (examples/apps/memory_advisor/rules.hpp) on the same
// machine in the same run. Times below a second are the best of three.
#include "graph_orders.hpp"
#include "plan_in_time.hpp"
#include "plan_instances.hpp"
#include "transformers.hpp"

#include "../examples/apps/memory_advisor/rules.hpp"
#include "../examples/apps/memory_planner/paging.hpp"
#include "../examples/apps/memory_planner/planning.hpp"
#ifdef ALLOT_PLAN_JSON
#include "../examples/apps/memory_planner/problem.hpp"
#endif

#include <allot/plan/queues.hpp>
#include <allot/plan/validate_queues.hpp>
#include <allot/plan/validate_ranged.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>

namespace {

namespace fs = std::filesystem;
using instances::buffers, instances::instance, instances::mebibyte;
using size = unsigned long long;

class stopwatch {
public:
    [[nodiscard]] double seconds() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
    }

private:
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// Returns the result of `make` and measures its least time: of three runs if a run takes less than a second.
template <class Make>
auto timed(double& seconds, Make make) {
    for (int again = 0;; ++again) {
        const stopwatch time;
        auto made = make();
        seconds = again == 0 ? time.seconds() : std::min(seconds, time.seconds());
        if (again == 2 || seconds >= 1) return made;
    }
}

void check(const buffers& of, const allot::memory_plan& made, std::uint64_t capacity) {
    std::vector<std::uint64_t> offsets;
    for (const allot::plan_place& place : made.places) offsets.push_back(place.offset);
    allot::plan_heap workspace{allot::validate_space({.buffers = of})};
    if (allot::validate({.buffers = of}, offsets, capacity, workspace).kind != allot::plan_violation_kind::none)
        throw std::logic_error{"the plan is invalid"};
}

allot::memory_plan plan(const buffers& of, const allot::plan_options& options, double& seconds) {
    auto made = timed(seconds, [&] { return allot::plan({.buffers = of}, options); });
    if (!made) throw std::runtime_error{"the problem is invalid"};
    check(of, *made, made->peak);
    return *std::move(made);
}

/// Returns the lowest plan found within `limit` seconds.
allot::memory_plan plan_for(const buffers& of, double limit, double& seconds) {
    const stopwatch time;
    auto made = planner::plan_again_and_again(
        [&](const allot::plan_options& options, auto watch) { return allot::plan({.buffers = of}, options, watch); },
        {}, [&](allot::plan_progress) { return time.seconds() >= limit; });
    seconds = time.seconds();
    if (!made) throw std::runtime_error{"the problem is invalid"};
    check(of, *made, made->peak);
    return *std::move(made);
}

double ratio(std::uint64_t height, std::uint64_t bound) {
    return bound == 0 ? 1 : static_cast<double>(height) / static_cast<double>(bound);
}

class geometric_mean {
public:
    void add(double value) {
        sum_ += std::log(value);
        ++count_;
    }
    [[nodiscard]] double value() const { return std::exp(sum_ / count_); }

private:
    double sum_ = 0;
    int count_ = 0;
};

void title(const char* what, const char* columns) {
    std::printf("\n%s\n\n%s\n", what, columns);
    std::string rule;
    for (const char* at = columns; *at != '\0'; ++at)
        if (*at == '|') rule += rule.empty() ? "|---" : "|--:";
    rule.resize(rule.size() - 3);
    std::printf("%s\n", rule.c_str());
}

/// Reports the instances with a plan of at most 1 MiB, and the time to find it.
void fit(const std::vector<instance>& of, const char* what) {
    title(what, "| fits 1 MiB | buffers | bound | found | time | greedy by size: height / bound |");
    double sum = 0, worst = 0;
    geometric_mean theirs;
    std::size_t found = 0;
    for (const instance& each : of) {
        double seconds = 0;
        const allot::memory_plan made = plan(each.of, {.capacity = mebibyte}, seconds);
        const double greedy = ratio(rules::by_size(each.of).peak, made.bound);
        std::printf("| %s | %zu | %llu | %s | %.1f ms | %.3f |\n", each.name.c_str(), each.of.size(),
                    static_cast<size>(made.bound), made.peak <= mebibyte ? "yes" : to_string(made.status),
                    1000 * seconds, greedy);
        std::fflush(stdout);
        found += made.peak <= mebibyte;
        sum += seconds;
        worst = std::max(worst, seconds);
        theirs.add(greedy);
    }
    std::printf("| all | | | %zu of %zu | %.1f ms, worst %.1f ms | %.3f |\n", found, of.size(), 1000 * sum,
                1000 * worst, theirs.value());
}

/// Reports the lowest plans found in three seconds each.
void minimise(const std::vector<instance>& of, const char* what) {
    title(what, "| lowest in 3 s | buffers | bound | peak | peak / bound | best known | proved | time |");
    for (const instance& each : of) {
        double seconds = 0;
        const allot::memory_plan made = plan_for(each.of, 3, seconds);
        const std::string known = each.known == 0 ? "-" : std::to_string(each.known);
        std::printf("| %s | %zu | %llu | %llu | %.4f | %s | %s | %.2f s |\n", each.name.c_str(), each.of.size(),
                    static_cast<size>(made.bound), static_cast<size>(made.peak), ratio(made.peak, made.bound),
                    known.c_str(), made.status == allot::plan_status::optimal ? "yes" : "no", seconds);
        std::fflush(stdout);
    }
}

void network_row(const std::string& name, const std::vector<fs::path>& files) {
    std::size_t at_bound = 0, theirs = 0, most = 0;
    double worst = 0, longest_greedy = 0;
    for (const fs::path& file : files) {
        const instance each = instances::read(file);
        double seconds = 0, greedy = 0;
        const allot::memory_plan made = plan(each.of, {}, seconds);
        const auto peer = timed(greedy, [&] { return rules::by_size(each.of); });
        at_bound += made.peak == made.bound;
        theirs += peer.peak == made.bound;
        most = std::max(most, each.of.size());
        worst = std::max(worst, seconds);
        longest_greedy = std::max(longest_greedy, greedy);
    }
    std::printf("| %s | %zu | %zu | %zu | %.2f ms | %zu | %.2f ms |\n", name.c_str(), files.size(), most, at_bound,
                1000 * worst, theirs, 1000 * longest_greedy);
    std::fflush(stdout);
}

/// Reports the plans of a large instance for several time limits.
void large_row(const instance& each, std::initializer_list<double> limits) {
    double greedy = 0;
    const auto peer = timed(greedy, [&] { return rules::by_size(each.of); });
    for (const double limit : limits) {
        double seconds = 0;
        const allot::memory_plan made = plan_for(each.of, limit, seconds);
        std::printf("| %s | %zu | %.2f s | %.3f s | %.4f | %s | %.4f | %.2f s |\n", each.name.c_str(), each.of.size(),
                    limit, seconds, ratio(made.peak, made.bound), to_string(made.status), ratio(peer.peak, made.bound),
                    greedy);
        std::fflush(stdout);
    }
}

/// Reports the bytes that spill from a fast memory to an unlimited one. `least`: bytes that must spill, or 0 for the
/// planner's own lower bound, which is often less. `known`: bytes that a known solution spills, or 0.
struct spilling {
    geometric_mean ours, theirs;
    double longest = 0;

    void row(const std::string& name, const buffers& of, std::uint64_t capacity, std::uint64_t least,
             std::uint64_t known) {
        const allot::plan_memory memories[] = {{.capacity = capacity}, {.cost = 1}};
        const allot::memories_problem problem{.buffers = {.buffers = of}, .memories = memories};
        double seconds = 0;
        const auto made = timed(seconds, [&] { return allot::plan_memories(problem); });
        if (!made || made->unplaced != 0) throw std::runtime_error{"not all buffers can be placed"};
        for (const std::uint32_t memory : {0U, 1U}) {
            buffers there;
            std::vector<std::uint64_t> offsets;
            for (std::size_t i = 0; i != of.size(); ++i)
                if (made->places[i].memory == memory) {
                    there.push_back(of[i]);
                    offsets.push_back(made->places[i].offset);
                }
            allot::plan_heap workspace{allot::validate_space({.buffers = there})};
            if (allot::validate({.buffers = there}, offsets, memories[memory].capacity, workspace).kind !=
                allot::plan_violation_kind::none)
                throw std::logic_error{"the plan is invalid"};
        }
        if (least == 0) least = made->bound;
        const double mine = ratio(made->spilled, least),
                     greedy = ratio(rules::by_size(of, std::span{&capacity, 1}).spilled, least);
        std::printf("| %s | %zu | %llu KiB | %llu | %s | %llu | %.3f | %.3f s | %.3f |\n", name.c_str(), of.size(),
                    static_cast<size>(capacity / 1024), static_cast<size>(least),
                    known == 0 ? "-" : std::to_string(known).c_str(), static_cast<size>(made->spilled), mine, seconds,
                    greedy);
        std::fflush(stdout);
        ours.add(mine);
        theirs.add(greedy);
        longest = std::max(longest, seconds);
    }
    void mean() const {
        std::printf("| geometric mean | | | | | | %.3f | longest %.3f s | %.3f |\n", ours.value(), longest,
                    theirs.value());
    }
};

void pages_row(const instance& each, std::uint64_t page_size) {
    planner::input given;
    given.path = each.name;
    given.buffers = each.of;
    given.names.resize(each.of.size());
    given.memory_of.resize(each.of.size());
    const allot::plan_problem problem{.buffers = each.of};
    std::vector<std::uint32_t> first(each.of.size() + 1), pages(*allot::pages_in_all(problem, page_size));
    allot::plan_heap workspace{allot::pages_space(problem)};
    double seconds = 0;
    (void)timed(seconds, [&] { return allot::plan_pages(problem, page_size, first, pages, workspace); });
    const planner::outcome made = planner::all_in_pages(given, page_size);
    if (const std::string mistake = planner::mistake_in_pages(given, made); !mistake.empty())
        throw std::logic_error{mistake};
    std::printf("| %s | %zu | %llu | %llu | %llu | %.1f ms |\n", each.name.c_str(), each.of.size(),
                static_cast<size>(pages.size()), static_cast<size>(made.memories[0].plan.bound / page_size),
                static_cast<size>(made.pages->count), 1000 * seconds);
}

/// Reports the plans of instances in which every second buffer lies in pages, in the order of the file.
void mixed_row(const std::string& name, const std::vector<instance>& all, std::uint64_t page_size) {
    std::size_t at_bound = 0, most = 0;
    double sum = 0, worst = 0, longest = 0;
    for (const instance& each : all) {
        std::vector<std::size_t> paged;
        for (std::size_t i = 1; i < each.of.size(); i += 2) paged.push_back(i);
        const allot::mixed_problem problem{{.buffers = each.of}, page_size, paged};
        double seconds = 0;
        const auto made = timed(seconds, [&] { return allot::plan_mixed(problem); });
        if (!made || allot::validate_mixed(problem, *made, made->peak) != allot::mixed_violation{})
            throw std::logic_error{each.name + ": the plan with pages is invalid"};
        at_bound += made->peak == made->bound;
        const double above = ratio(made->peak, made->bound) - 1;
        sum += above;
        worst = std::max(worst, above);
        most = std::max(most, each.of.size());
        longest = std::max(longest, seconds);
    }
    std::printf("| %s | %llu | %zu | %zu | %zu | %.3f %% | %.3f %% | %.1f ms |\n", name.c_str(),
                static_cast<size>(page_size), all.size(), most, at_bound,
                100 * sum / static_cast<double>(std::max<std::size_t>(all.size(), 1)), 100 * worst, 1000 * longest);
    std::fflush(stdout);
}
void mixed_rows(const std::string& name, const std::vector<fs::path>& files) {
    std::vector<instance> all;
    for (const fs::path& file : files) all.push_back(instances::read(file));
    for (const std::uint64_t page_size : {256, 4096, 65'536})
        if (!all.empty()) mixed_row(name, all, page_size);
}

#ifdef ALLOT_PLAN_JSON
void captures_row(const std::string& name, const std::vector<fs::path>& files) {
    std::size_t optimal = 0, fits = 0, unknown = 0;
    double sum = 0, worst = 0;
    std::vector<std::string> infeasible;
    for (const fs::path& file : files) {
        const planner::input given = planner::read_json(demo::text_of(file.string()), file.string());
        const stopwatch time;
        const planner::outcome made =
            planner::plan_input(given, false, [](std::size_t, allot::plan_progress) { return false; });
        const double seconds = time.seconds();
        if (const std::string mistake = planner::mistake_in(given, made); !mistake.empty())
            throw std::logic_error{file.string() + ": " + mistake};
        sum += seconds;
        worst = std::max(worst, seconds);
        optimal += made.status() == allot::plan_status::optimal;
        fits += made.fits();
        unknown += made.status() == allot::plan_status::out_of_budget;
        if (made.status() != allot::plan_status::infeasible) continue;
        for (std::size_t m = 0; m != given.memories.size(); ++m)
            if (const allot::plan_summary& plan = made.memories[m].plan; plan.status == allot::plan_status::infeasible)
                infeasible.push_back(file.stem().string() + ": memory " + given.memories[m].name + " needs " +
                                     std::to_string(plan.bound) + " bytes at step " + std::to_string(plan.step) +
                                     " and has " + std::to_string(given.memories[m].capacity));
    }
    std::printf("| %s | %zu | %zu | %zu | %zu | %zu | %.2f s | %.1f ms |\n", name.c_str(), files.size(), fits, optimal,
                infeasible.size(), unknown, sum, 1000 * worst);
    for (const std::string& reason : infeasible) std::printf("\ninfeasible, proved: %s\n", reason.c_str());
}
#endif

/// The folder of published instances.
class data_folder {
public:
    explicit data_folder(fs::path root) : root_{std::move(root)} {}

    /// Returns the files of one kind below a folder. Remembers the folder if there are no such files.
    [[nodiscard]] std::vector<fs::path> files(const std::string& folder, const std::string& end) {
        std::vector<fs::path> found = instances::files_in(root_ / folder, end);
        if (found.empty() && std::find(missing_.begin(), missing_.end(), folder) == missing_.end())
            missing_.push_back(folder);
        return found;
    }
    void say_what_is_missing() const {
        std::printf("\n");
        for (const std::string& each : missing_)
            std::printf("skipped: no instances in %s\n", (root_ / each).string().c_str());
    }

private:
    fs::path root_;
    std::vector<std::string> missing_;
};

/// For minimalloc's instances A to K: the lowest known heights, and the least bytes that spill from 768 and 512 KiB
/// regardless of packing. The latter are solutions of an integer program by HiGHS, which selects buffers such that no
/// step exceeds the capacity.
struct published {
    std::uint64_t lowest, spilled_768, spilled_512;
};
const std::map<std::string, published> minimalloc{
    {"A", {1048576, 683008, 5934080}},  {"B", {1048576, 759808, 6111232}},   {"C", {1039360, 759808, 5167104}},
    {"D", {986112, 312320, 1123328}},   {"E", {1048576, 2580480, 8010752}},  {"F", {1048576, 2442240, 6821888}},
    {"G", {1048576, 2418688, 6805504}}, {"H", {1048576, 1856512, 6157312}},  {"I", {1048576, 11079680, 23019520}},
    {"J", {990208, 487424, 2212864}},   {"K", {1048576, 28837888, 44636160}}};

/// Plans a graph for all values of its symbols, and compares it with a plan for each of some values.
void symbols_row(transformers::graph of) {
    const allot::ranged_problem problem = of.problem();
    double seconds = 0;
    const auto made = timed(seconds, [&] { return allot::plan_ranged(problem); });
    if (!made) throw std::runtime_error{of.name + ": " + made.error().what()};
    if (const auto found = allot::validate_ranged(problem, *made); found.kind != allot::ranged_violation_kind::none)
        throw std::logic_error{of.name + ": " + found.what()};
    std::string ranges;
    for (std::size_t i = 0; i != of.symbols.size(); ++i)
        ranges += (i == 0 ? "" : ", ") + of.symbols[i] + ' ' + std::to_string(of.least[i]) + " to " +
                  std::to_string(of.most[i]);
    std::uint64_t excess = 0;
    for (const allot::ranged_piece& each : made->pieces) excess = std::max(excess, each.excess);
    char proved[32] = "not proved";
    if (excess != allot::ranged_piece::unproved)
        std::snprintf(proved, sizeof proved, "%.1f %%", static_cast<double>(excess) / 10);

    constexpr int samples = 40;
    std::mt19937 random{1};
    double most = 0, sum = 0, bounds = 0, placing = 0;
    std::vector<allot::plan_place> places(of.buffers.size());
    for (int i = 0; i != samples; ++i) {
        std::vector<std::uint64_t> values;
        for (std::size_t k = 0; k != of.most.size(); ++k) {  // corners first, then small and large values alike
            const double share = i < 8 ? static_cast<double>(i >> k & 1) : static_cast<double>(random() % 1001) / 1000;
            values.push_back(static_cast<std::uint64_t>(std::pow(static_cast<double>(of.most[k]), share) + 0.5));
        }
        std::uint64_t peak = 0;
        double once = 0;
        peak = timed(once, [&] { return made->place(values, places).value(); });
        buffers alone;
        for (std::size_t k = 0; k != places.size(); ++k)
            alone.push_back({places[k].size, of.buffers[k].live, of.buffers[k].align});
        const std::uint64_t best = allot::plan({.buffers = alone}).value().peak;
        most = std::max(most, ratio(peak, best));
        sum += ratio(peak, best) / samples;
        bounds += ratio(made->peak, best) / samples;
        placing += once / samples;
    }
    std::printf("| %s | %s | %zu | %zu | %zu | %.2f s | %s | %.4f | %.4f | %.1f | %.1f µs |\n", of.name.c_str(),
                ranges.c_str(), of.buffers.size(), made->pieces.size(), made->orders.size(), seconds, proved, sum, most,
                bounds, placing * 1e6);
}

/// The operators of a network on several queues: an operator follows the first one that it reads from if that one is the
/// last of its queue, and takes the queue with the fewest operators otherwise.
class queued_network {
public:
    queued_network(const planner::input& of, std::size_t queues) {
        for (const allot::plan_buffer& each : of.buffers) buffers_.push_back({each.size, each.align});
        std::map<std::int64_t, std::vector<allot::plan_access>> steps;
        for (const allot::plan_access& each : of.accesses) steps[each.step].push_back(each);
        constexpr std::size_t none = ~std::size_t{0};
        std::vector<std::size_t> last(queues, none), load(queues), writer(buffers_.size(), none);
        for (const auto& [step, accesses] : steps) {
            const std::size_t now = queues_.size();
            std::size_t queue = none;
            for (const allot::plan_access& each : accesses)
                if (const std::size_t from = writer[each.buffer];
                    from != none && queue == none && last[queues_[from]] == from)
                    queue = queues_[from];
            if (queue == none)
                queue = static_cast<std::size_t>(std::min_element(load.begin(), load.end()) - load.begin());
            for (const allot::plan_access& each : accesses) {
                uses_.push_back({each.buffer, now});
                if (const std::size_t from = writer[each.buffer]; from != none && queues_[from] != queue)
                    waits_.push_back({now, from});
            }
            for (const allot::plan_access& each : accesses)
                if (each.writes) writer[each.buffer] = now;
            queues_.push_back(queue);
            last[queue] = now;
            ++load[queue];
        }
    }
    [[nodiscard]] allot::queued_plan plan(std::span<const std::size_t> queues, double& seconds) const {
        const allot::queued_problem problem{buffers_, queues, waits_, uses_};
        auto made = timed(seconds, [&] { return allot::plan_queues(problem); });
        if (!made) throw std::runtime_error{made.error().what()};
        if (allot::validate_queues(problem, *made, made->peak).kind != allot::queued_violation_kind::none)
            throw std::logic_error{"the plan is invalid"};
        return *std::move(made);
    }
    [[nodiscard]] const std::vector<std::size_t>& queues() const { return queues_; }
    /// Returns the sum of the plans of all queues, each with the buffers that it uses first.
    [[nodiscard]] std::uint64_t separate() const {
        std::vector<std::size_t> first(buffers_.size(), queues_.size());
        for (const allot::queued_use& each : uses_) first[each.buffer] = std::min(first[each.buffer], each.operation);
        std::uint64_t sum = 0;
        for (std::size_t queue = 0; queue <= *std::max_element(queues_.begin(), queues_.end()); ++queue) {
            std::vector<allot::queued_buffer> mine = buffers_;
            for (std::size_t i = 0; i != mine.size(); ++i)
                if (first[i] == queues_.size() || queues_[first[i]] != queue) mine[i].size = 0;
            sum += allot::plan_queues({mine, queues_, waits_, uses_}).value().peak;
        }
        return sum;
    }

private:
    std::vector<allot::queued_buffer> buffers_;
    std::vector<std::size_t> queues_;
    std::vector<allot::queue_wait> waits_;
    std::vector<allot::queued_use> uses_;
};

void queues_row(const fs::path& file, std::size_t queues) {
    const planner::input of =
        planner::input_of(demo::network_reader{file.string()}.read(demo::text_of(file.string())), file.string());
    const queued_network network{of, queues};
    double seconds = 0, unused = 0;
    const allot::queued_plan made = network.plan(network.queues(), seconds);
    const std::vector<std::size_t> one(network.queues().size(), 0);
    const std::uint64_t alone = network.plan(one, unused).peak;
    const auto kib = [](std::uint64_t bytes) { return static_cast<double>(bytes) / 1024; };
    std::printf("| %s | %zu | %zu | %.0f | %.4f | %s | %.0f | %.0f | %.3f s |\n", file.stem().c_str(), queues,
                of.buffers.size(), kib(made.peak), ratio(made.peak, made.bound), allot::to_string(made.status),
                kib(alone), kib(network.separate()), seconds);
}

}  // namespace

int main(int argc, char** argv) try {
    if (!fs::is_directory("examples/apps/network_demo"))
        throw std::runtime_error{"run this program in the root of the repository"};
    const char* const folder = argc > 1 ? argv[1] : std::getenv("ALLOT_DATA");
    data_folder data{folder != nullptr ? folder : "$ALLOT_DATA"};
    const std::vector<instance> cut = instances::cut();
    std::vector<instance> hard;
    for (const fs::path& file : data.files("minimalloc", ".1048576.csv")) {
        instance each = instances::read(file);
        each.name = each.name.substr(0, each.name.find('.'));
        each.known = minimalloc.at(each.name).lowest;
        hard.push_back(std::move(each));
    }

    fit(cut, "Generated hard instances: a plan of 1 MiB");
    if (!hard.empty())
        fit(hard,
            "Hard instances of minimalloc: a plan of 1 MiB (target: 800 ms in total; better 300 ms, and each at most "
            "100 ms)");
    minimise(cut, "Generated hard instances: the lowest plan");
    if (!hard.empty())
        minimise(hard,
                 "Hard instances of minimalloc: the lowest plan (target: the best known; proved, except for D and J)");

    title("Real networks (target: all at the bound, in less than 1 ms each)",
          "| set | networks | most buffers | at the bound | longest | greedy by size: at the bound | longest |");
    network_row("examples/apps/network_demo", instances::files_in("examples/apps/network_demo", ".network"));
    for (const char* set : {"glow", "tflite-micro", "tvm-usmp", "vela"})
        if (const auto files = data.files(set, ".csv"); !files.empty()) network_row(set, files);

    title("Order of operators, and shared bytes: bytes of the plan", "| network | given | ordered | in place | both |");
    for (const fs::path& file : instances::files_in("examples/apps/network_demo", ".network"))
        graph_orders::network_row(file.string(), file.stem().string());
    title("Order of operators, random graphs (target: all of 32 operators proved)",
          "| operators | optimal, proved | least saved | most saved | above the bound, most | longest |");
    for (const std::uint32_t count : {16u, 32u, 64u, 200u}) graph_orders::wired_row(count);

    title("Large instances (target: resnet50 at the bound in 0.25 s; pangu 1.0076 in 1 s; S_1 1.016 in 3 s)",
          "| instance | buffers | budget | time | peak / bound | status | greedy by size: height / bound | time |");
    large_row({"scattered", instances::scattered(1, 20'000, 1'000, 100'000)}, {0.5, 1});
    for (const fs::path& file : data.files("idealloc", ".csv")) {
        const instance each = instances::read(file);
        if (each.name == "S_1") large_row(each, {2, 3});
        else if (each.name == "resnet50") large_row(each, {0.25});
        else large_row(each, {0.5, 1});
    }

    constexpr std::uint64_t fast_memories[] = {768 * 1024, 512 * 1024};
    constexpr const char* spilled =
        "| instance | buffers | fast memory | lower bound | known solution | spilled | ratio | time | greedy by size: "
        "ratio |";
    title("Spilling, generated instances: ratio to the planner's lower bound", spilled);
    for (const std::uint64_t capacity : fast_memories) {
        spilling sums;
        for (std::uint32_t seed = 1; seed <= 5; ++seed) {
            const instances::overfull made = instances::overfill(seed, 100 + 50 * seed, capacity);
            sums.row("overfull " + std::to_string(seed), made.of, capacity, 0, made.too_many);
        }
        sums.mean();
    }
    if (!hard.empty()) {
        title(
            "Spilling, instances of minimalloc: ratio to the lower bound for any packing (target means: 1.5 of 768 "
            "KiB, 1.15 of 512 KiB)",
            spilled);
        for (const std::uint64_t capacity : fast_memories) {
            spilling sums;
            for (const instance& each : hard) {
                const published& known = minimalloc.at(each.name);
                sums.row(each.name, each.of, capacity, capacity == 768 * 1024 ? known.spilled_768 : known.spilled_512,
                         0);
            }
            sums.mean();
        }
    }

    title("Two memories with half of the fullest step's bytes (target: each plan of 62,185 buffers in 2 s)",
          "| program | buffers | without copies | cost / bound | effort | beside the steps | time / bound | without "
          "copies | copies | effort |");
    for (const std::size_t count : {2'000, 62'185}) {
        in_time::row("training", in_time::training(count));
        in_time::row("scattered", in_time::scattered(count));
    }

    title("Pages (target: the bound, 60,000 buffers in 20 ms)",
          "| instance | buffers | sum of pages | bound | pages | time |");
    pages_row({"scattered", instances::scattered(2, 60'000, 100, 100'000)}, 4096);
    for (const fs::path& file : data.files("idealloc", ".csv")) pages_row(instances::read(file), 65536);

    title("Pages beside contiguous buffers: every second buffer in pages (target: networks at the bound)",
          "| set | page | instances | most buffers | at the bound | mean above it | most above it | longest |");
    for (const std::uint64_t page_size : {1024, 4096, 3072}) mixed_row("generated", cut, page_size);
    for (const std::uint64_t page_size : {1024, 4096, 3072})
        if (!hard.empty()) mixed_row("minimalloc", hard, page_size);
    mixed_rows("examples/apps/network_demo", instances::files_in("examples/apps/network_demo", ".network"));
    for (const char* set : {"glow", "tflite-micro", "tvm-usmp", "vela"}) mixed_rows(set, data.files(set, ".csv"));
    mixed_row("scattered", {{"scattered", instances::scattered(2, 60'000, 100, 100'000)}}, 4096);
    for (const fs::path& file : data.files("idealloc", ".csv"))
        mixed_row(file.stem().string(), {instances::read(file)}, 65'536);

    title("Transformers, all values of their symbols, beside 40 plans for one value each (target: at most 1.05)",
          "| graph | symbols | buffers | pieces | orders | time | proved above the bound | mean ratio | most | "
          "bytes for the largest values, mean ratio | `place` |");
    for (transformers::graph& each : transformers::all()) symbols_row(std::move(each));

    title("Operators on several queues, in KiB: one plan, beside one queue and beside a memory for each queue",
          "| network | queues | buffers | peak | peak / bound | status | one queue | separate memories | time |");
    for (const fs::path& file : instances::files_in("examples/apps/network_demo", ".network"))
        for (const std::size_t queues : {2, 4}) queues_row(file, queues);

#ifdef ALLOT_PLAN_JSON
    title("Captures of compilers, with their constraints",
          "| set | captures | fit and are valid | optimal | infeasible, proved | unknown | total time | longest |");
    captures_row("kernel.json", {"examples/apps/memory_planner/kernel.json"});
    if (const auto files = data.files("dsa-solver", ".json"); !files.empty()) captures_row("dsa-solver", files);
#else
    std::printf("\nskipped: captures, because this program was built without nlohmann's JSON library\n");
#endif
    data.say_what_is_missing();
    return 0;
} catch (const std::exception& reason) {
    std::fprintf(stderr, "plan: %s\n", reason.what());
    return 2;
}
