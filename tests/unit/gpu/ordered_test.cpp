// `ordered` over device memory and events, on the fake runtime: kernels run late, and the test selects which.
#include "../../late_patterns.hpp"
#include "fake_gpu.hpp"
#include "machine.hpp"

#include <allot/allot.hpp>

#include <functional>
#include <utility>

namespace {

using allot::point_state;
using events = vendor::events;
constexpr std::size_t size = 4096;
using slots = allot::pool<allot::pool_options{.slot = 1024, .count = size / 1024, .align = 64}>;
using pages = allot::page_tree<allot::page_tree_options{.page = 256, .count = size / 256, .largest_order = 3}>;

template <class Timeline = events, allot::ordered_options Options = allot::ordered_options{},
          class Strategy = allot::best_fit<>>
using memory_on = allot::ordered<allot::arena<vendor::device_memory, Strategy>, Timeline, Options>;

/// A few streams of device 0, in the form that late_patterns.hpp requires.
class streams {
public:
    explicit streams(unsigned count, bool disturbs = false) : all_(count), disturbs_{disturbs} {
        for (gpu::stream& each : all_) REQUIRE(gpu::stream_create(&each) == gpu::success);
    }
    streams(const streams&) = delete;
    streams& operator=(const streams&) = delete;
    ~streams() {
        for (const gpu::stream each : all_) CHECK(gpu::stream_destroy(each) == gpu::success);
    }
    [[nodiscard]] unsigned count() const { return static_cast<unsigned>(all_.size()); }
    [[nodiscard]] gpu::stream queue(unsigned at) const { return all_[at]; }
    template <class Block>
    void launch(unsigned at, const Block& block, std::function<void(std::byte*)> kernel, bool) {
        fake_gpu::launch(all_[at], block.address, block.size, std::move(kernel));
    }
    void order(unsigned from, unsigned to) {
        fake_gpu::refuse_next_event_call(gpu::success);
        events line;
        events::point_type point{};
        CHECK(line.record(all_[from], point) == gpu::success);
        CHECK(line.wait(all_[to], point) == gpu::success);
        line.release(point);
    }
    void step(std::mt19937& random) { fake_gpu::step(all_[random() % all_.size()]); }
    void finish() { CHECK(gpu::device_synchronize() == gpu::success); }
    void disturb(std::mt19937& random) {
        if (disturbs_) fake_gpu::refuse_next_event_call(random() % 3 == 0 ? gpu::out_of_memory : gpu::success);
    }

private:
    std::vector<gpu::stream> all_;
    bool disturbs_;
};

/// Checks at the end that all events are destroyed.
struct machine : tests::machine {
    machine() = default;
    ~machine() { CHECK(fake_gpu::events() == 0); }
    machine(const machine&) = delete;
    machine& operator=(const machine&) = delete;
};

template <class Timeline, allot::ordered_options Options = allot::ordered_options{}, class Strategy = allot::best_fit<>>
tests::late_patterns play(unsigned seed, unsigned queues, bool disturbs = false) {
    const machine machine;
    streams driver{queues, disturbs};
    memory_on<Timeline, Options, Strategy> memory{Timeline{events{}}, vendor::device_memory{}, size};
    const tests::late_patterns sum = tests::play_late_patterns(memory, driver, seed, 120);
    fake_gpu::refuse_next_event_call(gpu::success);
    return sum;
}

/// Launches a kernel that writes one value, and then one that adds the bytes which differ from it to `wrong`.
template <class Block>
void write_and_check(gpu::stream stream, const Block& block, std::byte value, int& wrong) {
    fake_gpu::launch(stream, block.address, block.size,
                     [=](std::byte* bytes) { std::fill_n(bytes, block.size, value); });
    fake_gpu::launch(stream, block.address, block.size, [=, &wrong](const std::byte* bytes) {
        wrong += static_cast<int>(std::count_if(bytes, bytes + block.size, [=](std::byte b) { return b != value; }));
    });
}

constexpr allot::ordered_options plain{};
constexpr allot::ordered_options few_points{.points = 1};
constexpr allot::ordered_options never{.waits = allot::wait_policy::never};

}  // namespace

TEST_CASE(VENDOR " ordered: late kernels of two to four streams keep their patterns") {
    for (const unsigned queues : {2u, 3u, 4u}) {
        tests::keeps_patterns(60, [=](unsigned seed) { return play<events>(seed, queues); });
        tests::keeps_patterns(20, [=](unsigned seed) { return play<events, few_points>(seed, queues); });
        tests::keeps_patterns(20, [=](unsigned seed) { return play<events, never>(seed, queues); });
        tests::keeps_patterns(20, [=](unsigned seed) { return play<events, plain, slots>(seed, queues); });
        tests::keeps_patterns(20, [=](unsigned seed) { return play<events, plain, pages>(seed, queues); });
    }
}

