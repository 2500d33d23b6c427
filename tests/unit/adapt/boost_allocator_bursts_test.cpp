// Nodes that Boost's node containers allocate and free together: in one run of bytes where there is one, each with a
// record of its own.
#include "memories.hpp"

#include <allot/adapt/boost_allocator.hpp>

#include <boost/container/list.hpp>
#include <boost/container/set.hpp>
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace {

using namespace allot::literals;

using heap_arena = allot::arena<allot::host::heap, allot::best_fit<>>;
template <class T, class Memory = heap_arena>
using in = allot::boost_allocator<T, Memory>;

template <std::size_t Size>
struct bytes_of {
    unsigned char bytes[Size];
};

/// Moves the nodes of a chain to a vector.
template <class Chain>
auto taken(Chain& chain) {
    std::vector<decltype(chain.pop_front())> all;
    while (!chain.empty()) all.push_back(chain.pop_front());
    return all;
}
/// Frees nodes together, in their order.
template <class Adapter, class Nodes>
void free_together(Adapter& adapter, const Nodes& nodes) {
    typename Adapter::multiallocation_chain chain;
    for (const auto node : nodes) chain.push_back(node);
    adapter.deallocate_individual(chain);
}
template <class Memory>
std::vector<std::pair<void*, std::size_t>> holes_of(const Memory& memory) {
    std::vector<std::pair<void*, std::size_t>> all;
    memory.for_each_hole([&](void* at, std::size_t size) { all.emplace_back(at, size); });
    return all;
}

/// Calls of all kinds in random order. Each node keeps its number in all of its bytes.
template <class Memory, std::size_t Size>
void play_random_calls(memories::sequence random) {
    using node = bytes_of<Size>;
    Memory used;
    in<node, typename Memory::type> adapter{used.memory};
    struct held_node {
        node* at;
        unsigned char number;
    };
    std::vector<held_node> live;
    const auto keep = [&](node* at) {
        const auto number = static_cast<unsigned char>(random.below(256));
        std::memset(at->bytes, number, Size);
        live.push_back({at, number});
    };
    const auto take_any = [&] {
        std::swap(live[random.below(live.size())], live.back());
        const held_node one = live.back();
        live.pop_back();
        CHECK(helpers::all_bytes(one.at->bytes, Size, one.number));
        return one.at;
    };
    for (int i = 0; i != 400; ++i) {
        const std::size_t action = random.below(5), count = random.below(40);
        if (action == 0 && live.size() < 800) {
            keep(adapter.allocate_one());
        } else if (action <= 2 && live.size() < 800) {
            typename decltype(adapter)::multiallocation_chain chain;
            adapter.allocate_individual(count, chain);
            for (node* const each : taken(chain)) keep(each);
        } else if (action == 3 && !live.empty()) {
            adapter.deallocate_one(take_any());
        } else {
            std::vector<node*> together;
            while (together.size() != count && !live.empty()) together.push_back(take_any());
            if (random.below(2) == 0) std::sort(together.begin(), together.end());
            free_together(adapter, together);
        }
    }
    while (!live.empty()) adapter.deallocate_one(take_any());
    CHECK(used.is_all_back());
}

}  // namespace

TEST_CASE_TEMPLATE("bursts: nodes keep their contents and are freed in any order, alone or together", Memory,
                   EVERY_MEMORY) {
    play_random_calls<Memory, 1>({});
    play_random_calls<Memory, 24>({});
    play_random_calls<Memory, 61>({});
}

TEST_CASE_TEMPLATE("bursts: nodes of one call follow one another and take the bytes of single blocks", Node,
                   bytes_of<3>, bytes_of<40>, bytes_of<61>, std::max_align_t) {
    heap_arena one_by_one{{}, 64_KiB}, at_once{{}, 64_KiB};
    in<Node> first{one_by_one}, second{at_once};
    std::vector<Node*> expected;
    for (int i = 0; i != 100; ++i) expected.push_back(first.allocate_one());
    typename in<Node>::multiallocation_chain chain;
    second.allocate_individual(100, chain);
    const std::vector<Node*> nodes = taken(chain);
    REQUIRE(nodes.size() == 100);
    for (std::size_t i = 0; i != nodes.size(); ++i)
        CHECK(reinterpret_cast<char*>(nodes[i]) - reinterpret_cast<char*>(nodes[0]) ==
              reinterpret_cast<char*>(expected[i]) - reinterpret_cast<char*>(expected[0]));
    CHECK(at_once.diagnose({.size = 1_MiB}).largest_hole == one_by_one.diagnose({.size = 1_MiB}).largest_hole);
    free_together(second, nodes);
    free_together(first, expected);
}

