#include <allot/host/job_queue.hpp>

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>
#include <thread>

namespace {

using allot::point_state;
using allot::host::job_error;
using allot::host::job_point;
using allot::host::job_queue;
using allot::host::job_timeline;

}  // namespace

TEST_CASE("job_queue: a point passes when the jobs before it are complete") {
    job_queue queue;
    job_timeline line;
    job_point empty{}, before{}, after{};
    CHECK(line.state(empty) == point_state::passed);
    CHECK(line.wait_on_host(empty) == job_error::none);
    CHECK(line.record(&queue, before) == job_error::none);
    CHECK(line.state(before) == point_state::passed);  // there is no job
    CHECK(queue.submit() == 1);
    CHECK(queue.submit() == 2);
    CHECK(line.record(&queue, after) == job_error::none);
    CHECK(queue.submit() == 3);
    CHECK(line.state(before) == point_state::passed);
    CHECK(line.state(after) == point_state::pending);
    queue.complete(1);
    CHECK(line.state(after) == point_state::pending);
    queue.complete(2);
    CHECK(line.state(after) == point_state::passed);
    queue.complete(1);  // later than job 2: has no effect
    CHECK(line.state(after) == point_state::passed);
    CHECK(line.in_order(&queue));
    CHECK(line.barrier(&queue) == job_error::none);
    line.release(after);
    CHECK_FALSE(after);
}

TEST_CASE("job_queue: jobs that are submitted after a wait start after the point, earlier ones do not wait") {
    job_queue first, second;
    job_timeline line;
    const auto work = first.submit(), early = second.submit();
    CHECK(line.wait(&second, first.last()) == job_error::none);
    const auto late = second.submit();
    CHECK(second.ready(early));
    CHECK(second.start(early));
    CHECK_FALSE(second.ready(late));
    first.complete(work);
    CHECK(second.ready(late));
    CHECK(second.start(late));
}

TEST_CASE("job_queue: a point includes the points that its queue waits for") {
    job_queue first, second, third;
    job_timeline line;
    job_point early{}, late{}, again{}, other{};
    const auto work = first.submit(), own = second.submit();
    CHECK(line.record(&second, early) == job_error::none);
    CHECK(line.wait(&second, first.last()) == job_error::none);
    CHECK(line.record(&second, late) == job_error::none);
    CHECK(line.wait(&third, late) == job_error::none);
    CHECK(line.record(&third, other) == job_error::none);
    const auto next = third.submit();
    second.complete(own);
    CHECK(line.state(early) == point_state::passed);
    CHECK(line.state(late) == point_state::pending);
    CHECK(line.state(other) == point_state::pending);
    CHECK_FALSE(third.ready(next));
    CHECK(line.wait(&second, other) == job_error::none);  // the point of `second` does not wait for itself
    CHECK(line.record(&second, again) == job_error::none);
    CHECK(line.state(again) == point_state::pending);
    first.complete(work);
    CHECK(line.wait_on_host(late) == job_error::none);
    CHECK(line.wait_on_host(again) == job_error::none);
    CHECK(line.state(late) == point_state::passed);
    CHECK(line.state(other) == point_state::passed);
    CHECK(third.start(next));
    CHECK(second.submitted() == 1);  // a wait is not a job
}

TEST_CASE("job_queue: a point needs the jobs as well as the waits, and later waits do not delay it") {
    job_queue first, second;
    const auto work = first.submit(), own = second.submit();
    CHECK(second.wait_for(first.last()) == job_error::none);
    const job_point both = second.last();
    const auto more = first.submit();
    CHECK(second.wait_for(first.last()) == job_error::none);
    first.complete(work);
    CHECK(both.state() == point_state::pending);
    second.complete(own);
    CHECK(both.state() == point_state::passed);
    CHECK(second.last().state() == point_state::pending);
    first.complete(more);
    CHECK(second.last().state() == point_state::passed);
}

TEST_CASE("job_queue: a point with a failed wait fails until the queue is abandoned") {
    job_queue first, second;
    const auto work = first.submit();
    CHECK(second.wait_for(first.last()) == job_error::none);
    const job_point point = second.last();
    const auto waiting = second.submit();
    first.fail();
    CHECK(point.state() == point_state::failed);
    CHECK(point.wait() == job_error::failed);
    CHECK_FALSE(second.start(waiting));
    CHECK(second.last().state() == point_state::failed);
    CHECK(second.last().wait() == job_error::failed);  // the job never starts
    second.complete(waiting);
    CHECK(second.last().state() == point_state::failed);  // the memory of the job is not free
    CHECK_FALSE(second.start(second.submit()));           // a later job may use the same memory
    first.abandon();
    second.abandon();
    CHECK(second.start(second.submit()));
    first.complete(work);  // too late: it has no effect
    const auto repeated = first.submit();
    CHECK(first.start(repeated));
    CHECK(first.last().state() == point_state::pending);
    CHECK(second.wait_for(first.last()) == job_error::none);
    const auto after = second.submit();
    CHECK_FALSE(second.ready(after));
    first.complete(repeated);
    CHECK(second.start(after));
}