TEST_CASE(VENDOR " ordered: the patterns show a timeline that lost its waits") {
    using broken = tests::without_waits<events>;
    CHECK(tests::wrong_patterns(60, [](unsigned seed) { return play<broken>(seed, 2); }) > 0);
    CHECK(tests::wrong_patterns(60, [](unsigned seed) { return play<broken, plain, slots>(seed, 2); }) > 0);
    CHECK(tests::wrong_patterns(60, [](unsigned seed) { return play<broken, plain, pages>(seed, 2); }) > 0);
}

TEST_CASE(VENDOR " ordered: calls of the runtime that fail refuse requests, and no pattern is lost") {
    unsigned refused = 0;
    tests::keeps_patterns(100, [&](unsigned seed) {
        const tests::late_patterns one = seed % 3 == 0   ? play<events>(seed, 3, true)
                                         : seed % 3 == 1 ? play<events, plain, slots>(seed, 3, true)
                                                         : play<events, plain, pages>(seed, 3, true);
        refused += one.refused;
        return one;
    });
    CHECK(refused > 0);
}

TEST_CASE(VENDOR " ordered: a stream reuses its own memory without a call of the runtime") {
    const machine machine;
    streams driver{2};
    memory_on<> memory{{}, vendor::device_memory{}, size};
    const auto queue = memory.attach(driver.queue(0));
    int wrong = 0;
    for (int i = 0; i != 20; ++i) {
        const auto block = memory.allocate({size, 256}, queue);
        REQUIRE(block);
        write_and_check(driver.queue(0), block, static_cast<std::byte>(i), wrong);
        memory.deallocate(block, queue);
    }
    const fake_gpu::event_calls calls = fake_gpu::calls();
    CHECK(calls.creations + calls.records + calls.waits + calls.queries == 0);
    driver.finish();
    CHECK(wrong == 0);
}

TEST_CASE(VENDOR " ordered: another stream gets pending memory behind one record and one wait") {
    const machine machine;
    streams driver{2};
    memory_on<> memory{{}, vendor::device_memory{}, size};
    const auto first = memory.attach(driver.queue(0)), second = memory.attach(driver.queue(1));
    int wrong = 0;
    const auto block = memory.allocate({size, 256}, first);
    write_and_check(driver.queue(0), block, std::byte{1}, wrong);
    memory.deallocate(block, first);
    CHECK(fake_gpu::calls().records == 0);  // a free records nothing
    const auto again = memory.allocate({size, 256}, second);
    REQUIRE(again);
    CHECK(again.address == block.address);
    CHECK(fake_gpu::calls().records == 1);
    CHECK(fake_gpu::calls().waits == 1);
    write_and_check(driver.queue(1), again, std::byte{2}, wrong);
    while (fake_gpu::step(driver.queue(1))) {}
    driver.finish();
    CHECK(wrong == 0);
    memory.deallocate(again, second);
}

TEST_CASE(VENDOR " ordered: memory of a destroyed stream stays pending until its work is done") {
    const machine machine;
    streams driver{1};
    memory_on<> memory{{}, vendor::device_memory{}, size};
    gpu::stream gone{};
    REQUIRE(gpu::stream_create(&gone) == gpu::success);
    const auto first = memory.attach(gone), second = memory.attach(driver.queue(0));
    int wrong = 0;
    const auto block = memory.allocate({size, 256}, first);
    write_and_check(gone, block, std::byte{1}, wrong);
    memory.deallocate(block, first);
    CHECK(memory.detach(first) == gpu::success);
    CHECK(gpu::stream_destroy(gone) == gpu::success);
    const auto again = memory.allocate({size, 256}, second);
    REQUIRE(again);
    write_and_check(driver.queue(0), again, std::byte{2}, wrong);
    CHECK_FALSE(fake_gpu::step(driver.queue(0)));  // waits for the kernels of the destroyed stream
    driver.finish();
    CHECK(wrong == 0);
    memory.deallocate(again, second);
}

