// copied_pages: pages between memories with handles and memories of the host, by a copier that the test observes.
#include <allot/address/handle_offset.hpp>
#include <allot/page_cache/copied_pages.hpp>
#include <allot/page_cache/page_cache.hpp>

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <vector>

namespace {

using bytes = std::array<char, 16>;

/// Memory that is named by a pointer to its bytes and an offset. The host may not access it.
struct handled {
    using address_model = allot::handle_offset<bytes*>;
    [[maybe_unused]] static constexpr bool host_accessible = false;
};
struct pointed {
    struct address_model {
        using base = char*;
        using address = char*;
        static char* locate(char* from, std::size_t n) noexcept { return from + n; }
    };
    static constexpr bool host_accessible = true;
};
using handled_address = handled::address_model::address;

/// Notes its calls, and refuses one on request.
struct noting_copier {
    std::string* notes;
    bool* fails;

    template <class From, class To>
        requires(std::same_as<From, handled> || std::same_as<To, handled>)
    allot::copied copy(typename From::address_model::address from, typename To::address_model::address to,
                       std::size_t size) const noexcept {
        *notes += 'c';
        if (std::exchange(*fails, false)) return allot::copied::failure(7);
        std::memcpy(pointer(to), pointer(from), size);
        return allot::copy_path::on_device;
    }
    [[nodiscard]] long finish(allot::copy_path) const noexcept {
        *notes += 'f';
        return 0;
    }

private:
    static char* pointer(char* at) { return at; }
    static char* pointer(handled_address at) { return at.handle->data() + at.offset; }
};

}  // namespace

TEST_CASE("copied_pages: the copier copies pages at their offsets, and finishes") {
    bytes device{}, host{};
    std::string notes;
    bool fails = false;
    using copies = allot::copied_pages<noting_copier, handled, pointed>;
    copies copy{noting_copier{&notes, &fails}, handled_address{&device, 4}, host.data() + 2};
    device[4 + 3] = 'x';
    CHECK(copy({.tier = 0, .offset = 3, .bytes = 2}, {.tier = 1, .offset = 5, .bytes = 2}));
    CHECK_EQ(host[2 + 5], 'x');
    CHECK(copy({.tier = 1, .offset = 5, .bytes = 2}, {.tier = 0, .offset = 8, .bytes = 2}));
    CHECK_EQ(device[4 + 8], 'x');
    CHECK(copy({.tier = 0, .offset = 8, .bytes = 1}, {.tier = 0, .offset = 0, .bytes = 1}));
    CHECK_EQ(device[4], 'x');
    CHECK_EQ(notes, "cfcfcf");
    fails = true;
    CHECK_FALSE(copy({.tier = 0, .bytes = 1}, {.tier = 1, .bytes = 1}));
    CHECK_EQ(notes, "cfcfcfc");
    CHECK_FALSE(copy({.tier = 2, .bytes = 1}, {.tier = 0, .bytes = 1}));  // there is no such tier
}

TEST_CASE("copied_pages: the host copies between its memories") {
    bytes one{}, other{};
    std::string notes;
    bool fails = false;
    allot::copied_pages<noting_copier, pointed, pointed> copy{noting_copier{&notes, &fails}, one.data(), other.data()};
    one[1] = 'y';
    CHECK(copy({.tier = 0, .offset = 1, .bytes = 1}, {.tier = 1, .offset = 9, .bytes = 1}));
    CHECK_EQ(other[9], 'y');
    CHECK(notes.empty());
}

TEST_CASE("copied_pages: a page comes back from a slower tier into a cache") {
    bytes device{}, host{};
    std::string notes;
    bool fails = false;
    using copies = allot::copied_pages<noting_copier, handled, pointed>;
    using cache_type = allot::page_cache<allot::page_pool<4>, allot::lru_eviction, copies, 1>;
    constexpr allot::page_group group[] = {{.page_bytes = 8, .page_tokens = 1}};
    constexpr std::uint64_t slower[] = {16};
    const allot::page_cache_limits limits{
        .bytes = 8, .groups = group, .slower = slower, .sequences = 2, .sequence_pages = 2};
    std::vector<std::byte> records(cache_type::bytes_for(limits));
    cache_type cache{limits, records, copies{{&notes, &fails}, {&device, 0}, host.data()}};
    REQUIRE(cache);
    for (const char contents : {'a', 'b', 'a', 'b', 'a'}) {
        const allot::page_content page{.hash = {0, static_cast<unsigned char>(contents)}};
        const auto begun = cache.start({.contents = {&page, 1}});
        REQUIRE(begun);
        if (begun->tokens == 0) {
            REQUIRE(cache.append(begun->sequence, 1));
            device[0] = contents;
            REQUIRE(cache.name(begun->sequence, {&page, 1}));
        }
        CHECK_EQ(device[0], contents);
        cache.release(begun->sequence);
    }
    // Both pages leave, and then come back three times. When they leave again, the slower tier has them.
    CHECK_EQ(notes, "cfcfcfcfcf");
}
