#include "memories.hpp"

#include <allot/adapt/std_allocator.hpp>

#include <boost/container/flat_map.hpp>
#include <boost/container/list.hpp>
#include <boost/container/vector.hpp>
#include <doctest/doctest.h>

#include <deque>
#include <forward_list>
#include <list>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

using namespace allot::literals;
using helpers::is_aligned;

using heap_arena = allot::arena<allot::host::heap, allot::best_fit<>>;
template <class T, class Memory = heap_arena>
using in = allot::std_allocator<T, Memory>;
template <class T, class Memory = heap_arena>
using vector = std::vector<T, in<T, Memory>>;

using traits = std::allocator_traits<in<int>>;
static_assert(std::same_as<traits::rebind_alloc<std::string>, in<std::string>>);
static_assert(std::same_as<traits::pointer, int*>);
static_assert(!traits::is_always_equal::value);
static_assert(std::is_nothrow_copy_constructible_v<in<int>> && std::is_nothrow_move_assignable_v<in<int>>);
static_assert(std::is_convertible_v<in<int>, in<char>> && std::is_convertible_v<heap_arena&, in<int>>);
static_assert(sizeof(in<int>) == sizeof(void*));
static_assert(std::same_as<decltype(allot::std_allocator{std::declval<heap_arena&>()}), in<std::byte>>);
static_assert(std::same_as<decltype(allot::std_allocator{std::declval<in<int>&>()}), in<int>>);

struct alignas(64) line {
    std::size_t value;
};

}  // namespace

TEST_CASE_TEMPLATE("std_allocator: supports standard and Boost containers", Memory, memories::hardened_in_band,
                   memories::hardened_side_table, memories::two) {
    Memory used;
    using memory_type = typename Memory::type;
    memory_type& memory = used.memory;
    {
        using text = std::basic_string<char, std::char_traits<char>, in<char, memory_type>>;
        using pair = std::pair<const int, text>;
        vector<text, memory_type> names{memory};
        std::list<int, in<int, memory_type>> list{memory};
        std::forward_list<int, in<int, memory_type>> forward{memory};
        std::deque<int, in<int, memory_type>> deque{memory};
        std::set<int, std::less<>, in<int, memory_type>> set{memory};
        std::map<int, text, std::less<>, in<pair, memory_type>> map{memory};
        std::unordered_map<int, text, std::hash<int>, std::equal_to<>, in<pair, memory_type>> table{memory};
        vector<line, memory_type> lines{memory};
        vector<bool, memory_type> bits{memory};
        boost::container::vector<int, in<int, memory_type>> boost_vector{memory};
        boost::container::list<int, in<int, memory_type>> boost_list{memory};
        boost::container::flat_map<int, int, std::less<>, in<std::pair<int, int>, memory_type>> flat{memory};
        const auto name = [&](int i) {
            return text(static_cast<std::size_t>(20 + i % 50), static_cast<char>('a' + i % 26), memory);
        };
        for (int i = 0; i != 200; ++i) {
            names.push_back(name(i));
            list.push_back(i);
            forward.push_front(i);
            deque.push_back(i);
            set.insert(i);
            map.emplace(i, name(i));
            table.emplace(i, name(i));
            lines.push_back({static_cast<std::size_t>(i)});
            bits.push_back(i % 3 == 0);
            boost_vector.push_back(i);
            boost_list.push_back(i);
            flat.emplace(i, -i);
            if (i % 2 == 1) {
                list.pop_front();
                set.erase(i - 1);
                map.erase(i - 1);
                table.erase(i - 1);
                boost_list.pop_front();
            }
        }
        CHECK(list.size() == 100);
        CHECK(list.front() == 100);
        CHECK(forward.front() == 199);
        CHECK(boost_list.front() == 100);
        CHECK(set.size() == 100);
        for (int i = 0; i != 200; ++i) {
            const auto at = static_cast<std::size_t>(i);
            CHECK(names[at] == name(i));
            CHECK(deque[at] == i);
            CHECK(map.count(i) == static_cast<std::size_t>(i % 2));
            if (i % 2 == 1) CHECK(map.at(i) == name(i));
            if (i % 2 == 1) CHECK(table.at(i) == name(i));
            CHECK(is_aligned(&lines[at], 64));
            CHECK(lines[at].value == at);
            CHECK(bits[at] == (i % 3 == 0));
            CHECK(boost_vector[at] == i);
            CHECK(flat.at(i) == -i);
        }
    }
    CHECK(used.is_all_back());
}