TEST_CASE(VENDOR " ordered: an event of another library is a point, and stays its own") {
    const machine machine;
    streams driver{2};
    gpu::event theirs{};
    REQUIRE(gpu::create_event(&theirs) == gpu::success);
    {
        memory_on<> memory{{}, vendor::device_memory{}, size};
        const auto mine = memory.attach(driver.queue(0));
        int wrong = 0;
        const auto block = memory.allocate({size, 256}, mine);
        CHECK(gpu::record_event(theirs, driver.queue(0)) == gpu::success);
        CHECK(gpu::wait_event(driver.queue(1), theirs) == gpu::success);
        write_and_check(driver.queue(1), block, std::byte{1}, wrong);  // a stream that `memory` does not know
        CHECK(gpu::record_event(theirs, driver.queue(1)) == gpu::success);
        events::point_type until = events::adopt(theirs);
        CHECK(memory.deallocate(block, until));
        const auto again = memory.allocate({size, 256}, mine);
        REQUIRE(again);
        write_and_check(driver.queue(0), again, std::byte{2}, wrong);
        while (fake_gpu::step(driver.queue(0))) {}
        driver.finish();
        CHECK(wrong == 0);
        memory.deallocate(again, mine);
    }
    CHECK(gpu::destroy_event(theirs) == gpu::success);
}

TEST_CASE(VENDOR " ordered: a request for a stream that captures is refused, and the capture continues") {
    const machine machine;
    streams driver{2};
    memory_on<> memory{{}, vendor::device_memory{}, size};
    const auto first = memory.attach(driver.queue(0)), second = memory.attach(driver.queue(1));
    memory.deallocate(memory.allocate({size, 256}, first), first);
    REQUIRE(gpu::stream_begin_capture(driver.queue(1)) == gpu::success);
    CHECK_FALSE(memory.allocate({size, 256}, second));
    CHECK(memory.diagnose({size, 256}, second).reason == allot::refusal::device_refused);
    CHECK(memory.diagnose({size, 256}, second).device_error == gpu::capture_unsupported);
    CHECK(gpu::stream_end_capture(driver.queue(1)) == gpu::success);
    const auto block = memory.allocate({size, 256}, second);
    CHECK(block);
    memory.deallocate(block, second);
}

TEST_CASE(VENDOR " ordered: while a stream captures, an arena that grows serves other streams from new memory") {
    const machine machine;
    streams driver{2};
    using growing = allot::arena<vendor::device_memory, allot::best_fit<>, allot::growth::geometric<>>;
    allot::ordered<growing, events> memory{{}, vendor::device_memory{}};
    const auto first = memory.attach(driver.queue(0)), second = memory.attach(driver.queue(1));
    memory.deallocate(memory.allocate({size, 256}, first), first);
    const std::size_t held = memory.size();
    const auto rest = memory.allocate({held - size, 256}, second);
    memory.deallocate(rest, first);
    REQUIRE(gpu::stream_begin_capture(driver.queue(0)) == gpu::success);
    const auto block = memory.allocate({held, 256}, second);
    CHECK(block);
    CHECK(memory.size() > held);
    CHECK(memory.diagnose({size, 256}, second).reason == allot::refusal::none);
    memory.deallocate(block, second);
    CHECK(memory.trim() == 0);  // all regions have pending uses
    CHECK(gpu::stream_end_capture(driver.queue(0)) == gpu::success);
}

TEST_CASE(VENDOR " ordered: after the loss of a device everything is given back") {
    fake_gpu::start();
    gpu::stream streams[2]{};
    for (gpu::stream& each : streams) REQUIRE(gpu::stream_create(&each) == gpu::success);
    {
        memory_on<> memory{{}, vendor::device_memory{}, size};
        const auto first = memory.attach(streams[0]), second = memory.attach(streams[1]);
        const auto block = memory.allocate({100, 256}, first), rest = memory.allocate({size - 256, 256}, second);
        REQUIRE((block && rest));
        memory.deallocate(block, first);
        const auto taken = memory.allocate({100, 256}, second);  // records an event
        CHECK(taken);
        CHECK(fake_gpu::events() > 0);
        memory.deallocate(rest, second);
        fake_gpu::lose_devices(gpu::illegal_address);
        CHECK_FALSE(memory.allocate({size - 256, 256}, first));
        CHECK(memory.diagnose({size - 256, 256}, first).device_error == gpu::illegal_address);
        CHECK(memory.synchronize() == gpu::illegal_address);
        memory.deallocate(taken, second);
        memory.abandon();
        const auto all = memory.allocate({size, 256}, first);  // the addresses are free, for a program that only counts
        CHECK(all);
        memory.deallocate(all, first);
    }
    CHECK(fake_gpu::events() == 0);
    fake_gpu::start();
    for (const gpu::stream each : streams) CHECK(gpu::stream_destroy(each) == gpu::success);
}
