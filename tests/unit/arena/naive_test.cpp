// naive, also over cached: one region for every block, kept regions, and misused blocks.
#include <allot/allot.hpp>
#include <allot/arena/hardening.hpp>
#include <allot/host/pages.hpp>
#include <allot/tensor.hpp>

#include "../../laws/device_laws.hpp"
#include "../../laws/devices.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace {

using allot::layout;
using allot::misuse;
using allot::refusal;

using device = laws::watched<laws::handles<laws::handle_options{.align = {4096, 64}}>>;
using kept = allot::cached<device, allot::cached_options{.regions = 4}>;

struct watched_device {
    std::shared_ptr<laws::journal> journal = std::make_shared<laws::journal>();
    device make() { return device{laws::handles<laws::handle_options{.align = {4096, 64}}>{false}, journal}; }
};

struct told {
    static inline std::vector<misuse> all;
    void operator()(misuse what, std::size_t, std::size_t) const noexcept { all.push_back(what); }
};

}  // namespace

TEST_CASE("naive: every block has a region, which is released unchanged") {
    watched_device under;
    allot::naive<device> memory{under.make()};
    const auto a = memory.allocate({100, 64}), b = memory.allocate({200, 16});
    CHECK(a.address.handle != b.address.handle);
    CHECK(memory.capacity(a) == 100);
    CHECK(under.journal->bytes_out == 300);
    memory.deallocate(a);
    memory.deallocate(b);
    memory.deallocate({});
    CHECK(under.journal->bytes_out == 0);
    CHECK_FALSE(under.journal->wrong);
    CHECK(under.journal->attempts == 2);
}

TEST_CASE("naive: invalid layouts do not reach the device and its errors are reported") {
    watched_device under;
    allot::naive<device> memory{under.make()};
    for (const layout bad : {layout{0, 16}, layout{16, 0}, layout{16, 3}}) CHECK_FALSE(memory.allocate(bad));
    CHECK(under.journal->attempts == 0);
    CHECK(memory.diagnose({0, 16}).reason == refusal::empty_layout);
    CHECK(memory.diagnose({16, 3}).reason == refusal::bad_alignment);
    CHECK(memory.diagnose({16, 16}).reason == refusal::none);
    CHECK_FALSE(memory.allocate({16, 8192}));
    CHECK(memory.diagnose({16, 8192}).device_error == 9);  // no_such_align
    CHECK_FALSE(memory.allocate({std::numeric_limits<std::size_t>::max(), 16}));
    CHECK(memory.diagnose({std::numeric_limits<std::size_t>::max(), 16}).reason == refusal::device_refused);
    CHECK(memory.diagnose({16, 16}).reason == refusal::none);
    const auto block = memory.allocate({16, 16});
    CHECK(memory.diagnose({16, 16}).reason == refusal::none);
    memory.deallocate(block);
}

TEST_CASE("naive: a moved-from allocator does not report an earlier error of the device") {
    watched_device under;
    allot::naive<device> memory{under.make()};
    CHECK_FALSE(memory.allocate({16, 8192}));
    CHECK(memory.diagnose({16, 8192}).reason == refusal::device_refused);
    const allot::naive<device> moved{std::move(memory)};
    CHECK(moved.diagnose({16, 8192}).device_error == 9);  // no_such_align
    CHECK(memory.diagnose({16, 8192}).reason == refusal::none);
}

