// A vector of Boost.Container that grows in place: its elements do not move while the bytes behind them are free.
#include <allot/adapt/boost_allocator.hpp>
#include <allot/allot.hpp>

#include <boost/container/list.hpp>
#include <boost/container/vector.hpp>

#include <cstdio>
#include <string>

using namespace allot::literals;

int main() {
    using memory_type = allot::arena<allot::host::heap, allot::best_fit<>>;
    memory_type memory{{}, 1_MiB};
    if (!memory) return 1;

    boost::container::vector<std::string, allot::boost_allocator<std::string, memory_type>> names{memory};
    names.emplace_back("the first name");
    const std::string* const first = names.data();
    while (names.size() != 1000) names.emplace_back("another name");
    if (names.data() != first) return 1;

    names.resize(100);
    names.shrink_to_fit();  // also in place
    if (names.data() != first || names.capacity() != 100) return 1;

    // One call allocates all nodes. If there is no memory for the last one, the list is unchanged.
    boost::container::list<int, allot::boost_allocator<int, memory_type>> numbers{memory};
    try {
        numbers.insert(numbers.end(), 1'000'000U, 7);
        return 1;
    } catch (const allot::bad_alloc& error) {
        std::printf("%zu names did not move; %zu numbers: %s\n", names.size(), numbers.size(), error.what());
    }
    return numbers.empty() ? 0 : 1;
}
