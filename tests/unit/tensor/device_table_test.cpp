// Tables in a device's memory: random changes, uploads and kernels on simulated queues whose work runs late, in an
// order that the test selects. Each kernel compares the version that it was given with the entries of its launch.
#include "../../error_of.hpp"

#include <allot/allot.hpp>
#include <allot/tensor/device_table.hpp>
#include <allot/tensor/discontiguous.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <vector>

namespace {

using allot::copied;
using allot::copy_path;
using allot::refusal;
using allot::tensor_refusal;

/// Queues whose commands run one by one, when the test says so.
struct late_device {
    struct point {
        unsigned queue = 0;
        std::size_t after = 0;  // the number of commands that must be done
        bool is_held = false;
    };
    struct command {
        std::function<void()> run;
        point needs{};
        bool is_fence = false;   // later commands of the queue wait for it
        bool waits_all = false;  // for all earlier commands of the queue
        bool is_done = false;
    };
    struct queue {
        bool is_in_order = true;
        std::vector<command> all{};
    };

    explicit late_device(std::vector<bool> in_order) {
        for (const bool each : in_order) queues.push_back({each});
    }

    std::vector<queue> queues;
    int live_points = 0, host_waits = 0, records = 0, barriers = 0;
    bool forgets = false;  // a driver whose points pass at once
    int fails_in = -1;     // the number of calls until one fails

    [[nodiscard]] bool fails() { return fails_in >= 0 && fails_in-- == 0; }
    void push(unsigned at, command fresh) { queues[at].all.push_back(std::move(fresh)); }
    [[nodiscard]] bool is_passed(const point& of) const {
        for (std::size_t i = 0; i != of.after; ++i)
            if (!queues[of.queue].all[i].is_done) return false;
        return true;
    }
    /// Runs one command of a queue that may run. Returns false if there is none.
    bool step(unsigned at, std::size_t skipped = 0) {
        bool all_done = true;
        for (command& each : queues[at].all) {
            const bool may_run =
                !each.is_done && (all_done || (!queues[at].is_in_order && !each.waits_all)) && is_passed(each.needs);
            if (may_run && (skipped-- == 0 || queues[at].is_in_order)) {
                if (each.run) each.run();
                return each.is_done = true;
            }
            all_done = all_done && each.is_done;
            if (!each.is_done && each.is_fence) return false;
        }
        return false;
    }
    void finish() {
        for (bool some = true; some;) {
            some = false;
            for (unsigned i = 0; i != queues.size(); ++i) some = step(i) || some;
        }
    }
};

struct late_line {
    using queue_type = unsigned;
    using point_type = late_device::point;
    using error_type = int;
    late_device* device;

    int record(unsigned queue, point_type& to) noexcept {
        if (device->fails()) return 7;
        ++device->records;
        if (!to.is_held) ++device->live_points;
        to = {queue, device->queues[queue].all.size(), true};
        return 0;
    }
    int wait(unsigned queue, const point_type& point) noexcept {
        if (device->fails()) return 8;
        device->push(queue, {.run = {}, .needs = point, .is_fence = true});
        return 0;
    }
    int barrier(unsigned queue) noexcept {
        if (device->fails()) return 9;
        ++device->barriers;
        device->push(queue, {.run = {}, .is_fence = true, .waits_all = true});
        return 0;
    }
    int wait_on_host(const point_type& point) noexcept {
        ++device->host_waits;
        while (!device->is_passed(point) && !device->forgets)
            for (unsigned i = 0; i != device->queues.size(); ++i) device->step(i);
        return 0;
    }
    [[nodiscard]] bool in_order(unsigned queue) const noexcept { return device->queues[queue].is_in_order; }
    [[nodiscard]] allot::point_state state(const point_type& point) const noexcept {
        return device->forgets || device->is_passed(point) ? allot::point_state::passed : allot::point_state::pending;
    }
    void release(point_type& point) noexcept {
        if (point.is_held) --device->live_points;
        point = {};
    }
};
static_assert(allot::timeline<late_line>);

/// Copies in the order of a queue, and notes which bytes.
struct late_copy {
    late_device& device;
    unsigned queue;
    std::vector<std::pair<const std::byte*, std::size_t>>& copies;

