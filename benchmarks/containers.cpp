// SPDX-License-Identifier: BSL-1.0
// Containers of Boost that grow: how many elements they move, and how long they take. Compared are the allocators of
// Boost with allot's two adapters in an arena.
//
//     standard interface    new_allocator, std_allocator        a container that grows moves its elements
//     extended interface    allocator, boost_allocator          a container asks first whether its block can grow
//
// The number of moved elements is exact: each growth that changes the address of the elements moves all of them.
#include <allot/adapt/boost_allocator.hpp>
#include <allot/adapt/std_allocator.hpp>
#include <allot/allot.hpp>
#include <allot/host/buffer.hpp>

#ifdef ALLOT_BOOST_CONTAINER
#include <boost/container/allocator.hpp>
#endif
#include <boost/container/flat_map.hpp>
#include <boost/container/list.hpp>
#include <boost/container/new_allocator.hpp>
#include <boost/container/set.hpp>
#include <boost/container/string.hpp>
#include <boost/container/vector.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace bc = boost::container;
using namespace allot::literals;

/// Allocators of Boost, which have no state.
template <template <class> class Allocator>
struct of_boost {
    template <class T>
    [[nodiscard]] Allocator<T> get() {
        return {};
    }
    void reset() {}
};
#ifdef ALLOT_BOOST_CONTAINER
template <class T>
using extended = bc::allocator<T, 2>;
#endif

/// An adapter of allot for an arena that is new for each program, over bytes that are not.
template <template <class, class> class Adapter, class Strategy>
class of_arena {
public:
    of_arena() { reset(); }
    template <class T>
    [[nodiscard]] Adapter<T, allot::arena<allot::host::buffer, Strategy>> get() {
        return {*memory_};
    }
    void reset() { memory_.emplace(allot::host::buffer{bytes_.data(), bytes_.size()}); }

private:
    std::vector<std::byte> bytes_ = std::vector<std::byte>(24_MiB);
    std::optional<allot::arena<allot::host::buffer, Strategy>> memory_;
};
template <class From, class T>
using allocator_of = decltype(std::declval<From&>().template get<T>());

/// A value that its type copies, not the container.
struct record {
    std::size_t number = 0, rest[3] = {};
    explicit record(std::size_t of) noexcept : number{of} {}
    record(const record& other) noexcept : number{other.number}, rest{other.rest[0], other.rest[1], other.rest[2]} {}
    record& operator=(const record&) noexcept = default;
    ~record() { asm volatile("" : : "r"(this)); }
};

/// Grows a container by `grow`, and returns the number of elements that moved.
template <class Container, class Grow>
std::size_t moved_by(Container& container, Grow grow) {
    const auto* const before = std::to_address(container.begin());
    const std::size_t size = container.size();
    grow();
    return std::to_address(container.begin()) == before ? 0 : size;
}

// Programs. Each returns the number of moved elements.

