// SPDX-License-Identifier: BSL-1.0
// network_demo: runs real networks in one arena on several kinds of memory, and compares the results.
//
//     network_demo --svg pictures squeezenet.network alexnet.network
//
// Every network runs in every memory; all digests must be equal. See `network_demo --help`.
#include "arguments.hpp"
#include "buckets.hpp"
#include "host_memory.hpp"
#include "optional_memories.hpp"
#include "progress.hpp"
#include "separate_memory.hpp"
#include "svg.hpp"
#include "table.hpp"
#include "tightly_coupled_memory.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <set>
#include <utility>

namespace {

constexpr const char* help = R"(usage: network_demo [OPTIONS] FILE.network...

Runs each network in each kind of memory. Every operator reads every byte of its inputs and writes every byte of its
outputs, mixed with position and content. All digests are equal only if no two live tensors share a byte and all offsets
and rows are correct.

  --memory NAME   host, opencl, vulkan, cuda, hip, metal, mpi, shmem, tightly_coupled or separate; may be repeated
                  (default: host, opencl, vulkan, tightly_coupled and separate)
  --svg DIR       write a picture of each network: time across, addresses up, a rectangle for each tensor
  --json FILE     write the table as a list of objects
  --help          print this text

Columns of the table, sizes in bytes:
  sum of sizes    all tensors, as if each had its own memory
  lower bound     most bytes live at the same time; no placement needs less
  arena used      maximum memory of the tensors, fast and slow together (opencl, vulkan: including 1 KiB of sums)
  peak in fast    the part of it in the fast memory, in whole rows
  spilled         bytes of tensors that do not fit the fast memory
  acquired        number of regions acquired from devices, counted by a wrapper device
  ratio           arena used divided by lower bound
  planned in      time to decide the places of all tensors

Exit status: 0 on success; 1 if two digests of a network differ or a memory fails; 2 for incorrect usage or a file that is
not a network.
)";

/// Returns the names of all memories, in the order in which they run; the last one is the reference.
[[nodiscard]] std::vector<std::string> names_of_memories(bool by_default_only) {
    std::vector<std::string> names{"host"};
    for (const demo::optional_memory& each : demo::optional_memories())
        if (each.by_default || !by_default_only) names.emplace_back(each.name);
    names.insert(names.end(), {"tightly_coupled", "separate"});
    return names;
}

struct options {
    std::vector<std::string> files, memories;
    std::string svg, json;
    bool help = false;
};

using demo::usage_error;

[[nodiscard]] options parse(demo::arguments given) {
    options chosen;
    while (given.next()) {
        if (given.is_file()) {
            chosen.files.push_back(given.text());
        } else if (given.is("--svg")) {
            chosen.svg = given.value();
        } else if (given.is("--json")) {
            chosen.json = given.value();
        } else if (given.is("--memory")) {
            chosen.memories.push_back(given.value());
            const std::vector<std::string> names = names_of_memories(false);
            if (std::find(names.begin(), names.end(), chosen.memories.back()) == names.end())
                throw usage_error{"unknown memory \"" + chosen.memories.back() + "\""};
        } else if (given.is_help()) {
            chosen.help = true;
        } else {
            given.refuse();
        }
    }
    if (chosen.memories.empty()) chosen.memories = names_of_memories(true);
    if (!chosen.help && chosen.files.empty()) throw usage_error{"no network is given"};
    return chosen;
}

class demonstration {
public:
    explicit demonstration(const options& chosen) : chosen_{chosen} {}

    [[nodiscard]] int run(const std::vector<demo::network>& networks) {
        for (const demo::network& net : networks) in_all_memories(net);
        shown_.clear();
        if (!results_.empty()) demo::print(std::cout, results_);
        if (!comparisons_.empty()) {
            std::cout << "\nBuckets of exact sizes, as in a typical graph runtime, compared with one arena:\n\n";
            demo::print(std::cout, comparisons_);
        }
        if (!written_.empty()) std::cout << "\nPictures:\n";
        for (const std::string& path : written_) std::cout << "  " << path << '\n';
        std::cout << std::flush;
        return failed_ ? 1 : 0;
    }