    template <class From, class To>
    [[nodiscard]] copied copy(const void* from, void* to, std::size_t bytes) const noexcept {
        if (device.fails()) return copied::failure(11);
        copies.emplace_back(static_cast<const std::byte*>(to), bytes);
        device.push(queue, {[=] { std::memcpy(to, from, bytes); }});
        return copy_path::to_device;
    }
    [[noreturn]] long finish(copy_path) const { throw "publish does not wait"; }
};

using arena = allot::arena<allot::host::heap, allot::best_fit<>>;

/// Plays random changes and launches, and counts the kernels that found wrong entries.
template <allot::device_table_options Options>
struct play {
    unsigned wrong = 0, kernels = 0, refused = 0;

    play(unsigned seed, std::vector<bool> in_order, bool disturbs = false, bool forgets = false) {
        std::mt19937 random{seed};
        const auto below = [&](std::size_t bound) { return static_cast<std::size_t>(random() % bound); };
        late_device device{in_order};
        device.forgets = forgets;
        late_line line{&device};
        arena memory{{}, 1 << 16};
        {
            const std::size_t entries = 1 + below(200);
            auto table = allot::alloc_device_table<std::uint32_t, Options>(memory, line, {entries}).value();
            std::vector<std::uint32_t> expected(entries);
            std::map<const void*, std::set<std::size_t>> stale;  // of each version, the entries set since its upload
            std::vector<std::pair<const std::byte*, std::size_t>> copies;
            for (int i = 0; i != 150; ++i) {
                const auto queue = static_cast<unsigned>(below(in_order.size()));
                switch (below(4)) {
                    case 0: {
                        const std::size_t first = below(entries),
                                          some = 1 + below(std::min<std::size_t>(entries - first, 9));
                        std::vector<std::uint32_t> values(some);
                        for (std::size_t at = 0; at != some; ++at) {
                            values[at] = static_cast<std::uint32_t>(below(3));
                            if (values[at] != expected[first + at])
                                for (auto& [version, changed] : stale) changed.insert(first + at);
                            expected[first + at] = values[at];
                        }
                        REQUIRE(table.set(first, values));
                        break;
                    }
                    case 1:
                    case 2: {
                        if (disturbs && below(3) == 0) device.fails_in = static_cast<int>(below(4));
                        copies.clear();
                        const auto version = table.publish(queue, late_copy{device, queue, copies});
                        device.fails_in = -1;
                        if (!version) {
                            ++refused;
                            break;
                        }
                        check_copies(*version, copies, stale, entries);
                        device.push(queue, {[this, expected, at = version->address] {
                                        ++kernels;
                                        wrong += std::memcmp(at, expected.data(), expected.size() * 4) != 0;
                                    }});
                        break;
                    }
                    default: device.step(queue, below(4)); break;
                }
                CHECK(table.versions() <= Options.versions);
                CHECK(std::equal(expected.begin(), expected.end(), table.entries().begin()));
            }
            if (forgets) device.finish();  // the table would not wait
        }
        device.finish();
        CHECK(device.live_points == 0);
        CHECK(memory.diagnose({1 << 15}).reason == refusal::none);  // all versions are given back
    }

