// `ordered` over memory of the host and queues of jobs: in an order that the test selects, and on threads.
#include "../../late_patterns.hpp"

#include <allot/allot.hpp>
#include <allot/host/job_queue.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

namespace {

using allot::host::job_queue;
using allot::host::job_timeline;
template <class Timeline = job_timeline, allot::ordered_options Options = allot::ordered_options{}>
using memory_on = allot::ordered<allot::arena<allot::host::heap, allot::best_fit<>>, Timeline, Options>;

constexpr std::size_t size = 4096;

struct job {
    std::uint64_t number;
    std::function<void()> work;
};

/// A few queues, in the form that late_patterns.hpp requires.
class stepped_queues {
public:
    explicit stepped_queues(unsigned count) : jobs_(count) {
        for (unsigned i = 0; i != count; ++i) queues_.push_back(std::make_unique<job_queue>());
    }
    [[nodiscard]] unsigned count() const { return static_cast<unsigned>(queues_.size()); }
    [[nodiscard]] job_queue* queue(unsigned at) const { return queues_[at].get(); }
    template <class Block>
    void launch(unsigned at, const Block& block, std::function<void(std::byte*)> kernel, bool) {
        auto work = [kernel = std::move(kernel), bytes = static_cast<std::byte*>(block.address)] { kernel(bytes); };
        jobs_[at].push_back({queues_[at]->submit(), std::move(work)});
    }
    void order(unsigned from, unsigned to) const {
        CHECK(queues_[to]->wait_for(queues_[from]->last()) == allot::host::job_error::none);
    }
    void step(std::mt19937& random) { step(static_cast<unsigned>(random() % count())); }
    void finish() {
        for (bool changed = true; changed;) {
            changed = false;
            for (unsigned at = 0; at != count(); ++at) changed |= step(at);
        }
        for (const auto& each : jobs_) CHECK(each.empty());
    }
    void disturb(std::mt19937&) {}

private:
    bool step(unsigned at) {
        if (jobs_[at].empty() || !queues_[at]->ready(jobs_[at].front().number)) return false;
        const job next = std::move(jobs_[at].front());
        jobs_[at].pop_front();
        CHECK(queues_[at]->start(next.number));
        next.work();
        queues_[at]->complete(next.number);
        return true;
    }

    std::vector<std::unique_ptr<job_queue>> queues_;
    std::vector<std::deque<job>> jobs_;
};

/// A few queues with a thread each.
class threads {
public:
    explicit threads(unsigned count) {
        for (unsigned i = 0; i != count; ++i) all_.push_back(std::make_unique<one>());
    }
    threads(const threads&) = delete;
    threads& operator=(const threads&) = delete;
    ~threads() { finish(); }

    [[nodiscard]] unsigned count() const { return static_cast<unsigned>(all_.size()); }
    [[nodiscard]] job_queue* queue(unsigned at) const { return &all_[at]->queue; }
    template <class Block>
    void launch(unsigned at, const Block& block, std::function<void(std::byte*)> kernel, bool) {
        one& to = *all_[at];
        auto work = [kernel = std::move(kernel), bytes = static_cast<std::byte*>(block.address)] { kernel(bytes); };
        const std::scoped_lock lock{to.mutex};
        to.jobs.push_back({to.queue.submit(), std::move(work)});
        to.changed.notify_one();
    }
    void order(unsigned from, unsigned to) const {
        CHECK(queue(to)->wait_for(queue(from)->last()) == allot::host::job_error::none);
    }
    void step(std::mt19937&) { std::this_thread::yield(); }
    void finish() {
        for (const auto& each : all_) each->finish();
    }
    void disturb(std::mt19937&) {}

private:
    struct one {
        job_queue queue;
        std::mutex mutex;
        std::condition_variable changed;
        std::deque<job> jobs;
        bool ends = false;
        std::thread runner{[this] { run(); }};

