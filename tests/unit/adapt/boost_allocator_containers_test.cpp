// Random calls of containers of Boost in an arena, compared with containers of the standard library. ALLOT_LONG=1 runs
// a hundred times as many: eight million.
#include "memories.hpp"

#include <allot/adapt/boost_allocator.hpp>

#include <boost/container/deque.hpp>
#include <boost/container/flat_map.hpp>
#include <boost/container/list.hpp>
#include <boost/container/set.hpp>
#include <boost/container/slist.hpp>
#include <boost/container/small_vector.hpp>
#include <boost/container/stable_vector.hpp>
#include <boost/container/string.hpp>
#include <boost/container/vector.hpp>
#include <doctest/doctest.h>

#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace {

namespace bc = boost::container;

std::size_t calls() {
    const char* const longer = std::getenv("ALLOT_LONG");
    return longer != nullptr && *longer == '1' ? 1'000'000 : 10'000;
}

// A value that is not trivial: it knows its address, and the number of all values is counted.
class value {
public:
    static inline std::ptrdiff_t live = 0;
    value(unsigned number) noexcept : number_{number} { ++live; }
    value(const value& other) noexcept : value{other.number_} {
        if (other.here_ != &other) FAIL("a value was moved by a copy of its bytes");
    }
    value& operator=(const value& other) noexcept {
        if (here_ != this || other.here_ != &other) FAIL("a value was moved by a copy of its bytes");
        number_ = other.number_;
        return *this;
    }
    ~value() {
        if (here_ != this) FAIL("a value was moved by a copy of its bytes");
        --live;
    }
    friend bool operator==(const value& a, const value& b) noexcept { return a.number_ == b.number_; }

private:
    const value* here_ = this;
    unsigned number_;
};

using memory_type = memories::hardened_in_band::type;
template <class T>
using in = allot::boost_allocator<T, memory_type>;

template <class One, class Other>
bool equal(const One& one, const Other& other) {
    return one.size() == other.size() && std::equal(one.begin(), one.end(), other.begin());
}

// Random calls of two sequences that grow and shrink between 0 and about 300 elements. `call(which, at, some)` makes
// one of several calls on both, at a position, for a number of elements.
template <class Call, class Compare>
void play(Call call, Compare compare) {
    memories::sequence random;
    for (std::size_t i = 0; i != calls(); ++i) {
        call(random.below(12), random.below(1'000'000), random.below(8), static_cast<unsigned>(i));
        if (i % 16 == 0 && !compare()) FAIL("the containers differ");
    }
    CHECK(compare());
}

// Sequences with insert and erase at any position.
template <class Sequence>
void play_sequence(Sequence& tested) {
    std::vector<value> model{value{0}};
    tested.push_back(value{0});  // in a deque without any block, Boost adds an offset to a null pointer
    play(
        [&](std::size_t which, std::size_t position, std::size_t some, unsigned number) {
            const std::size_t at = position % (model.size() + 1), count = std::min(some, model.size() - at);
            const auto from = [at](auto& container) {
                return std::next(container.begin(), static_cast<std::ptrdiff_t>(at));
            };
            const auto to = [&](auto& container) {
                return std::next(from(container), static_cast<std::ptrdiff_t>(count));
            };
            const bool is_large = model.size() > 300;
            if (which < 4 && !is_large) {
                tested.push_back(number);
                model.push_back(number);
            } else if (which < 5 && !is_large) {
                tested.insert(from(tested), some, value{number});
                model.insert(from(model), some, value{number});
            } else if (which < 7 && !is_large) {
                const std::vector<value> more{number, number + 1, number + 2};
                tested.insert(from(tested), more.begin(), more.end());
                model.insert(from(model), more.begin(), more.end());
            } else if (which < 10) {
                tested.erase(from(tested), to(tested));
                model.erase(from(model), to(model));
            } else if (which == 10 && position % 20 == 0) {
                tested.clear();
                model.clear();
            } else if (which == 11 && position % 10 == 0) {
                Sequence copy{tested};
                copy.insert(copy.end(), 3U, value{number});
                tested = copy;
                model.insert(model.end(), 3U, value{number});
            }
            if constexpr (requires { tested.reserve(some); }) {
                if (position % 50 == 1) tested.shrink_to_fit();
                if (position % 50 == 2) tested.reserve(tested.size() + some * 10);
            }
        },
        [&] { return equal(tested, model); });
}

template <class Sequence>
Sequence sequence_in(memory_type& memory) {
    return Sequence(typename Sequence::allocator_type{memory});
}

}  // namespace

TEST_CASE_TEMPLATE("boost_allocator: sequences of Boost behave as a std::vector", Sequence,
                   bc::vector<value, in<value>>, bc::deque<value, in<value>>, bc::list<value, in<value>>,
                   bc::stable_vector<value, in<value>>, bc::small_vector<value, 5, in<value>>) {
    memories::hardened_in_band used;
    {
        Sequence first = sequence_in<Sequence>(used.memory), second = sequence_in<Sequence>(used.memory);
        second.insert(second.end(), 100U, value{1});  // in the way of the first
        play_sequence(first);
        first.swap(second);
        CHECK(first.size() == 100);
    }
    CHECK(value::live == 0);
    CHECK(used.is_all_back());
}