    template <class Version>
    static void check_copies(const Version& version,
                             const std::vector<std::pair<const std::byte*, std::size_t>>& copies,
                             std::map<const void*, std::set<std::size_t>>& stale, std::size_t entries) {
        CHECK(version.size == entries * 4);
        std::set<std::size_t> seen;
        for (const auto& [to, bytes] : copies)
            for (std::size_t byte = 0; byte != bytes; byte += 4)
                seen.insert(static_cast<std::size_t>(to + byte - static_cast<const std::byte*>(version.address)) / 4);
        CHECK(seen.size() == version.uploaded);
        if (version.uploaded == 0) return;
        const auto known = stale.find(version.address);
        if (known == stale.end()) {
            CHECK(seen.size() == entries);  // a new version
        } else if (Options.joined == 0) {
            CHECK(seen == known->second);
        } else {
            CHECK(std::includes(seen.begin(), seen.end(), known->second.begin(), known->second.end()));
        }
        stale[version.address].clear();
    }
};

template <allot::device_table_options Options = allot::device_table_options{}>
void keeps_entries(std::vector<bool> in_order, bool disturbs = false) {
    unsigned kernels = 0, refused = 0;
    for (unsigned seed = 1; seed != 60; ++seed) {
        const play<Options> one{seed, in_order, disturbs};
        CAPTURE(seed);
        CHECK(one.wrong == 0);
        kernels += one.kernels;
        refused += one.refused;
    }
    CHECK(kernels > 500);
    CHECK((refused != 0) == (disturbs || !Options.waits || Options.queues < in_order.size()));
}

}  // namespace

TEST_CASE("device table: kernels in flight keep the version that they were given") {
    keeps_entries({true});
    keeps_entries<allot::device_table_options{.versions = 2}>({true, true});
    keeps_entries<allot::device_table_options{.versions = 5, .joined = 3}>({true, false, true});
    keeps_entries<allot::device_table_options{.versions = 2, .waits = false}>({false});
    keeps_entries<allot::device_table_options{.queues = 2}>({true, false, true});
}

TEST_CASE("device table: calls of the driver that fail lose no change and no version") {
    keeps_entries({true, false}, true);
    keeps_entries<allot::device_table_options{.versions = 2, .waits = false, .joined = 1}>({true}, true);
}

TEST_CASE("device table: the kernels notice a driver whose points pass at once") {
    unsigned wrong = 0;
    for (unsigned seed = 1; seed != 20; ++seed)
        wrong += play<allot::device_table_options{}>{seed, {true, true}, false, true}.wrong;
    CHECK(wrong > 0);
}

TEST_CASE("device table: without a change, nothing is copied and no call is made") {
    late_device device{{true, true}};
    late_line line{&device};
    arena memory{{}, 1 << 16};
    auto table = *allot::alloc_device_table(memory, line, {100});
    std::vector<std::pair<const std::byte*, std::size_t>> copies;
    const late_copy first{device, 0, copies};
    CHECK(table.publish(0, first)->uploaded == 100);
    REQUIRE(table.set(7, 0));  // the same value
    const auto again = *table.publish(0, first);
    CHECK(again.uploaded == 0);
    CHECK(again.number == 1);
    CHECK(copies.size() == 1);
    CHECK(device.records == 0);
    const auto other = *table.publish(1, late_copy{device, 1, copies});  // behind one wait for the upload
    CHECK(other.address == again.address);
    CHECK(device.records == 1);
    CHECK(copies.size() == 1);
    device.finish();
    REQUIRE(table.set(7, 1));
    REQUIRE(table.set(99, 1));
    const auto changed = *table.publish(0, first);
    CHECK(changed.address != again.address);
    CHECK(changed.number == 2);
    CHECK(changed.uploaded == 100);  // a new version
    device.finish();
    REQUIRE(table.set(50, 4));
    CHECK(table.publish(0, first)->uploaded == 3);
    CHECK(table.versions() == 2);
    CHECK(device.host_waits == 0);
    CHECK(device.barriers == 0);
    device.finish();
}