        void run() {
            for (;;) {
                std::unique_lock lock{mutex};
                changed.wait(lock, [this] { return ends || !jobs.empty(); });
                if (jobs.empty()) return;
                const job next = std::move(jobs.front());
                jobs.pop_front();
                lock.unlock();
                if (queue.start(next.number)) next.work();
                queue.complete(next.number);
            }
        }
        void finish() {
            if (!runner.joinable()) return;
            {
                const std::scoped_lock lock{mutex};
                ends = true;
            }
            changed.notify_one();
            runner.join();
        }
    };
    std::vector<std::unique_ptr<one>> all_;
};

template <class Driver, class Timeline, allot::ordered_options Options = allot::ordered_options{}>
tests::late_patterns play(unsigned seed, unsigned count) {
    Driver driver{count};
    memory_on<Timeline, Options> memory{Timeline{job_timeline{}}, allot::host::heap{}, size};
    return tests::play_late_patterns(memory, driver, seed, 120);
}

constexpr allot::ordered_options never{.waits = allot::wait_policy::never};

}  // namespace

TEST_CASE("job_queue ordered: late jobs of one to three queues keep their patterns") {
    for (const unsigned count : {1u, 2u, 3u}) {
        tests::keeps_patterns(40, [=](unsigned seed) { return play<stepped_queues, job_timeline>(seed, count); });
        tests::keeps_patterns(20,
                              [=](unsigned seed) { return play<stepped_queues, job_timeline, never>(seed, count); });
    }
}

TEST_CASE("job_queue ordered: the patterns show a timeline that lost its waits") {
    using broken = tests::without_waits<job_timeline>;
    CHECK(tests::wrong_patterns(40, [](unsigned seed) { return play<stepped_queues, broken>(seed, 2); }) > 0);
}

TEST_CASE("job_queue ordered: jobs of two and three threads keep their patterns") {
    for (const unsigned count : {2u, 3u})
        tests::keeps_patterns(10, [=](unsigned seed) { return play<threads, job_timeline>(seed, count); });
}

TEST_CASE("job_queue ordered: a queue that frees a block without a job passes its wait on") {
    job_queue first, second, third;
    memory_on<> memory{{}, allot::host::heap{}, size};
    const auto a = memory.attach(&first), b = memory.attach(&second), c = memory.attach(&third);
    const auto used = memory.allocate({.size = size}, a);
    const auto job = first.submit();
    memory.deallocate(used, a);
    const auto unused = memory.allocate({.size = size}, b);
    REQUIRE(unused);
    memory.deallocate(unused, b);
    const auto last = memory.allocate({.size = size}, c);
    REQUIRE(last);
    const auto next = third.submit();
    CHECK_FALSE(third.ready(next));
    std::atomic<bool> is_complete = false;
    std::thread runner{[&] {
        is_complete = true;
        first.complete(job);
    }};
    CHECK(third.start(next));
    CHECK(is_complete);
    runner.join();
    third.complete(next);
    memory.deallocate(last, c);
}

TEST_CASE("job_queue ordered: the host waits for the waits of a queue without jobs") {
    job_queue first, second;
    memory_on<> memory{{}, allot::host::heap{}, size};
    const auto a = memory.attach(&first), b = memory.attach(&second);
    const auto used = memory.allocate({.size = size}, a);
    const auto job = first.submit();
    memory.deallocate(used, a);
    memory.deallocate(memory.allocate({.size = size}, b), b);
    memory.cover();
    CHECK_FALSE(memory.poll());
    std::thread runner{[&] { first.complete(job); }};
    const auto given = memory.allocate({.size = size}, memory.host);
    CHECK(given);
    CHECK(first.last().state() == allot::point_state::passed);
    runner.join();
    memory.deallocate(given, memory.host);
}

TEST_CASE("job_queue ordered: work repeats after a queue failed and all are abandoned") {
    job_queue first, second;
    memory_on<> memory{{}, allot::host::heap{}, size};
    const auto a = memory.attach(&first), b = memory.attach(&second);
    for (int round = 0; round != 3; ++round) {
        auto block = memory.allocate({.size = size}, a);
        REQUIRE(block);
        CHECK(first.start(first.submit()));
        memory.deallocate(block, a);
        block = memory.allocate({.size = size}, b);
        REQUIRE(block);
        const auto job = second.submit();
        first.fail();
        CHECK_FALSE(second.start(job));
        memory.deallocate(block, b);
        CHECK(memory.synchronize() == allot::host::job_error::failed);
        memory.abandon();
        first.abandon();
        second.abandon();
        CHECK(memory.synchronize() == allot::host::job_error::none);
    }
}