TEST_CASE("bursts: nodes that are freed together leave the holes of nodes that are freed alone") {
    memories::sequence random;
    for (int round = 0; round != 50; ++round) {
        heap_arena alone{{}, 16_KiB}, together{{}, 16_KiB};
        in<bytes_of<40>> first{alone}, second{together};
        std::vector<bytes_of<40>*> of_alone, of_together;
        for (int i = 0; i != 60; ++i) {
            of_alone.push_back(first.allocate_one());
            of_together.push_back(second.allocate_one());
        }
        // Runs in both directions, and single nodes, in random order.
        std::vector<std::size_t> order;
        for (std::size_t at = 0; at < 55; at += random.below(5)) {
            const std::size_t length = 1 + random.below(4);
            std::vector<std::size_t> run;
            while (run.size() != length) run.push_back(at++);
            if (random.below(2) == 0) std::reverse(run.begin(), run.end());
            order.insert(random.below(2) == 0 ? order.begin() : order.end(), run.begin(), run.end());
        }
        std::vector<bytes_of<40>*> freed;
        for (const std::size_t i : order) {
            first.deallocate_one(of_alone[i]);
            freed.push_back(of_together[i]);
        }
        free_together(second, freed);
        const auto expected = holes_of(alone), found = holes_of(together);
        REQUIRE(expected.size() == found.size());
        for (std::size_t i = 0; i != found.size(); ++i) {
            CHECK(found[i].second == expected[i].second);
            CHECK(static_cast<char*>(found[i].first) - reinterpret_cast<char*>(of_together[0]) ==
                  static_cast<char*>(expected[i].first) - reinterpret_cast<char*>(of_alone[0]));
        }
    }
}

TEST_CASE_TEMPLATE("bursts: single holes serve a burst if no hole is large enough", Memory, memories::in_band,
                   memories::deferred) {
    Memory used;
    using adapter = in<bytes_of<100>, typename Memory::type>;
    adapter nodes{used.memory};
    std::vector<bytes_of<100>*> all;
    try {
        for (;;) all.push_back(nodes.allocate_one());
    } catch (const std::bad_alloc&) {}
    std::vector<bytes_of<100>*> kept, freed;
    for (std::size_t i = 0; i != all.size(); ++i) (i % 2 == 0 ? freed : kept).push_back(all[i]);
    for (auto* const each : freed) nodes.deallocate_one(each);
    typename adapter::multiallocation_chain chain;
    nodes.allocate_individual(freed.size(), chain);
    CHECK(chain.size() == freed.size());
    CHECK_THROWS_AS(nodes.allocate_individual(2, chain), allot::bad_alloc);
    CHECK(chain.size() == freed.size());
    nodes.deallocate_individual(chain);
    free_together(nodes, kept);
    CHECK(used.is_all_back());
}

TEST_CASE("bursts: a request that no memory has is refused, also if its size exceeds all numbers") {
    heap_arena memory{{}, 4_KiB};
    in<bytes_of<64>> nodes{memory};
    in<bytes_of<64>>::multiallocation_chain chain;
    for (const std::size_t count :
         {std::size_t{1000}, ~std::size_t{0} / 64 + 1, std::numeric_limits<std::size_t>::max()}) {
        CHECK_THROWS_AS(nodes.allocate_individual(count, chain), allot::bad_alloc);
        CHECK(chain.empty());
    }
    nodes.allocate_individual(10, chain);
    nodes.deallocate_individual(chain);
}

TEST_CASE("bursts: nodes of large blocks are placed as single nodes are") {
    // Blocks of 512 bytes or more come from the other end of a hole. A burst of small nodes does not.
    using two_ends = allot::best_fit<allot::best_fit_options{.large = 512}>;
    using memory_type = allot::arena<allot::host::heap, two_ends>;
    memory_type memory{{}, 16_KiB};
    in<bytes_of<40>, memory_type> nodes{memory};
    bytes_of<40>* const lowest = nodes.allocate_one();
    nodes.deallocate_one(lowest);
    in<bytes_of<40>, memory_type>::multiallocation_chain chain;
    nodes.allocate_individual(50, chain);
    const auto all = taken(chain);
    CHECK(std::find(all.begin(), all.end(), lowest) != all.end());
    free_together(nodes, all);
}

TEST_CASE("bursts: nodes are aligned beyond the granule of the records") {
    struct alignas(64) aligned {
        char bytes[64];
    };
    heap_arena memory{{}, 64_KiB};
    in<aligned> nodes{memory};
    in<aligned>::multiallocation_chain chain;
    nodes.allocate_individual(30, chain);
    const auto all = taken(chain);
    CHECK(std::all_of(all.begin(), all.end(), [](auto* each) { return helpers::is_aligned(each, 64); }));
    free_together(nodes, all);
}

TEST_CASE_TEMPLATE("bursts: containers of Boost insert and erase ranges", Memory, EVERY_MEMORY) {
    Memory used;
    {
        using allocator = in<int, typename Memory::type>;
        boost::container::list<int, allocator> list{used.memory};
        boost::container::set<int, std::less<>, allocator> set{used.memory};
        std::vector<int> expected;
        memories::sequence random;
        for (int i = 0; i != 60; ++i) {
            const std::size_t at = random.below(expected.size() + 1), count = random.below(30);
            const auto place = static_cast<std::ptrdiff_t>(at);
            if (random.below(3) != 0) {
                list.insert(std::next(list.begin(), place), count, i);
                expected.insert(expected.begin() + place, count, i);
                set.insert(static_cast<int>(random.below(100)));
            } else {
                const auto end = static_cast<std::ptrdiff_t>(std::min(at + count, expected.size()));
                list.erase(std::next(list.begin(), place), std::next(list.begin(), end));
                expected.erase(expected.begin() + place, expected.begin() + end);
            }
            REQUIRE(std::equal(list.begin(), list.end(), expected.begin(), expected.end()));
        }
        CHECK(std::is_sorted(set.begin(), set.end()));
    }
    CHECK(used.is_all_back());
}