TEST_CASE("job_queue: jobs that never complete make their points fail, and complete ones remain") {
    job_queue first, second;
    job_timeline line;
    job_point done{}, lost{};
    first.complete(first.submit());
    CHECK(line.record(&first, done) == job_error::none);
    const auto last = first.submit();
    CHECK(line.record(&first, lost) == job_error::none);
    CHECK(line.wait(&second, lost) == job_error::none);
    const auto waiting = second.submit();
    first.fail();
    first.complete(last);  // too late
    CHECK(line.state(done) == point_state::passed);
    CHECK(line.state(lost) == point_state::failed);
    CHECK(line.wait_on_host(lost) == job_error::failed);
    CHECK(line.wait(&second, lost) == job_error::failed);
    CHECK(second.ready(waiting));  // start does not block
    CHECK_FALSE(second.start(waiting));
}

TEST_CASE("job_queue: at most 16 pending points are waited for, and passed ones do not count") {
    job_queue queue;
    std::array<job_queue, 17> others;
    job_timeline line;
    for (job_queue& each : others) each.submit();
    for (std::size_t i = 0; i != 16; ++i) CHECK(line.wait(&queue, others[i].last()) == job_error::none);
    CHECK(line.wait(&queue, others[16].last()) == job_error::too_many_points);
    CHECK(line.wait(&queue, others[15].last()) == job_error::none);  // it waits for this point already
    CHECK(line.wait(&queue, queue.last()) == job_error::none);       // its jobs run in order
    others[15].submit();
    CHECK(line.wait(&queue, others[15].last()) == job_error::too_many_points);  // a later point
    others[5].complete(1);
    CHECK(line.wait(&queue, others[16].last()) == job_error::none);
    const auto job = queue.submit();
    for (std::size_t i = 0; i != 16; ++i) {
        CHECK_FALSE(queue.ready(job));
        others[i].complete(1);
    }
    CHECK_FALSE(queue.ready(job));
    CHECK(others[15].last().state() == point_state::pending);
    others[16].complete(1);
    CHECK(queue.start(job));
}

TEST_CASE("job_queue: each result has a text") {
    CHECK(std::string_view{to_string(job_error::none)} == "no error");
    CHECK(std::string_view{to_string(job_error::failed)}.find("never complete") != std::string_view::npos);
    CHECK(std::string_view{to_string(job_error::too_many_points)}.find("16 pending points") != std::string_view::npos);
}

TEST_CASE("job_queue: a counter of another library is a point") {
    std::atomic<std::uint64_t> frames = 3;
    job_timeline line;
    const job_point point = job_timeline::adopt(frames, 4);
    CHECK(line.state(point) == point_state::pending);
    frames = 4;
    CHECK(line.state(point) == point_state::passed);
    CHECK(line.wait_on_host(point) == job_error::none);
}

TEST_CASE("job_queue: two threads hand bytes to each other in turn") {
    constexpr std::size_t rounds = 504;
    job_queue writer, reader;
    job_timeline line;
    int bytes = 0, wrong = 0;  // not atomic: the points order the accesses
    std::array<std::uint64_t, rounds> writes{}, reads{};
    for (std::size_t i = 0; i != rounds; ++i) {
        writes[i] = writer.submit();
        REQUIRE(line.wait(&reader, writer.last()) == job_error::none);
        reads[i] = reader.submit();
        REQUIRE(line.wait(&writer, reader.last()) == job_error::none);
        if (i % 8 != 7) continue;
        std::thread writing{[&, i] {
            for (std::size_t k = i - 7; k <= i; ++k) {
                if (!writer.start(writes[k])) ++wrong;
                bytes = static_cast<int>(k);
                writer.complete(writes[k]);
            }
        }};
        for (std::size_t k = i - 7; k <= i; ++k) {
            if (!reader.start(reads[k])) ++wrong;
            wrong += bytes != static_cast<int>(k);
            reader.complete(reads[k]);
        }
        writing.join();
    }
    CHECK(wrong == 0);
}