    [[nodiscard]] const std::vector<demo::outcome>& results() const { return results_; }

private:
    void in_all_memories(const demo::network& net) {
        const std::size_t first = results_.size();
        panels_.clear();
        for (const std::string& name : names_of_memories(false)) {
            if (std::find(chosen_.memories.begin(), chosen_.memories.end(), name) == chosen_.memories.end()) continue;
            shown_.begin(net.name + "  " + name);
            try {
                in_memory(net, name);
                shown_.end();
            } catch (const demo::unavailable& reason) {
                if (std::exchange(left_out_[name], reason.what()) != reason.what())  // once, not for every network
                    shown_.say(name + " is skipped: " + reason.what());
            } catch (const std::exception& reason) {
                shown_.say("error: " + net.name + " in " + name + ": " + reason.what());
                failed_ = true;
            }
        }
        if (results_.size() == first) {
            shown_.say("error: " + net.name + " did not run in any memory");
            failed_ = true;
        }
        compare_digests(net, first);
        if (!chosen_.svg.empty() && !panels_.empty()) draw(net);
    }

    /// Compares a network's results from `first` on with the last one, which is the reference if it was selected.
    void compare_digests(const demo::network& net, std::size_t first) {
        for (std::size_t i = first; i < results_.size(); ++i) {
            const demo::outcome &mine = results_[i], &reference = results_.back();
            if (mine.digest == reference.digest) continue;
            shown_.say("error: the digests of " + net.name + " differ: " + mine.memory + " has " +
                       demo::hexadecimal(mine.digest) + ", and " + reference.memory + " has " +
                       demo::hexadecimal(reference.digest));
            failed_ = true;
        }
    }

    void in_memory(const demo::network& net, const std::string& name) {
        demo::tally counts;
        if (name == "host") {
            demo::host_memory memory{net, counts};
            demo::outcome& result = finish(net, name, memory, counts);
            result.arena = memory.arena_bytes();
            result.planning = memory.places().seconds;
            compare(net, result);
            panels_.push_back({"host: one arena, every tensor at its planned offset", false,
                               planned(net, memory.places(), 0), result.arena,
                               demo::fixed(static_cast<double>(result.arena) / 1048576, 2) + " MiB arena",
                               net.lower_bound()});
        } else if (name == "tightly_coupled") {
            demo::tightly_coupled_memory memory{net, counts};
            demo::outcome& result = finish(net, name, memory, counts);
            result.arena = memory.arena_bytes();
            result.planning = memory.places().seconds;
            result.peak_fast = memory.peak_fast();
            result.spilled = spilled(net, memory.places());
            add_panels(net, memory);
        } else if (name == "separate") {
            demo::separate_memory memory{net, counts};
            demo::outcome& result = finish(net, name, memory, counts);
            result.arena = counts.most;
        } else {
            in_optional_memory(net, name, counts);
        }
    }

