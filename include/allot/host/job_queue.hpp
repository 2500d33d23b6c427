// SPDX-License-Identifier: BSL-1.0
// host::job_queue: a queue that counts the jobs of a thread or of another processor, and its timeline for `ordered`
// (compose/ordered.hpp).
//
//     allot::host::job_queue decoder, encoder;
//     allot::host::job_timeline line;
//     const auto job = decoder.submit();                 // before the job is passed to the thread or to the processor
//     allot::host::job_timeline::point_type decoded{};
//     line.record(&decoder, decoded);                    // after all jobs and waits so far
//     line.wait(&encoder, decoded);                      // jobs that are submitted to it later start after the point
//
//     decoder.complete(job);                             // in the thread, or in the callback of the processor
//     if (encoder.start(next)) …                         // blocks until the points that the job waits for pass
//
//     submitted   1  2  3  4  5                          a point is a number of jobs
//     completed   1  2  ·                                it passes when that many jobs are complete
//
// A point also includes the points that the queue waits for: it passes after them, and fails if one of them fails.
//
// When to use: to reuse memory among threads of a server, or among jobs of a DSP whose driver has no events.
// When not to use: for a GPU, use the timeline of its interface, such as cuda/events.hpp: the device waits then, not a
// thread of the host.
//
// The jobs of a queue run one after another, in the order of `submit`. Each job calls `start` before its first use of
// memory, and `complete` after its last use. A processor without a thread of its own needs `start` before the job is
// passed to it. `fail` states that the jobs which are not complete never will be. Jobs that wait for them cannot start.
// After `ordered::abandon`, call `abandon` of each queue that failed or whose `start` returned false. Then submit the
// jobs again.
//
// A queue must outlive its points. Queues keep the points that they wait for: destroy such queues together, after
// `ordered::synchronize` or `ordered::abandon`. A point of another library is a counter that only grows, and a value of
// it (`adopt`). The top bit of a counter means failure.
//
// Complexity: O(1); `start`, `ready`, `wait` and the state of a point that includes waits are linear in the points that
// are waited for. Memory: about 850 bytes for each queue. Jobs of a queue wait for at most 16 pending points; `wait`
// fails for more.
// Thread safety: any thread may use a queue. One thread at a time uses a point.
#pragma once

#include <allot/core/timeline.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <mutex>