template <class From>
std::size_t one_vector(From& from) {
    bc::vector<record, allocator_of<From, record>> values{from.template get<record>()};
    std::size_t moved = 0;
    for (std::size_t i = 0; i != 100'000; ++i) moved += moved_by(values, [&] { values.emplace_back(i); });
    return moved;
}
template <class From>
std::size_t eight_vectors(From& from) {
    using vector = bc::vector<record, allocator_of<From, record>>;
    const auto source = from.template get<record>();
    std::array<vector, 8> all{vector{source}, vector{source}, vector{source}, vector{source},
                              vector{source}, vector{source}, vector{source}, vector{source}};
    std::size_t moved = 0;
    for (std::size_t i = 0; i != 100'000; ++i) {
        vector& one = all[i % all.size()];
        moved += moved_by(one, [&] { one.emplace_back(i); });
    }
    return moved;
}
template <class From>
std::size_t one_string(From& from) {
    bc::basic_string<char, std::char_traits<char>, allocator_of<From, char>> text{from.template get<char>()};
    std::size_t moved = 0;
    for (std::size_t i = 0; i != 100'000; ++i) moved += moved_by(text, [&] { text.append("a line of a log file\n"); });
    return moved;
}
template <class From>
std::size_t flat_map_in_order(From& from) {
    using pair = std::pair<std::size_t, record>;
    bc::flat_map<std::size_t, record, std::less<>, allocator_of<From, pair>> map{from.template get<pair>()};
    std::size_t moved = 0;
    for (std::size_t i = 0; i != 50'000; ++i) moved += moved_by(map, [&] { map.emplace_hint(map.end(), i, i); });
    return moved;
}
template <class From>
std::size_t list_of_ranges(From& from) {
    bc::list<record, allocator_of<From, record>> list{from.template get<record>()};
    for (std::size_t i = 0; i != 1000; ++i) {
        list.insert(i % 2 == 0 ? list.begin() : list.end(), 100U, record{i});
        if (i % 3 == 2) list.erase(list.begin(), std::next(list.begin(), 100));
    }
    return 0;
}
template <class From>
std::size_t set_one_by_one(From& from) {
    bc::set<std::size_t, std::less<>, allocator_of<From, std::size_t>> set{from.template get<std::size_t>()};
    for (std::size_t i = 0; i != 50'000; ++i) set.insert(i * 7919 % 50'021);
    return 0;
}

struct program {
    const char* name;
    std::size_t elements, moved;
    double seconds = std::numeric_limits<double>::max();
};

template <class From>
class subject {
public:
    explicit subject(const char* name) : name_{name} {}
    void run() {
        measure(programs_[0], one_vector<From>);
        measure(programs_[1], eight_vectors<From>);
        measure(programs_[2], one_string<From>);
        measure(programs_[3], flat_map_in_order<From>);
        measure(programs_[4], list_of_ranges<From>);
        measure(programs_[5], set_one_by_one<From>);
    }
    [[nodiscard]] const char* name() const { return name_; }
    [[nodiscard]] const program& result(std::size_t at) const { return programs_[at]; }

private:
    void measure(program& one, std::size_t (*play)(From&)) {
        from_.reset();
        const std::clock_t start = std::clock();
        one.moved = play(from_);
        one.seconds = std::min(one.seconds, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
    }

    const char* name_;
    From from_;
    std::array<program, 6> programs_{{{"one vector", 100'000, 0},
                                      {"eight vectors in turn", 100'000, 0},
                                      {"one string, by lines", 2'100'000, 0},
                                      {"flat_map, in order", 50'000, 0},
                                      {"list, 100 at a time", 100'000, 0},
                                      {"set, one by one", 50'000, 0}}};
};

template <class First, class... Others>
void print(const First& first, const Others&... others) {
    const auto each = [&](auto call) { (call(first), ..., call(others)); };
    const auto head = [&](const char* what) {
        std::printf("\n%s\n\n| %-21s |", what, "program");
        each([](const auto& one) { std::printf(" %18s |", one.name()); });
        std::printf("\n|---|");
        each([](const auto&) { std::printf("--:|"); });
    };
    head("moved elements for each element");
    for (std::size_t i = 0; i != 4; ++i) {
        std::printf("\n| %-21s |", first.result(i).name);
        each([i](const auto& one) {
            const program& of = one.result(i);
            std::printf(" %18.3f |", static_cast<double>(of.moved) / static_cast<double>(of.elements));
        });
    }
    std::printf("\n");
    head("time over the first");
    for (std::size_t i = 0; i != 6; ++i) {
        std::printf("\n| %-21s |", first.result(i).name);
        each([&](const auto& one) { std::printf(" %18.2f |", one.result(i).seconds / first.result(i).seconds); });
    }
    std::printf("\n");
}

template <class... Subjects>
void compare(Subjects... all) {
    for (int round = 0; round != 21; ++round) (all.run(), ...);
    print(all...);
}

}  // namespace

int main() {
    using best_fit = allot::best_fit<>;
    using deferred = allot::deferred<allot::best_fit<>>;
    compare(subject<of_boost<bc::new_allocator>>{"new_allocator"},
#ifdef ALLOT_BOOST_CONTAINER
            subject<of_boost<extended>>{"boost allocator v2"},
#endif
            subject<of_arena<allot::std_allocator, best_fit>>{"std_allocator"},
            subject<of_arena<allot::boost_allocator, best_fit>>{"boost_allocator"},
            subject<of_arena<allot::std_allocator, deferred>>{"deferred std"},
            subject<of_arena<allot::boost_allocator, deferred>>{"deferred boost"});
}
