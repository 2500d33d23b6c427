// `ordered` over Vulkan memory and timeline semaphores, on a driver with several queues whose batches overlap.
#include "../../late_patterns.hpp"
#include "queues.hpp"

#include <allot/allot.hpp>
#include <allot/vulkan/memory.hpp>
#include <allot/vulkan/timeline_semaphores.hpp>

#include <doctest/doctest.h>

#include <functional>
#include <map>
#include <memory>
#include <utility>

namespace {

using line_type = allot::vulkan::timeline_semaphores<>;
template <class Timeline = line_type, allot::ordered_options Options = allot::ordered_options{}>
using memory_on = allot::ordered<allot::arena<allot::vulkan::device_memory, allot::best_fit<>>, Timeline, Options>;

constexpr std::size_t size = 4096;

/// A few queues, in the form that late_patterns.hpp requires.
class queues {
public:
    explicit queues(unsigned count, bool disturbs = false, bool has_barriers = false)
        : count_{count}, disturbs_{disturbs}, has_barriers_{has_barriers} {}

    [[nodiscard]] unsigned count() const { return count_; }
    [[nodiscard]] VkQueue queue(unsigned at) const { return fake::queue_of(at); }
    template <class Block>
    void launch(unsigned at, const Block& block, std::function<void(std::byte*)> kernel, bool is_first) {
        // The program itself orders the commands of one block, and those of a queue if it has barriers.
        std::shared_ptr<bool>& last = last_of_[block.address.offset];
        std::shared_ptr<bool>& last_there = last_on_[at];
        const std::shared_ptr<bool> before = is_first ? nullptr : last, done = last = std::make_shared<bool>(false),
                                    earlier = has_barriers_ ? last_there : nullptr;
        last_there = done;
        const auto commands = [kernel = std::move(kernel), done, address = block.address] {
            kernel(fake::now.memory.at(address.handle).of_device.data() + address.offset);
            *done = true;
        };
        fake::launch(queue(at), commands,
                     [=] { return (before == nullptr || *before) && (earlier == nullptr || *earlier); });
    }
    void order(unsigned, unsigned) {}  // `launch` does
    void step(std::mt19937& random) {
        const VkQueue of = queue(static_cast<unsigned>(random() % count_));
        fake::step(of, random() % (fake::work.queues[of].size() + 1));
    }
    void finish() {
        fake::work.refuse_submit = VK_SUCCESS;
        fake::run_all();
    }
    void disturb(std::mt19937& random) {
        if (disturbs_) fake::work.refuse_submit = random() % 3 == 0 ? VK_ERROR_OUT_OF_DEVICE_MEMORY : VK_SUCCESS;
    }

private:
    unsigned count_;
    bool disturbs_, has_barriers_;
    std::map<std::size_t, std::shared_ptr<bool>> last_of_;
    std::map<unsigned, std::shared_ptr<bool>> last_on_;
};

allot::vulkan::device_memory device_on(allot::vulkan::logical_device& gpu) { return {gpu, fake::local}; }

constexpr allot::vulkan::timeline_semaphores_options with_barriers{.program_has_barriers = true};
using own_barriers = allot::vulkan::timeline_semaphores<allot::vulkan::unlocked_submit, with_barriers>;

template <class Timeline>
Timeline make() {
    if constexpr (std::same_as<Timeline, own_barriers>) return {&fake::get_with_queues, fake::instance, fake::device};
    else return Timeline{line_type{&fake::get_with_queues, fake::instance, fake::device}};
}

template <class Timeline, allot::ordered_options Options = allot::ordered_options{}>
tests::late_patterns play(unsigned seed, unsigned count, bool disturbs = false, bool has_barriers = false) {
    const fake::driven_queues machine;
    allot::vulkan::logical_device gpu{&fake::get_with_queues, fake::instance, fake::physical, fake::device};
    queues driver{count, disturbs, has_barriers};
    memory_on<Timeline, Options> memory{make<Timeline>(), device_on(gpu), size};
    return tests::play_late_patterns(memory, driver, seed, 120);
}

constexpr allot::ordered_options never{.waits = allot::wait_policy::never};

}  // namespace

TEST_CASE("vulkan ordered: late batches of one to four queues keep their patterns") {
    for (const unsigned count : {1u, 2u, 3u, 4u}) {
        tests::keeps_patterns(40, [=](unsigned seed) { return play<line_type>(seed, count); });
        tests::keeps_patterns(20, [=](unsigned seed) { return play<line_type, never>(seed, count); });
    }
}

TEST_CASE("vulkan ordered: with barriers of the program, a queue reuses its own memory without a submission") {
    for (const unsigned count : {1u, 2u, 3u})
        tests::keeps_patterns(20, [=](unsigned seed) {
            const tests::late_patterns one = play<own_barriers>(seed, count, false, true);
            if (count == 1) CHECK(fake::work.submissions <= 1);  // that of `detach`
            return one;
        });
    // A program that only claims to have barriers is noticed.
    CHECK(tests::wrong_patterns(20, [](unsigned seed) { return play<own_barriers>(seed, 1, false, false); }) > 0);
}

TEST_CASE("vulkan ordered: the patterns show a timeline that lost its waits") {
    using broken = tests::without_waits<line_type>;
    for (const unsigned count : {1u, 2u})
        CHECK(tests::wrong_patterns(40, [=](unsigned seed) { return play<broken>(seed, count); }) > 0);
}

TEST_CASE("vulkan ordered: submissions that fail refuse requests, and no pattern is lost") {
    unsigned refused = 0;
    tests::keeps_patterns(60, [&](unsigned seed) {
        const tests::late_patterns one = play<line_type>(seed, 3, true);
        refused += one.refused;
        return one;
    });
    CHECK(refused > 0);
}

TEST_CASE_FIXTURE(fake::driven_queues, "vulkan ordered: after the loss of a device its memory is given back") {
    allot::vulkan::logical_device gpu{&fake::get_with_queues, fake::instance, fake::physical, fake::device};
    memory_on<> memory{{&fake::get_with_queues, fake::instance, fake::device}, device_on(gpu), size};
    const auto first = memory.attach(fake::queue_of(0)), second = memory.attach(fake::queue_of(1));
    const auto block = memory.allocate({size, 64}, first);
    REQUIRE(block);
    fake::launch(fake::queue_of(0), [] { FAIL("it ran"); });
    memory.deallocate(block, first);
    const auto other = memory.allocate({size, 64}, second);
    CHECK(other);
    memory.deallocate(other, second);
    fake::work.is_lost = true;
    CHECK_FALSE(memory.allocate({size, 64}, first));
    CHECK(memory.diagnose({size, 64}, first).device_error == VK_ERROR_DEVICE_LOST);
    CHECK(memory.detach(first) == VK_ERROR_DEVICE_LOST);
    memory.abandon();
    const auto all = memory.allocate({size, 64}, first);
    CHECK(all);
    memory.deallocate(all, first);
}