    void in_optional_memory(const demo::network& net, const std::string& name, demo::tally& counts) {
        const auto all = demo::optional_memories();
        const auto chosen = std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.name == name; });
        if (chosen->run == nullptr)
            throw demo::unavailable{std::string{"this program was built without "} + chosen->needs};
        const demo::ran came =
            chosen->run(net, counts, [&](std::size_t now, std::size_t steps) { shown_.at(now, steps); });
        finish(net, name, came.digest, counts).arena = came.arena_bytes;
    }

    template <class Memory>
    demo::outcome& finish(const demo::network& net, const std::string& name, Memory& memory,
                          const demo::tally& counts) {
        return finish(net, name, demo::run(net, memory, [&](std::size_t now, std::size_t all) { shown_.at(now, all); }),
                      counts);
    }
    demo::outcome& finish(const demo::network& net, const std::string& name, std::uint64_t digest,
                          const demo::tally& counts) {
        demo::outcome result{net.name, name, net.tensors.size(), net.sum(), net.lower_bound()};
        result.digest = digest;
        result.acquisitions = counts.acquisitions;
        return results_.emplace_back(std::move(result));
    }

    void compare(const demo::network& net, const demo::outcome& ours) {
        const demo::tally theirs = demo::through_buckets(net);
        if (theirs.acquisitions == 0) return;  // the heap is exhausted
        comparisons_.push_back({net.name, theirs.most, ours.arena, theirs.acquisitions, ours.acquisitions});
    }

    // ── pictures ─────────────────────────────────────────────────────────────────────────────────────────────────

    [[nodiscard]] static std::size_t spilled(const demo::network& net, const demo::placement& places) {
        std::size_t bytes = 0;
        for (std::size_t t = 0; t != net.tensors.size(); ++t) {
            if (places.places[t].memory != 0) bytes += net.tensors[t].size;
        }
        return bytes;
    }

    [[nodiscard]] static std::vector<demo::drawn_tensor> planned(const demo::network& net, const demo::placement& made,
                                                                 std::size_t memory) {
        std::vector<demo::drawn_tensor> drawn;
        for (std::size_t t = 0; t != net.tensors.size(); ++t) {
            if (net.tensors[t].size != 0 && made.places[t].memory == memory)
                drawn.push_back({t, {{made.places[t].offset, net.tensors[t].size}}});
        }
        return drawn;
    }

    void add_panels(const demo::network& net, const demo::tightly_coupled_memory& memory) {
        demo::panel fast{"tightly coupled: a window of rows; a tensor uses any free rows",
                         true,
                         {},
                         demo::window_bytes,
                         "2.00 MiB capacity",
                         0};
        for (std::size_t t = 0; t != net.tensors.size(); ++t) {
            if (!memory.runs()[t].empty()) fast.tensors.push_back({t, memory.runs()[t]});
        }
        panels_.push_back(std::move(fast));
        const std::size_t slow = memory.arena_bytes() - memory.peak_fast();
        if (slow == 0) return;
        std::vector<demo::tensor> left_over;
        for (std::size_t t = 0; t != net.tensors.size(); ++t) {
            if (!memory.is_fast(t)) left_over.push_back(net.tensors[t]);
        }
        panels_.push_back({"tightly coupled: tensors spilled to an arena in host memory", false,
                           planned(net, memory.places(), 1), slow,
                           demo::fixed(static_cast<double>(slow) / 1048576, 2) + " MiB arena",
                           demo::most_live(left_over, net.duration())});
    }

    void draw(const demo::network& net) {
        std::string file;
        for (const char c : net.name) {
            const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
            file += plain ? c : '_';
        }
        while (!pictures_.insert(file).second) file += "_again";
        const std::filesystem::path path = std::filesystem::path{chosen_.svg} / (file + ".svg");
        std::ofstream out{path};
        demo::picture{net, panels_}.write(out);
        if (!out.flush()) {
            shown_.say("error: " + path.string() + " cannot be written");
            failed_ = true;
            return;
        }
        written_.push_back(path.string());
    }

    const options& chosen_;
    demo::progress shown_;
    std::vector<demo::outcome> results_;
    std::vector<demo::comparison> comparisons_;
    std::vector<demo::panel> panels_;              // of the current network
    std::map<std::string, std::string> left_out_;  // reasons by name
    std::set<std::string> pictures_;               // their names
    std::vector<std::string> written_;             // their paths
    bool failed_ = false;
};

}  // namespace

int main(int argc, char** argv) try {
    const options chosen = parse(demo::arguments{{argv + 1, argv + argc}});
    if (chosen.help) {
        std::cout << help;
        return 0;
    }
    std::vector<demo::network> networks;
    for (const std::string& file : chosen.files) networks.push_back(demo::load(file));
    std::error_code problem;
    if (!chosen.svg.empty()) std::filesystem::create_directories(chosen.svg, problem);
    if (problem) throw std::runtime_error{chosen.svg + ": " + problem.message()};

    demonstration shown{chosen};
    const int result = shown.run(networks);
    if (!chosen.json.empty()) {
        std::ofstream json{chosen.json};
        demo::write_json(json, shown.results());
        if (!json.flush()) throw std::runtime_error{chosen.json + " cannot be written"};
    }
    return result;
} catch (const usage_error& reason) {
    std::cerr << "network_demo: " << reason.what() << "; see network_demo --help\n";
    return 2;
} catch (const std::exception& reason) {
    std::cerr << "network_demo: " << reason.what() << '\n';
    return 2;
}