namespace allot {
inline namespace v1 {
namespace host {

/// Results of the functions of a timeline of jobs.
enum class job_error : unsigned char {
    none,             ///< Success.
    failed,           ///< The jobs before the point never complete.
    too_many_points,  ///< Jobs of the queue already wait for 16 pending points.
};

/// Returns a human-readable description of the result.
[[nodiscard]] constexpr const char* to_string(job_error reason) noexcept {
    switch (reason) {
        case job_error::none: return "no error";
        case job_error::failed: return "the jobs before the point never complete";
        case job_error::too_many_points: return "jobs of the queue already wait for 16 pending points";
    }
    return "unknown";
}

class job_queue;

/// A number of completed jobs that a counter reaches, and the first waits of a queue.
struct job_point {
    const std::atomic<std::uint64_t>* counter = nullptr;  ///< The counter, or null.
    std::uint64_t value = 0;                              ///< The number of jobs.
    job_queue* queue = nullptr;                           ///< The queue of the waits, or null.
    std::uint64_t waits = 0;                              ///< The number of its last wait.

    /// The bit of a counter that means failure.
    static constexpr std::uint64_t failure = ~(std::numeric_limits<std::uint64_t>::max() >> 1);

    /// Returns true if there is a counter.
    [[nodiscard]] explicit operator bool() const noexcept { return counter != nullptr; }
    /// Returns the state of the point. An empty point has passed.
    [[nodiscard]] point_state state() const noexcept;
    /// Blocks the calling thread until the point passes or fails.
    [[nodiscard]] job_error wait() const noexcept;
    /// Returns true if both are the same point.
    friend bool operator==(const job_point&, const job_point&) noexcept = default;

private:
    [[nodiscard]] point_state state_at(std::uint64_t now) const noexcept {
        if ((now & ~failure) >= value) return point_state::passed;
        return (now & failure) == 0 ? point_state::pending : point_state::failed;
    }
};

/// Counts jobs that run one after another.
class job_queue {
public:
    /// Constructs a queue without jobs.
    job_queue() noexcept = default;
    job_queue(const job_queue&) = delete;
    job_queue& operator=(const job_queue&) = delete;

    /// Adds a job. Returns its number, from 1 on. The job may start afterwards.
    std::uint64_t submit() noexcept { return submitted_.fetch_add(1, std::memory_order_relaxed) + 1; }
    /// Blocks the calling thread until the points that the job waits for pass. Returns false if one of them fails: the
    /// job must not use its memory then.
    [[nodiscard]] bool start(std::uint64_t job) noexcept { return wait_until(job, 0); }
    /// Returns true if `start` would not block.
    [[nodiscard]] bool ready(std::uint64_t job) noexcept {
        job_point next{};
        return find_pending(job, 0, next) != point_state::pending;
    }
    /// States that this job and all earlier ones are complete.
    void complete(std::uint64_t job) noexcept {
        std::uint64_t before = completed_.load(std::memory_order_relaxed);
        while (before < job && !completed_.compare_exchange_weak(before, job, std::memory_order_release)) {}
        completed_.notify_all();
    }
    /// States that the jobs which are not complete never will be, for example because their processor crashed.
    void fail() noexcept {
        completed_.fetch_or(job_point::failure, std::memory_order_release);
        completed_.notify_all();
    }

    /// Treats all submitted jobs as complete and no longer waits for any point. Call it after `ordered::abandon`, when
    /// no job of the queue runs. Jobs that are submitted later start, also if the queue or a point had failed.
    void abandon() noexcept {
        const std::lock_guard lock{mutex_};
        count_ = 0;
        completed_.store(submitted(), std::memory_order_release);
        completed_.notify_all();
    }

    /// Returns the number of submitted jobs.
    [[nodiscard]] std::uint64_t submitted() const noexcept { return submitted_.load(std::memory_order_relaxed); }
    /// Returns the point after all submitted jobs and all points that were waited for.
    [[nodiscard]] job_point last() noexcept {
        const std::lock_guard lock{mutex_};
        if (count_ == 0) return {&completed_, submitted()};
        return {&completed_, submitted(), this, pending_[count_ - 1].number};
    }
    /// Makes jobs that are submitted later start after the point.
    [[nodiscard]] job_error wait_for(job_point point) noexcept {
        if (const point_state now = point.state(); now != point_state::pending)
            return now == point_state::passed ? job_error::none : job_error::failed;
        drop_passed();
        const std::lock_guard lock{mutex_};
        if (is_waited_for(point)) return job_error::none;
        if (count_ == most) return job_error::too_many_points;
        pending_[count_++] = {point, submitted() + 1, ++waits_};
        return job_error::none;
    }

private:
    friend job_point;
    static constexpr unsigned most = 16;
    struct needed {
        job_point point{};
        std::uint64_t first_job = 0;  // the first job that waits
        std::uint64_t number = 0;     // the number of the wait
    };

    // The state of a point can depend on other queues, which can wait for points of this one. Therefore no function
    // asks for it while it holds the lock.

    /// Returns true if jobs that are submitted later start after the point already.
    [[nodiscard]] bool is_waited_for(const job_point& point) const noexcept {
        if (point.counter == &completed_) return true;
        return std::any_of(pending_, pending_ + count_, [&](const needed& each) {
            return each.point.counter == point.counter && each.point.value >= point.value &&
                   each.point.waits >= point.waits;
        });
    }
    /// Finds the oldest point that did not pass, among those of a job and of the first `waits` waits. Returns its
    /// state, or `passed` if all passed.
    [[nodiscard]] point_state find_pending(std::uint64_t job, std::uint64_t waits, job_point& found) noexcept {
        for (;;) {
            {
                const std::lock_guard lock{mutex_};
                if (count_ == 0 || (pending_[0].first_job > job && pending_[0].number > waits))
                    return point_state::passed;
                found = pending_[0].point;
            }
            if (const point_state now = found.state(); now != point_state::passed) return now;
            remove(found);
        }
    }
    /// Waits for the points of a job and of the first `waits` waits. Returns false if one fails.
    [[nodiscard]] bool wait_until(std::uint64_t job, std::uint64_t waits) noexcept {
        job_point next{};
        while (find_pending(job, waits, next) != point_state::passed)
            if (next.wait() != job_error::none) return false;
        return true;
    }
    void drop_passed() noexcept {
        for (unsigned at = 0;;) {
            job_point next{};
            {
                const std::lock_guard lock{mutex_};
                if (at >= count_) return;
                next = pending_[at].point;
            }
            if (next.state() == point_state::passed) remove(next);
            else ++at;
        }
    }
    void remove(const job_point& passed) noexcept {
        const std::lock_guard lock{mutex_};
        unsigned left = 0;
        for (unsigned i = 0; i != count_; ++i)
            if (pending_[i].point != passed) pending_[left++] = pending_[i];
        count_ = left;
    }

    std::atomic<std::uint64_t> submitted_ = 0, completed_ = 0;
    std::mutex mutex_;
    needed pending_[most]{};
    unsigned count_ = 0;  // the points are in the order of their waits
    std::uint64_t waits_ = 0;
};

// The waits come first: a job that follows a failed wait never starts.

inline point_state job_point::state() const noexcept {
    if (counter == nullptr) return point_state::passed;
    job_point next{};
    if (queue != nullptr)
        if (const point_state now = queue->find_pending(0, waits, next); now != point_state::passed) return now;
    return state_at(counter->load(std::memory_order_acquire));
}

inline job_error job_point::wait() const noexcept {
    if (counter == nullptr) return job_error::none;
    if (queue != nullptr && !queue->wait_until(0, waits)) return job_error::failed;
    for (;;) {
        const std::uint64_t now = counter->load(std::memory_order_acquire);
        if (const point_state state = state_at(now); state != point_state::pending)
            return state == point_state::passed ? job_error::none : job_error::failed;
        counter->wait(now, std::memory_order_acquire);
    }
}

/// The timeline of job queues.
class job_timeline {
public:
    using queue_type = job_queue*;  ///< A queue.
    using point_type = job_point;   ///< A number of completed jobs.
    using error_type = job_error;   ///< The result of a function.

    /// Returns the point at which a counter of another library reaches a value. The counter must exist as long as the
    /// point is used, and call `notify_all` after a change.
    [[nodiscard]] static point_type adopt(const std::atomic<std::uint64_t>& counter, std::uint64_t value) noexcept {
        return {&counter, value};
    }
    /// Makes `point` the point after all jobs that were submitted to the queue so far, and all points that it waits
    /// for.
    error_type record(queue_type queue, point_type& point) noexcept {
        point = queue->last();
        return error_type::none;
    }
    /// Makes jobs that are submitted to the queue later start after the point.
    [[nodiscard]] error_type wait(queue_type queue, const point_type& point) noexcept { return queue->wait_for(point); }
    /// Has no effect: the jobs of a queue run one after another.
    error_type barrier(queue_type) noexcept { return error_type::none; }
    /// Blocks the calling thread until the point passes or fails.
    [[nodiscard]] error_type wait_on_host(const point_type& point) noexcept { return point.wait(); }
    /// Returns true.
    [[nodiscard]] bool in_order(queue_type) const noexcept { return true; }
    /// Returns the state of a point.
    [[nodiscard]] point_state state(const point_type& point) const noexcept { return point.state(); }
    /// Makes the point empty.
    void release(point_type& point) noexcept { point = {}; }
};

static_assert(timeline<job_timeline>);

}  // namespace host
}  // namespace v1
}  // namespace allot