TEST_CASE("boost_allocator: strings of Boost behave as std::string") {
    memories::hardened_in_band used;
    {
        using text = bc::basic_string<char, std::char_traits<char>, in<char>>;
        text tested{used.memory}, other{"a text that is in the way of the first one", used.memory};
        std::string model;
        play(
            [&](std::size_t which, std::size_t position, std::size_t some, unsigned number) {
                const std::size_t at = position % (model.size() + 1);
                const auto letter = static_cast<char>('a' + number % 26);
                if (model.size() > 2000 || which == 0) {
                    tested.erase(at, some * 10);
                    model.erase(at, some * 10);
                } else if (which < 4) {
                    tested.push_back(letter);
                    model.push_back(letter);
                } else if (which < 6) {
                    tested.append("some more letters");
                    model.append("some more letters");
                } else if (which < 8) {
                    tested.insert(at, some, letter);
                    model.insert(at, some, letter);
                } else if (which < 10) {
                    tested.replace(at, some, "other");
                    model.replace(at, some, "other");
                } else if (position % 40 == 0) {
                    tested.clear();
                    model.clear();
                } else if (position % 10 == 1) {
                    memories::shrink(tested);
                    CHECK(tested.capacity() >= tested.size());
                } else if (position % 10 == 2) {
                    other = tested;
                    other.swap(tested);
                }
            },
            [&] {
                return std::string_view{tested.data(), tested.size()} == model && tested.c_str()[model.size()] == '\0';
            });
    }
    CHECK(used.is_all_back());
}

TEST_CASE("boost_allocator: maps and sets of Boost behave as those of the standard library") {
    memories::hardened_in_band used;
    {
        using pair = std::pair<unsigned, value>;
        bc::flat_map<unsigned, value, std::less<>, in<pair>> flat{used.memory};
        bc::multiset<unsigned, std::less<>, in<unsigned>> nodes{used.memory};
        std::map<unsigned, value> map;
        std::multiset<unsigned> set;
        play(
            [&](std::size_t which, std::size_t position, std::size_t some, unsigned number) {
                const auto key = static_cast<unsigned>(position % 400);
                if (which < 6) {
                    flat.emplace(key, number);
                    map.emplace(key, number);
                    nodes.insert(key);
                    set.insert(key);
                } else if (which < 10) {
                    CHECK(flat.erase(key) == map.erase(key));
                    CHECK(nodes.erase(key) == set.erase(key));
                } else if (which == 10) {
                    flat.erase(flat.lower_bound(key), flat.lower_bound(key + static_cast<unsigned>(some)));
                    map.erase(map.lower_bound(key), map.lower_bound(key + static_cast<unsigned>(some)));
                    nodes.erase(nodes.lower_bound(key), nodes.upper_bound(key + static_cast<unsigned>(some)));
                    set.erase(set.lower_bound(key), set.upper_bound(key + static_cast<unsigned>(some)));
                } else if (position % 30 == 0) {
                    auto copy = nodes;  // the nodes of a copy are allocated together
                    nodes.clear();
                    nodes = std::move(copy);
                    flat.shrink_to_fit();
                }
            },
            [&] {
                const auto same = [](const auto& a, const auto& b) {
                    return a.first == b.first && a.second == b.second;
                };
                return equal(nodes, set) && std::equal(flat.begin(), flat.end(), map.begin(), map.end(), same);
            });
    }
    CHECK(value::live == 0);
    CHECK(used.is_all_back());
}

TEST_CASE("boost_allocator: a singly linked list of Boost behaves as a std::vector") {
    memories::hardened_in_band used;
    {
        bc::slist<value, in<value>> tested{used.memory};
        std::vector<value> model;  // reversed
        play(
            [&](std::size_t which, std::size_t position, std::size_t some, unsigned number) {
                const std::size_t at = position % (model.size() + 1);
                const auto back = model.end() - static_cast<std::ptrdiff_t>(at);
                const auto before = std::next(tested.before_begin(), static_cast<std::ptrdiff_t>(at));
                if (which < 6 && model.size() < 300) {
                    tested.insert_after(before, some, value{number});
                    model.insert(back, some, value{number});
                } else if (which < 11) {
                    const auto count = static_cast<std::ptrdiff_t>(std::min(some, model.size() - at));
                    tested.erase_after(before, std::next(before, count + 1));
                    model.erase(back - count, back);
                } else if (position % 20 == 0) {
                    tested.clear();
                    model.clear();
                }
            },
            [&] { return tested.size() == model.size() && std::equal(tested.begin(), tested.end(), model.rbegin()); });
    }
    CHECK(value::live == 0);
    CHECK(used.is_all_back());
}