TEST_CASE("device table: work of a queue that was detached still keeps its version") {
    late_device device{{true, true}};
    late_line line{&device};
    arena memory{{}, 1 << 16};
    auto table = *allot::alloc_device_table<std::uint64_t,
                                            allot::device_table_options{.versions = 2, .queues = 1, .waits = false}>(
        memory, line, {3});
    std::vector<std::pair<const std::byte*, std::size_t>> copies;
    const auto version = *table.publish(0, late_copy{device, 0, copies});
    CHECK(version.size == 24);
    CHECK(table.publish(1, late_copy{device, 1, copies}).error().memory.reason == refusal::over_limit);
    CHECK(table.detach(0) == 0);
    CHECK(table.publish(1, late_copy{device, 1, copies}).error().memory.reason == refusal::over_limit);
    device.finish();
    CHECK(table.publish(1, late_copy{device, 1, copies})->address == version.address);
    device.push(1, {});
    REQUIRE(table.set(0, 5));
    CHECK(table.publish(1, late_copy{device, 1, copies}));
    REQUIRE(table.set(0, 6));
    CHECK(table.publish(1, late_copy{device, 1, copies}).error().memory.reason == refusal::pending);
    device.finish();
    CHECK(table.publish(1, late_copy{device, 1, copies})->uploaded == 1);
}

TEST_CASE("device table: the entries of a tensor's rows") {
    late_device device{{true}};
    late_line line{&device};
    arena memory{{}, 1 << 16};
    const auto data = *allot::alloc_storage(memory, 8192, 256), tables = *allot::alloc_storage(memory, 256);
    const auto rows = *allot::alloc_discontiguous_tensor<allot::row_index<>>(tables, 0, data, {768, 256, 2304, 3072},
                                                                             {4, 64}, allot::int32);
    auto table = *allot::alloc_device_table(memory, line, {6});
    CHECK_FALSE(table.set(3, rows.table()));  // the table ends before
    REQUIRE(table.set(1, rows.table()));
    const auto version = *table.publish(0);  // the host can access this memory
    const std::uint32_t expected[] = {0, 3, 1, 9, 12, 0};
    CHECK(std::memcmp(version.address, expected, sizeof expected) == 0);
    CHECK_FALSE(table.set(6, 1));
    CHECK_FALSE(table.set(7, std::span<const std::uint32_t>{}));
    CHECK(table.set(6, std::span<const std::uint32_t>{}));
}

TEST_CASE("device table: staging memory on the heap has the alignment of the entries") {
    struct alignas(256) page {
        unsigned number = 0;
        bool operator==(const page&) const = default;
    };
    late_device device{{true}};
    late_line line{&device};
    arena memory{{}, 1 << 16};
    int misaligned = 0;
    const auto copy = [&](const void* from, void* to, std::size_t bytes) noexcept -> long {
        misaligned += allot::raw_pointer::position(from) % alignof(page) != 0;
        std::memcpy(to, from, bytes);
        return 0;
    };
    for (std::size_t entries = 1; entries != 20; ++entries) {
        auto table = *allot::alloc_device_table<page>(memory, line, {entries, alignof(page)});
        REQUIRE(table.set(entries - 1, page{7}));
        REQUIRE(table.publish(0, copy));
    }
    CHECK(misaligned == 0);
}

TEST_CASE("device table: requests that cannot be served are refused") {
    late_device device{{true}};
    late_line line{&device};
    arena memory{{}, 4096}, staging{{}, 2048};
    const auto reason = [&](allot::device_table_request wanted) {
        return error_of(allot::alloc_device_table(memory, line, wanted)).reason;
    };
    CHECK(reason({0}) == tensor_refusal::bad_shape);
    CHECK(reason({std::numeric_limits<std::size_t>::max() / 4}) == tensor_refusal::too_large);
    CHECK(reason({std::numeric_limits<std::size_t>::max() / 2}) == tensor_refusal::too_large);
    CHECK(reason({4, 3}) == tensor_refusal::bad_alignment);
    CHECK(reason({1025}) == tensor_refusal::no_memory);
    CHECK(error_of(allot::alloc_device_table(memory, staging, line, {600})).reason == tensor_refusal::no_memory);
    CHECK(memory.diagnose({4000}).reason == refusal::none);

    // One version fits. The next change fails, and the version stays.
    auto table = *allot::alloc_device_table(memory, line, {600});
    const auto version = *table.publish(0);
    REQUIRE(table.set(1, 1));
    CHECK(table.publish(0).error().memory.reason == refusal::exhausted);
    CHECK(static_cast<const std::uint32_t*>(version.address)[1] == 0);
}