TEST_CASE_TEMPLATE("std_allocator: shared objects outlive the function that creates them", Memory, EVERY_MEMORY) {
    Memory used;
    std::vector<std::shared_ptr<std::string>> held;
    {
        const allot::std_allocator from{used.memory};
        for (int i = 0; i != 20; ++i) held.push_back(std::allocate_shared<std::string>(from, std::to_string(i)));
    }
    std::weak_ptr<std::string> seen = held[7];
    for (int i = 0; i != 20; ++i) CHECK(*held[static_cast<std::size_t>(i)] == std::to_string(i));
    held.clear();
    CHECK(seen.expired());
    seen.reset();  // the control block was also in the memory
    CHECK(used.is_all_back());
}

TEST_CASE("std_allocator: adaptors are equal if they refer to the same allocator, for any value types") {
    heap_arena one{{}, 4_KiB}, other{{}, 4_KiB};
    const in<int> a{one}, b{other};
    const in<char> c{a};
    CHECK(a == a);
    CHECK(a == c);
    CHECK(c == a);
    CHECK(a != b);
    CHECK(c != b);
    CHECK(&c.allocator() == &one);
}

TEST_CASE("std_allocator: a container keeps its memory, except in a swap") {
    heap_arena one{{}, 16_KiB}, other{{}, 16_KiB};
    const vector<int> numbers{{1, 2, 3}, one};
    const vector<int> copy{numbers};
    CHECK(copy.get_allocator() == in<int>{one});

    vector<int> there{{7}, other};
    there = numbers;
    CHECK(there == numbers);
    CHECK(there.get_allocator() == in<int>{other});

    vector<int> source{{4, 5}, one};
    const int* const bytes = source.data();
    vector<int> moved{std::move(source)};
    CHECK(moved.data() == bytes);
    there = std::move(moved);
    CHECK(there == vector<int>({4, 5}, other));
    CHECK(there.get_allocator() == in<int>{other});
    CHECK(other.owns({there.data(), there.capacity() * sizeof(int), {}}));

    vector<int> here{{8, 9}, one};
    here.swap(there);
    CHECK(here == vector<int>({4, 5}, one));
    CHECK(there == vector<int>({8, 9}, one));
    CHECK(here.get_allocator() == in<int>{other});
    CHECK(there.get_allocator() == in<int>{one});
    CHECK(other.owns({here.data(), here.capacity() * sizeof(int), {}}));
}

TEST_CASE("std_allocator: a failure throws the diagnosis and does not change the container") {
    heap_arena memory{{}, 4_KiB};
    vector<int> values{{1, 2, 3}, memory};
    try {
        values.resize(10'000);
        FAIL("there were no 40000 bytes");
    } catch (const allot::bad_alloc& error) {
        CHECK(error.diagnosis() == memory.diagnose({40'000, alignof(int)}));
        CHECK(std::string{error.what()} == allot::to_string(allot::refusal::exhausted));
    }
    CHECK(values == vector<int>({1, 2, 3}, memory));

    in<line> lines{memory};
    constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
    for (const std::size_t count : {most, most / 2, most / sizeof(line) + 1, most / sizeof(line)})
        CHECK_THROWS_AS(static_cast<void>(lines.allocate(count)), std::bad_alloc);
    try {
        static_cast<void>(lines.allocate(most / sizeof(line) + 1));
    } catch (const allot::bad_alloc& error) {
        CHECK(error.diagnosis().reason == allot::refusal::over_limit);
    }
    line* const none = lines.allocate(0);
    CHECK(is_aligned(none, 64));
    lines.deallocate(none, 0);
    lines.deallocate(nullptr, 3);
}
