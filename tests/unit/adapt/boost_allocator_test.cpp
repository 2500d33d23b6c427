// The commands of Boost's extended allocator interface, compared with the documentation of Boost.Interprocess
// (managed_memory_segments, "advanced allocation functions"), and the nodes.
#include "memories.hpp"

#include <allot/adapt/boost_allocator.hpp>
#include <allot/host/virtual_memory.hpp>

#include <boost/container/list.hpp>
#include <boost/container/string.hpp>
#include <boost/container/vector.hpp>
#include <doctest/doctest.h>

#include <cstring>

namespace {

namespace flags = boost::container;
using namespace allot::literals;
using helpers::all_bytes;
using helpers::is_aligned;

using heap_arena = allot::arena<allot::host::heap, allot::best_fit<>>;
template <class T, class Memory = heap_arena>
using in = allot::boost_allocator<T, Memory>;
template <class T, class Memory = heap_arena>
using vector = flags::vector<T, in<T, Memory>>;

struct three_bytes {
    char bytes[3];
};
struct alignas(64) line {
    char bytes[64];
};

using traits = flags::allocator_traits<in<int>>;
static_assert(flags::dtl::is_version<in<int>, 2>::value);
static_assert(std::same_as<traits::portable_rebind_alloc<char>::type, in<char>>);
static_assert(std::same_as<traits::pointer, int*>);
static_assert(!traits::is_always_equal::value && traits::propagate_on_container_swap::value);
static_assert(!traits::propagate_on_container_copy_assignment::value);
static_assert(!traits::propagate_on_container_move_assignment::value);
static_assert(std::is_nothrow_copy_constructible_v<in<int>> && std::is_nothrow_move_assignable_v<in<int>>);
static_assert(std::is_convertible_v<in<int>, in<char>> && std::is_convertible_v<heap_arena&, in<int>>);
static_assert(sizeof(in<int>) == sizeof(void*));

constexpr flags::allocation_type every_flag =
    flags::allocate_new | flags::expand_fwd | flags::expand_bwd | flags::shrink_in_place | flags::try_shrink_in_place;

// Whether the parameters are those that the documentation permits. A null pointer is permitted if a new array is too.
bool permits(flags::allocation_type command, std::size_t limit, std::size_t preferred, bool has_array) {
    const bool shrinks = (command & (flags::shrink_in_place | flags::try_shrink_in_place)) != 0;
    const bool expands = (command & (flags::expand_fwd | flags::expand_bwd)) != 0;
    if (shrinks) return !expands && limit >= preferred && has_array;
    return limit <= preferred && (has_array || (command & flags::allocate_new) != 0);
}

// So little memory that arrays get less than they prefer.
struct crowded : memories::in_band {
    char* const most = in<char, type>{memory}.allocate(260'500);
    [[nodiscard]] bool is_all_back() {
        in<char, type>{memory}.deallocate(most, 260'500);
        return memories::in_band::is_all_back();
    }
};

// Commands for arrays of T in a memory, each checked against its documented effects. Each array is filled with bytes of
// one value.
template <class T, class Memory>
class commands {
    using adapter = in<T, typename Memory::type>;
    static constexpr bool resizes = allot::resizable_allocator<typename Memory::type>;
    struct array {
        T* at;
        std::size_t count, value;
    };

public:
    void run(std::size_t calls) {
        for (std::size_t i = 0; i != calls; ++i) {
            if (live_.size() > 60 || (!live_.empty() && random_.below(4) == 0)) free_one();
            else send(i % 251);
        }
        while (!live_.empty()) free_one();
        CHECK(used_.is_all_back());
        CHECK((extended_ > 0) == resizes);
        CHECK((shrunk_ > 0) == resizes);
        CHECK(allocated_ > 0);
        CHECK(failed_ > 0);
        if (std::same_as<Memory, crowded>) CHECK(partial_ > 100);
    }

private:
    void free_one() {
        const std::size_t which = random_.below(live_.size());
        const array gone = std::exchange(live_[which], live_.back());
        live_.pop_back();
        if (!all_bytes(gone.at, gone.count * sizeof(T), gone.value)) FAIL("an array was written to");
        memory_.deallocate(gone.at, gone.count);
    }

    void send(std::size_t value) {
        const bool has_array = !live_.empty() && random_.below(5) != 0;
        array* const old = has_array ? &live_[random_.below(live_.size())] : nullptr;
        const array before = has_array ? *old : array{nullptr, 0, 0};
        const auto command = static_cast<flags::allocation_type>(random_.below(128)) & every_flag;
        const std::size_t most = random_.below(6) == 0 ? 3000 : 90;
        const std::size_t limit = 1 + random_.below(most), preferred = 1 + random_.below(most);
        std::size_t count = preferred;
        T *reuse = before.at, *given = nullptr;
        const bool nothrow = random_.below(2) == 0;
        try {
            given =
                memory_.allocation_command(command | (nothrow ? flags::nothrow_allocation : 0U), limit, count, reuse);
            if (given == nullptr && !nothrow) FAIL("a failure did not throw");
        } catch (const allot::bad_alloc& error) {
            if (nothrow) FAIL("nothrow_allocation threw");
            CHECK(error.diagnosis().reason != allot::refusal::none);
        }
        if (has_array && !all_bytes(before.at, std::min(before.count, count) * sizeof(T), before.value))
            FAIL("a command changed the elements");
        if (given == nullptr) return fail(command, limit, preferred, before);
        if (!permits(command, limit, preferred, has_array)) FAIL("the documentation forbids these parameters");
        if (!is_aligned(given, alignof(T))) FAIL("misaligned");
        if (reuse == nullptr) allocate(command, limit, preferred, {given, count, value});
        else if ((command & (flags::shrink_in_place | flags::try_shrink_in_place)) != 0)
            shrink(command, limit, preferred, count, *old);
        else extend(command, limit, preferred, count, *old);
        if (reuse != nullptr && given != before.at) FAIL("an array moved");
    }

    void allocate(flags::allocation_type command, std::size_t limit, std::size_t preferred, array fresh) {
        if ((command & flags::allocate_new) == 0) FAIL("no new array was permitted");
        if (fresh.count < limit || fresh.count > preferred) FAIL("neither the limit nor the preference");
        fill(fresh);
        live_.push_back(fresh);
        if (fresh.count < preferred && resizes) cannot_extend(fresh);
        ++allocated_;
    }
    void extend(flags::allocation_type command, std::size_t limit, std::size_t preferred, std::size_t count,
                array& at) {
        if ((command & flags::expand_fwd) == 0) FAIL("an array was extended without the flag");
        if (count < limit || count < at.count || count > std::max(at.count, preferred)) FAIL("not as documented");
        extended_ += count > at.count ? 1 : 0;
        at.count = count;
        fill(at);
        if (count < preferred) cannot_extend(at);
    }
    void cannot_extend(array at) {
        std::size_t more = at.count + 1;
        const bool done = memory_.allocation_command(flags::expand_fwd | flags::nothrow_allocation, more, more, at.at);
        if (done) FAIL("an array could have been extended further");
        ++partial_;
    }
    void shrink(flags::allocation_type command, std::size_t limit, std::size_t preferred, std::size_t count,
                array& at) {
        if (count < preferred || count > limit || count > at.count) FAIL("not as documented");
        shrunk_ += count < at.count ? 1 : 0;
        if ((command & flags::shrink_in_place) != 0) at.count = count;
    }
    // A failure is justified if the parameters are not permitted, if no flag applies, or if the memory has no room.
    void fail(flags::allocation_type command, std::size_t limit, std::size_t preferred, const array& held) {
        ++failed_;
        if constexpr (resizes) {
            if (held.at != nullptr && memory_.size(held.at) != held.count) FAIL("a failure changed the size");
        }
        if (!permits(command, limit, preferred, held.at != nullptr)) return;
        const bool shrinks = (command & (flags::shrink_in_place | flags::try_shrink_in_place)) != 0;
        if (shrinks && resizes && preferred <= held.count) FAIL("an array was not shrunk");
        if (shrinks) return;
        if ((command & flags::expand_fwd) != 0 && held.at != nullptr && resizes && held.count >= limit)
            FAIL("the array has the size of the limit");
        if ((command & flags::allocate_new) == 0) return;
        if (!Memory::bounded) FAIL("this memory grows");
        const auto left = used_.memory.diagnose({.size = memories::huge}).largest_hole;
        if (left > (limit + 1) * sizeof(T) + 4 * alignof(T) + 128) FAIL("there was room for a new array");
    }
    void fill(const array& one) {
        std::memset(static_cast<void*>(one.at), static_cast<int>(one.value), one.count * sizeof(T));
    }

    Memory used_;
    adapter memory_{used_.memory};
    std::vector<array> live_;
    memories::sequence random_;
    std::size_t extended_ = 0, shrunk_ = 0, allocated_ = 0, failed_ = 0, partial_ = 0;
};

// A lock that counts.
struct counted_lock {
    static inline int taken = 0;
    void lock() noexcept { ++taken; }
    void unlock() noexcept {}
};

// A value that counts its moves and copies.
struct mover {
    static inline std::size_t moves = 0;
    std::size_t value = 0;
    explicit mover(std::size_t of) noexcept : value{of} {}
    mover(const mover& other) noexcept : value{other.value} { ++moves; }
    mover& operator=(const mover& other) noexcept {
        value = other.value;
        ++moves;
        return *this;
    }
    ~mover() {}  // not trivial, so that a vector cannot copy the bytes
};

}  // namespace

TEST_CASE_TEMPLATE("boost_allocator: every combination of flags has its documented effects", Memory, memories::deferred,
                   memories::hardened_in_band, memories::hardened_side_table, memories::growing_in_band,
                   memories::one_by_one, memories::two) {
    commands<three_bytes, Memory>{}.run(5000);
    commands<line, Memory>{}.run(2000);
}

TEST_CASE("boost_allocator: every combination of flags has its documented effects for small elements") {
    commands<char, memories::in_band>{}.run(5000);
    commands<char, crowded>{}.run(20'000);
    commands<std::uint64_t, memories::side_table>{}.run(5000);
}

TEST_CASE("boost_allocator: a command extends as far as there is room, and reports what another call can get") {
    heap_arena memory{{}, 4_KiB};
    in<char> bytes{memory};
    char *const first = bytes.allocate(100), *const second = bytes.allocate(100), *const third = bytes.allocate(100);
    bytes.deallocate(second, 100);
    char* reuse = first;
    std::size_t count = 1000;
    CHECK(bytes.allocation_command(flags::expand_fwd | flags::nothrow_allocation, 500, count, reuse) == nullptr);
    CHECK(count == 100);
    CHECK(bytes.size(first) == 100);
    count = 1000;
    CHECK(bytes.allocation_command(flags::expand_fwd, 150, count, reuse) == first);
    CHECK(reuse == first);
    CHECK(count > 200);
    CHECK(first + count <= third);
    CHECK(bytes.size(first) == count);

    std::size_t fewer = 7;
    CHECK(bytes.allocation_command(flags::try_shrink_in_place, 90, fewer, reuse) == first);
    CHECK(fewer == 7);
    CHECK(bytes.size(first) == count);
    CHECK(bytes.allocation_command(flags::shrink_in_place, 90, fewer, reuse) == first);
    CHECK(fewer == 7);
    CHECK(bytes.size(first) == 7);

    std::size_t most = 10'000;
    reuse = nullptr;
    CHECK(bytes.allocation_command(flags::allocate_new | flags::nothrow_allocation, 5000, most, reuse) == nullptr);
    CHECK(most > 3000);
    CHECK(most < 4096);
    most -= 64;  // the records of best_fit
    char* const rest = bytes.allocation_command(flags::allocate_new, most, most, reuse);
    CHECK(reuse == nullptr);
    bytes.deallocate(rest, most);
    bytes.deallocate(first, 7);
    bytes.deallocate(third, 100);
    CHECK(memory.diagnose({.size = 3900}).reason == allot::refusal::none);
}

TEST_CASE("boost_allocator: sizes that overflow fail and change nothing") {
    memories::in_band used;
    in<std::uint64_t, memories::in_band::type> words{used.memory};
    constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
    std::uint64_t* const held = words.allocate(5);
    for (const std::size_t count : {most, most - 1, most / 8, most / 8 + 1, most / 8 - 1, most / 2}) {
        CHECK_THROWS_AS(static_cast<void>(words.allocate(count)), allot::bad_alloc);
        for (const auto how : {flags::allocate_new, flags::expand_fwd, flags::allocate_new | flags::expand_fwd}) {
            std::uint64_t* reuse = held;
            std::size_t wanted = count;
            CHECK(words.allocation_command(how | flags::nothrow_allocation, count, wanted, reuse) == nullptr);
            CHECK(reuse == held);
            wanted = count;
            CHECK_THROWS_AS(words.allocation_command(how, count, wanted, reuse), std::bad_alloc);
        }
    }
    std::size_t wanted = most;
    std::uint64_t* reuse = held;
    CHECK(words.allocation_command(flags::expand_fwd, 6, wanted, reuse) == held);
    CHECK(wanted > 1000);  // all of the memory, because nothing is behind
    words.deallocate(held, wanted);
    CHECK(used.is_all_back());
}

TEST_CASE_TEMPLATE("boost_allocator: nodes are distinct, aligned, and freed alone or together", Memory,
                   memories::in_band, memories::hardened_side_table, memories::one_by_one, memories::two) {
    Memory used;
    using adapter = in<line, typename Memory::type>;
    adapter nodes{used.memory};
    typename adapter::multiallocation_chain chain;
    nodes.allocate_individual(0, chain);
    CHECK(chain.empty());
    nodes.allocate_individual(7, chain);
    nodes.allocate_individual(30, chain);
    CHECK(chain.size() == 37);
    std::vector<line*> alone{nodes.allocate_one(), nodes.allocate_one()};
    for (int i = 0; i != 5; ++i) alone.push_back(chain.pop_front());
    for (line* const one : alone) {
        CHECK(is_aligned(one, 64));
        std::memset(static_cast<void*>(one), 1, sizeof(line));
    }
    CHECK(chain.size() == 32);
    for (line* const one : alone) {
        CHECK(all_bytes(one, sizeof(line), 1));
        nodes.deallocate_one(one);
    }
    nodes.deallocate_individual(chain);
    CHECK(chain.empty());

    in<char, typename Memory::type> small{used.memory};  // smaller than the link of a chain
    typename in<char, typename Memory::type>::multiallocation_chain chars;
    small.allocate_individual(100, chars);
    CHECK(chars.size() == 100);
    small.deallocate_one(chars.pop_front());
    small.deallocate_individual(chars);
    CHECK(used.is_all_back());
}

TEST_CASE("boost_allocator: a failed burst frees its nodes and leaves the chain") {
    heap_arena arena{{}, 64_KiB};
    allot::failing memory{arena};
    using adapter = in<line, decltype(memory)>;
    const auto all = arena.diagnose({.size = 1_MiB}).largest_hole;
    const auto requests = allot::fail_each_request(memory, [&] {
        adapter nodes{memory};
        adapter::multiallocation_chain chain;
        try {
            nodes.allocate_individual(3, chain);
            nodes.allocate_individual(20, chain);
            CHECK(chain.size() == 23);
        } catch (const std::bad_alloc&) {
            CHECK((chain.size() == 0 || chain.size() == 3));
        }
        nodes.deallocate_individual(chain);
        CHECK(arena.diagnose({.size = 1_MiB}).largest_hole == all);
    });
    CHECK(requests == 23);

    adapter nodes{memory};
    adapter::multiallocation_chain chain;
    try {
        nodes.allocate_individual(2000, chain);
        FAIL("there was no room for 2000 nodes");
    } catch (const allot::bad_alloc& error) {
        CHECK(error.diagnosis().reason != allot::refusal::none);
    }
    CHECK(chain.empty());
    CHECK(arena.diagnose({.size = 1_MiB}).largest_hole == all);
}

TEST_CASE("boost_allocator: a pool serves the nodes of a list, of which one call gets all or none") {
    using slots = allot::pool<allot::pool_options{.slot = 64, .align = 16}>;
    allot::arena<allot::host::static_storage<4_KiB>, slots> memory;
    flags::list<std::uint64_t, in<std::uint64_t, decltype(memory)>> list{memory};
    list.insert(list.end(), 60U, 7U);
    CHECK_THROWS_AS(list.insert(list.end(), 5U, 8U), allot::bad_alloc);
    CHECK(list.size() == 60);
    list.insert(list.begin(), 4U, 9U);
    CHECK_THROWS_AS(list.push_back(10U), std::bad_alloc);
    CHECK(list.front() == 9);
    list.clear();
    CHECK(helpers::room_for(memory, {64, 16}) == 64);

    vector<std::uint64_t, decltype(memory)> values{memory};  // a slot cannot be extended
    for (std::uint64_t i = 0; i != 5; ++i) values.push_back(i);
    CHECK_THROWS_AS(values.reserve(9), allot::bad_alloc);
    values.shrink_to_fit();
    CHECK(values.back() == 4);
}

TEST_CASE("boost_allocator: nodes of one call take the lock of `synchronized` once") {
    using shared_memory = allot::synchronized<heap_arena, counted_lock>;
    heap_arena arena{{}, 64_KiB};
    shared_memory memory{std::move(arena)};
    flags::list<int, in<int, shared_memory>> list{memory};
    counted_lock::taken = 0;
    list.insert(list.end(), 100U, 5);
    CHECK(counted_lock::taken == 1);
    list.erase(std::next(list.begin()), list.end());
    CHECK(counted_lock::taken == 2);
    CHECK(list.size() == 1);
    list.push_back(6);
    CHECK(counted_lock::taken == 3);
}

TEST_CASE("boost_allocator: a vector grows in place and moves no element while bytes behind it are free") {
    heap_arena memory{{}, 1_MiB};
    vector<mover> values{memory};
    values.emplace_back(0U);
    const mover* const first = values.data();
    mover::moves = 0;
    for (std::size_t i = 1; i != 10'000; ++i) values.emplace_back(i);
    CHECK(mover::moves == 0);
    CHECK(values.data() == first);
    values.resize(5000, mover{0});
    mover::moves = 0;
    values.shrink_to_fit();
    CHECK(values.capacity() == 5000);
    CHECK(mover::moves == 0);

    vector<int> behind{{1, 2, 3}, memory};  // in the freed bytes
    CHECK(behind.data() > static_cast<const void*>(first));
    values.reserve(9000);
    CHECK(values.data() != first);
    CHECK(mover::moves == 5000);
    for (std::size_t i = 0; i != 5000; ++i) CHECK(values[i].value == i);
}

TEST_CASE("boost_allocator: a vector that is the only block of an arena that grows in place never moves") {
    using endless = allot::arena<allot::host::virtual_memory, allot::best_fit<>, allot::growth::contiguous<>>;
    endless memory{allot::host::virtual_memory{64_MiB}};
    vector<mover, endless> values{memory};
    mover::moves = 0;
    for (std::size_t i = 0; i != 500'000; ++i) values.emplace_back(i);
    CHECK(mover::moves == 0);
    CHECK(values[499'999].value == 499'999);
    CHECK(memory.size() >= 500'000 * sizeof(mover));
    values.resize(10, mover{0});
    values.shrink_to_fit();
    memory.trim();
    CHECK(memory.size() < 1'000'000);
}

TEST_CASE("boost_allocator: a string grows in place") {
    heap_arena memory{{}, 64_KiB};
    flags::basic_string<char, std::char_traits<char>, in<char>> text{memory};
    text.append("a text that is too long for the small buffer");
    const char* const first = text.data();
    for (int i = 0; i != 1000; ++i) text.append(" and more");
    CHECK(text.data() == first);
    CHECK(text.size() == 44 + 9000);
    text.resize(100);
    if (memories::shrink(text)) CHECK(text.capacity() == 100);
    CHECK(text.data() == first);
    CHECK(text.find("buffer and more and") == 38);
}

TEST_CASE("boost_allocator: a block that cannot grow fails as documented") {
    heap_arena memory{{}, 4_KiB};
    vector<int> values{{1, 2, 3}, memory}, behind{{4}, memory};
    CHECK_THROWS_AS(values.stable_reserve(1000), allot::bad_alloc);
    CHECK(values.capacity() == 3);
    CHECK(behind.stable_reserve(500));
    CHECK(behind.capacity() >= 500);
    CHECK_THROWS_AS(values.reserve(2000), allot::bad_alloc);
    CHECK(values == vector<int>{{1, 2, 3}, memory});
}

TEST_CASE("boost_allocator: a failed request of a vector, a list or a string changes nothing") {
    memories::hardened_in_band used;
    allot::failing memory{used.memory};
    const auto requests = allot::fail_each_request(memory, [&] {
        using adapter = in<std::uint32_t, decltype(memory)>;
        flags::vector<std::uint32_t, adapter> values{adapter{memory}};
        flags::list<std::uint32_t, adapter> list{adapter{memory}};
        flags::basic_string<char32_t, std::char_traits<char32_t>, in<char32_t, decltype(memory)>> text{memory};
        for (std::uint32_t i = 0; i != 50; ++i) {
            const std::size_t had = values.size(), nodes = list.size(), length = text.size();
            try {
                values.push_back(i);
                list.insert(list.end(), 3U, i);
                text.append(5, U'x');
                if (i % 20 == 19) values.shrink_to_fit();
            } catch (const std::bad_alloc&) {
                CHECK(values.size() <= had + 1);
                CHECK((list.size() == nodes || list.size() == nodes + 3));
                CHECK((text.size() == length || text.size() == length + 5));
                break;
            }
        }
        for (std::uint32_t i = 0; i != values.size(); ++i) CHECK(values[i] == i);
    });
    CHECK(requests > 60);
    CHECK(used.is_all_back());
}

TEST_CASE("boost_allocator: the capacity of a vector with narrow sizes does not free the wrong block") {
    memories::hardened_in_band used;
    {
        using options = flags::vector_options_t<flags::stored_size<unsigned char>>;
        flags::vector<int, in<int, memories::hardened_in_band::type>, options> values{used.memory};
        for (int i = 0; i != 255; ++i) values.push_back(i);
        CHECK(values.capacity() == 255);
        CHECK_THROWS_AS(values.push_back(255), std::exception);  // of Boost or of the library
        CHECK(values[254] == 254);
    }
    CHECK(used.is_all_back());
}

TEST_CASE("boost_allocator: adapters are equal if they refer to the same allocator, for any value types") {
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

TEST_CASE("boost_allocator: a container keeps its memory, except in a swap") {
    heap_arena one{{}, 16_KiB}, other{{}, 16_KiB};
    const vector<int> numbers{{1, 2, 3}, one};
    const vector<int> copy{numbers};
    CHECK(copy.get_allocator() == in<int>{one});
    vector<int> there{other};
    there = numbers;
    CHECK(there.get_allocator() == in<int>{other});
    vector<int> source{{4, 5}, one};
    const int* const bytes = source.data();
    there = std::move(source);
    CHECK(there.get_allocator() == in<int>{other});
    CHECK(there.data() != bytes);
    CHECK(there == vector<int>{{4, 5}, one});
    vector<int> here{{6}, one};
    here.swap(there);
    CHECK(here.get_allocator() == in<int>{other});
    CHECK(there.get_allocator() == in<int>{one});
    CHECK(here.size() == 2);
}