TEST_CASE("naive: diagnose reports device_refused for larger requests until a block is freed") {
    const auto left = std::make_shared<laws::supply<int>>();
    allot::naive<laws::limited<allot::host::pages<>>> memory{laws::limited<allot::host::pages<>>{{}, left}};
    left->regions = 1;
    const auto only = memory.allocate({5000, 16});
    REQUIRE(only);
    CHECK_FALSE(memory.allocate({9000, 8192}));  // three pages
    for (const layout more : {layout{9000, 8192}, layout{8193, 8192}, layout{9000, 16384}, layout{70'000, 8192}})
        CHECK(memory.diagnose(more).reason == refusal::device_refused);
    for (const layout less : {layout{8192, 8192}, layout{9000, 4096}, layout{1, 1}})
        CHECK(memory.diagnose(less).reason == refusal::none);
    memory.deallocate(only);
    CHECK(memory.diagnose({9000, 8192}).reason == refusal::none);
    const auto block = memory.allocate({9000, 4096});
    CHECK(block);
    memory.deallocate(block);
}

TEST_CASE("naive: a size that the granularity rounds beyond SIZE_MAX is over the limit") {
    constexpr laws::page_options whole{.min_align = 64, .granularity = 4096};
    constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
    allot::naive<laws::pages<whole>> memory{laws::pages<whole>{false}};
    CHECK_FALSE(memory.allocate({most, 16}));
    CHECK(memory.diagnose({most, 16}).reason == refusal::over_limit);
    CHECK_FALSE(memory.allocate({most / 2, 16}));
    CHECK(memory.diagnose({most / 2, 16}).reason == refusal::device_refused);
    CHECK(memory.diagnose({most - 4094, 16}).reason == refusal::over_limit);
    const auto block = memory.allocate({5000, 16});
    CHECK(memory.diagnose({5000, 16}).reason == refusal::none);
    memory.deallocate(block);
}

TEST_CASE("naive: double frees, foreign frees and wrong sizes are reported and change nothing") {
    told::all.clear();
    watched_device under;
    using checked = allot::naive<device, allot::hardening::debug, told>;
    {
        checked memory{under.make()}, other{under.make()};
        auto a = memory.allocate({100, 64});
        const auto b = other.allocate({100, 64});
        CHECK_FALSE(memory.check({}));  // an empty block is not a misuse
        auto longer = a;
        longer.size = 101;
        memory.deallocate(longer);
        auto from_elsewhere = b;
        from_elsewhere.address.handle += 1000;
        memory.deallocate(from_elsewhere);
        memory.deallocate(a);
        memory.deallocate(a);
        CHECK(told::all == std::vector{misuse::wrong_size, misuse::foreign_block, misuse::not_live});
        CHECK(under.journal->bytes_out == 100);
        CHECK_FALSE(under.journal->wrong);
        CHECK(memory.allocate({50, 16}));
        other.deallocate(b);
        told::all.clear();
    }
    CHECK(told::all == std::vector{misuse::leaked});
    CHECK(under.journal->bytes_out == 0);
}

TEST_CASE("naive: a stale block is reported after a cache reused its region") {
    told::all.clear();
    watched_device under;
    {
        allot::naive<kept, allot::hardening::checked, told> memory{kept{under.make()}};
        const auto stale = memory.allocate({100, 64});
        memory.deallocate(stale);
        const auto fresh = memory.allocate({100, 64});
        REQUIRE(fresh.address.handle == stale.address.handle);
        memory.deallocate(stale);
        CHECK(memory.capacity(stale) == 0);
        CHECK(told::all == std::vector{misuse::not_live, misuse::not_live});
        CHECK(memory.capacity(fresh) >= 100);
        memory.deallocate(fresh);
        memory.deallocate(fresh);
        CHECK(told::all.size() == 3);
    }
    CHECK(under.journal->bytes_out == 0);
    CHECK_FALSE(under.journal->wrong);
}

TEST_CASE("cached: the smallest suitable kept region is reused") {
    watched_device under;
    allot::naive<kept> memory{kept{under.make()}};
    const auto large = memory.allocate({1000, 16}), small = memory.allocate({600, 16}),
               tiny = memory.allocate({100, 16});
    const auto handle = small.address.handle;
    memory.deallocate(large);
    memory.deallocate(small);
    memory.deallocate(tiny);
    CHECK(under.journal->bytes_out == 1700);
    const auto again = memory.allocate({500, 16});
    CHECK(again.address.handle == handle);
    CHECK(again.size == 500);
    CHECK(memory.capacity(again) == 600);
    CHECK(under.journal->attempts == 3);
    const auto little = memory.allocate({300, 16});  // would waste 1000 bytes
    CHECK(under.journal->attempts == 4);
    memory.deallocate(little);
    memory.deallocate(again);
    CHECK(memory.trim() == 2000);
    CHECK(under.journal->bytes_out == 0);
}

TEST_CASE("cached: a region of more than twice the requested size is not reused") {
    watched_device under;
    allot::naive<kept> memory{kept{under.make()}};
    memory.deallocate(memory.allocate({203, 16}));
    const auto other = memory.allocate({101, 16});
    CHECK(memory.capacity(other) == 101);
    const auto same = memory.allocate({102, 16});
    CHECK(memory.capacity(same) == 203);
    memory.deallocate(other);
    memory.deallocate(same);
}

TEST_CASE("cached: trim of an arena releases the kept regions and counts every byte once") {
    watched_device under;
    allot::arena<kept, allot::best_fit<>, allot::growth::fixed<allot::growth_options{.step = 1000, .regions = 4}>>
        memory{kept{under.make()}};
    const auto a = memory.allocate({700, 16}), b = memory.allocate({900, 16}), c = memory.allocate({200, 16});
    REQUIRE((a && b && c));
    CHECK(under.journal->bytes_out == 2000);
    memory.deallocate(b);
    CHECK(memory.trim() == 1000);
    CHECK(under.journal->bytes_out == 1000);
    CHECK(memory.device().size() == 0);
    CHECK(memory.trim() == 0);
    memory.deallocate(a);
    memory.deallocate(c);
    CHECK(memory.trim() == 1000);
    CHECK(under.journal->bytes_out == 0);
}

TEST_CASE("cached: a kept region is reused only by its device and for its alignment") {
    watched_device under, elsewhere;
    allot::naive<kept> memory{kept{under.make()}}, other{kept{elsewhere.make()}};
    const auto first = memory.allocate({512, 64});   // its region is aligned to 4096
    const auto second = memory.allocate({512, 64});  // its region is aligned to 64
    const auto aligned = first.address.handle;
    memory.deallocate(second);
    CHECK(memory.allocate({512, 128}).address.handle != second.address.handle);
    memory.deallocate(first);
    CHECK(memory.device().size() == 1024);

    // The regions that one device keeps are not available to the other one, which calls its own device.
    CHECK(other.allocate({512, 64}));
    CHECK(elsewhere.journal->attempts == 1);
    CHECK(memory.device().size() == 1024);
    auto moved = std::move(memory);
    CHECK(moved.device().size() == 1024);
    CHECK(memory.device().size() == 0);
    CHECK(moved.allocate({512, 128}).address.handle == aligned);
    CHECK(under.journal->attempts == 3);
    CHECK_FALSE(under.journal->wrong);
    CHECK_FALSE(elsewhere.journal->wrong);
}

TEST_CASE("cached: a different error of the retry is reported and no region is lost") {
    constexpr int full = -4, lost = -36;  // out of memory, and then a lost queue
    using limited = laws::limited<allot::host::pages<>>;
    const auto left = std::make_shared<laws::supply<int>>();
    left->regions = 8;
    {
        allot::naive<allot::cached<limited>> memory{allot::cached<limited>{limited{{}, left}}};
        const auto live = memory.allocate({4096, 64}), spare = memory.allocate({4096, 64});
        REQUIRE((live && spare));
        std::memset(live.address, 7, live.size);
        memory.deallocate(spare);
        left->refusals = {full, lost};
        CHECK_FALSE(memory.allocate({20'000, 64}));
        CHECK(left->attempts == 4);
        CHECK(memory.diagnose({20'000, 64}) == allot::diagnosis{refusal::device_refused, 0, lost});
        CHECK(left->out == 1);  // the kept region was released, the live one was not
        CHECK(std::count(static_cast<unsigned char*>(live.address), static_cast<unsigned char*>(live.address) + 4096,
                         7) == 4096);
        const auto later = memory.allocate({20'000, 64});
        CHECK(later);
        CHECK(memory.diagnose({20'000, 64}).reason == refusal::none);
        memory.deallocate(later);
        memory.deallocate(live);
    }
    CHECK(left->out == 0);

    // The same for a storage: its allocator trims and tries again, and the error contains the second result.
    using growing = allot::arena<limited, allot::best_fit<>,
                                 allot::growth::fixed<allot::growth_options{.step = 4096, .regions = 8}>>;
    {
        growing memory{limited{{}, left}};
        auto live = *allot::alloc_storage(memory, 3000), spare = *allot::alloc_storage(memory, 3000);
        const auto tensor = *allot::alloc_tensor(live, 0, {3000}, allot::uint8);
        std::memset(tensor.data(), 9, 3000);
        spare.kill();
        CHECK(left->out == 2);
        left->refusals = {full, lost};
        const auto refused = allot::alloc_storage(memory, 20'000);
        REQUIRE_FALSE(refused);
        CHECK(refused.error().reason == allot::tensor_refusal::no_memory);
        CHECK(refused.error().memory.reason == refusal::device_refused);
        CHECK(refused.error().memory.device_error == lost);
        CHECK(left->refusals.empty());
        CHECK(left->out == 1);
        CHECK(static_cast<const unsigned char*>(tensor.data())[2999] == 9);
        CHECK(allot::alloc_storage(memory, 20'000));
    }
    CHECK(left->out == 0);
}

TEST_CASE("cached: after a device error all kept regions are released and the request is repeated") {
    watched_device under;
    allot::naive<kept> memory{kept{under.make()}};
    const auto a = memory.allocate({512, 16});
    memory.deallocate(a);
    under.journal->fail_on = 2;
    const auto b = memory.allocate({2000, 16});
    CHECK(b);
    CHECK(under.journal->attempts == 3);
    CHECK(under.journal->bytes_out == 2000);
    under.journal->fail_on = 4;
    CHECK_FALSE(memory.allocate({3000, 16}));  // no region was kept: one call
    CHECK(under.journal->attempts == 4);
    CHECK(memory.diagnose({3000, 16}).device_error == laws::journal::injected);
    CHECK(memory.trim() == 0);  // does not change the device
    CHECK(memory.diagnose({3000, 16}).reason == refusal::device_refused);
    memory.deallocate(b);
}

TEST_CASE("naive: a trim that released memory clears the device error") {
    struct hoarder : device {
        std::size_t spare = 4096;
        std::size_t trim() noexcept { return std::exchange(spare, 0); }
    };
    watched_device under;
    allot::naive<hoarder> memory{hoarder{under.make()}};
    under.journal->fail_on = 1;
    CHECK_FALSE(memory.allocate({3000, 16}));
    CHECK(memory.diagnose({3000, 16}).reason == refusal::device_refused);
    CHECK(memory.trim() == 4096);
    CHECK(memory.diagnose({3000, 16}).reason == refusal::none);
}

TEST_CASE("cached: the number of kept regions is bounded and all are released at destruction") {
    watched_device under;
    {
        allot::naive<kept> memory{kept{under.make()}};
        std::vector<allot::naive<kept>::block_type> blocks;
        for (int i = 0; i != 6; ++i) blocks.push_back(memory.allocate({100, 16}));
        for (const auto& block : blocks) memory.deallocate(block);
        CHECK(under.journal->bytes_out == 400);
        CHECK(memory.device().size() == 400);
        auto moved = std::move(memory);
        CHECK(moved.allocate({100, 16}));
        CHECK(under.journal->attempts == 6);
    }
    CHECK(under.journal->bytes_out == 100);  // the block that was never freed
    CHECK_FALSE(under.journal->wrong);
}
