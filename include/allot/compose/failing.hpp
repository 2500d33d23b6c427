// SPDX-License-Identifier: BSL-1.0
// failing: an allocator that fails chosen requests, for tests of the paths of a program that runs out of memory.
//
//     heap_arena arena{{}, 1_MiB};
//     allot::failing memory{arena, {.at = 3}};          // the third request fails, and no other
//     memory.restart({.one_in = 100, .seed = 7});       // one of 100 requests fails, on average
//
//     const auto requests = allot::fail_each_request(memory, [&] {
//         auto block = memory.allocate({.size = 256});  // the code to test: it must return its blocks
//         if (block) memory.deallocate(block);
//     });             // runs once for each request that it makes, and once without failure
//
// A request is a call of `allocate`, `allocate_at` or `resize`. A request that fails here does not reach the allocator.
// The numbers of the failing requests depend only on the plan, so that a test can repeat them. `diagnose` returns the
// reason of the plan if the last request failed here, or if the next one will.
//
// When to use: in tests. `fail_each_request` finds each place that does not handle a failure.
// When not to use: to bound the memory of a program. Use `limited`.
//
// Every ability of the allocator is passed on. An lvalue argument is stored as a reference and must outlive this
// object.
//
// Complexity: O(1) in addition to the allocator.
// Memory: 7 words on a 64-bit machine.
// Thread safety: requires external synchronization.
#pragma once

#include <allot/compose/detail/forwarding.hpp>

#include <limits>

namespace allot {
inline namespace v1 {

/// The requests that fail. Requests are counted from 1.
struct failure_plan {
    std::uint64_t at = 0;                 ///< The number of the first request that fails; 0 for none.
    std::uint64_t count = 1;              ///< The number of requests that fail from `at` on.
    std::uint64_t one_in = 0;             ///< Fails one of this number of requests, on average; 0 for none.
    std::uint64_t seed = 1;               ///< Selects the requests of `one_in`.
    refusal reason = refusal::exhausted;  ///< The reason that `diagnose` returns.

    /// The value of `count` for every request from `at` on.
    static constexpr std::uint64_t all = std::numeric_limits<std::uint64_t>::max();

    /// Returns true if a request fails.
    [[nodiscard]] constexpr bool fails(std::uint64_t request) const noexcept {
        if (at != 0 && request >= at && request - at < count) return true;
        return one_in != 0 && mixed(request) % one_in == 0;
    }

private:
    /// Returns a number that looks random (SplitMix64).
    [[nodiscard]] constexpr std::uint64_t mixed(std::uint64_t request) const noexcept {
        std::uint64_t bits = seed + request * 0x9E3779B97F4A7C15;
        bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9;
        bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB;
        return bits ^ (bits >> 31);
    }
};

/// An allocator whose requests fail by a plan.
template <class Allocator>
class failing : public detail::forwarding<Allocator> {
    using base = detail::forwarding<Allocator>;
    using base::inner_;
    using typename base::allocator_type;

public:
    using typename base::block_type;

    /// Constructs the allocator with its default constructor.
    explicit failing(failure_plan plan = {}) noexcept
        requires std::default_initializable<Allocator>
        : plan_{plan} {}
    /// Stores a reference to the allocator, or moves it into this object.
    explicit failing(Allocator&& allocator, failure_plan plan = {}) noexcept
        : base{std::forward<Allocator>(allocator)}, plan_{plan} {}

    /// Allocates a block. Returns an empty block on failure.
    [[nodiscard]] block_type allocate(layout wanted) noexcept {
        return fails() ? block_type{} : inner_.allocate(wanted);
    }
    /// Allocates exactly these bytes. Returns an empty block on failure.
    [[nodiscard]] block_type allocate_at(extent wanted) noexcept
        requires positional_allocator<allocator_type>
    {
        return fails() ? block_type{} : inner_.allocate_at(wanted);
    }
    /// Resizes a block in place and updates `held`. Returns false and changes nothing on failure.
    [[nodiscard]] bool resize(block_type& held, std::size_t size) noexcept
        requires resizable_allocator<allocator_type>
    {
        return !fails() && inner_.resize(held, size);
    }

    /// Returns the reason for which `allocate` would fail, or has failed if it was the last request.
    [[nodiscard]] diagnosis diagnose(layout wanted) noexcept {
        return is_planned() ? diagnosis{plan_.reason} : inner_.diagnose(wanted);
    }
    /// Returns the reason for which `allocate_at` would fail, or has failed if it was the last request.
    [[nodiscard]] diagnosis diagnose_at(extent wanted) noexcept
        requires positional_allocator<allocator_type>
    {
        return is_planned() ? diagnosis{plan_.reason} : inner_.diagnose_at(wanted);
    }

    /// Sets the plan, and counts requests from 1 again.
    void restart(failure_plan plan = {}) noexcept {
        plan_ = plan;
        requests_ = failures_ = 0;
    }
    /// Returns the number of requests since the start of the plan.
    [[nodiscard]] std::uint64_t requests() const noexcept { return requests_; }
    /// Returns the number of requests that the plan failed.
    [[nodiscard]] std::uint64_t failures() const noexcept { return failures_; }

    /// Returns the layout that `allocate` asks of the allocator, or an empty layout if the plan fails the request.
    [[nodiscard]] friend layout inner_request(failing& of, layout wanted) noexcept {
        return of.is_planned() ? layout{.size = 0} : wanted;
    }

private:
    [[nodiscard]] bool fails() noexcept {
        if (!plan_.fails(++requests_)) return false;
        ++failures_;
        return true;
    }
    [[nodiscard]] bool is_planned() const noexcept {
        return (requests_ != 0 && plan_.fails(requests_)) || plan_.fails(requests_ + 1);
    }

    failure_plan plan_;
    std::uint64_t requests_ = 0, failures_ = 0;
};

/// Deduces a reference for an lvalue and a value for an rvalue.
template <class Allocator>
failing(Allocator&&, failure_plan = {}) -> failing<Allocator>;

/// Calls `run()` with a failure of the first request, then of the second one, and so on, and last without a failure.
/// Returns the number of calls with a failure. Precondition: `run` makes a finite number of requests, and its number of
/// requests before a failure does not depend on earlier calls.
template <class Allocator, class Run>
std::uint64_t fail_each_request(failing<Allocator>& memory, Run&& run) {
    std::uint64_t failed = 0;
    do {
        memory.restart({.at = failed + 1});
        run();
    } while (memory.failures() != 0 && ++failed != failure_plan::all);
    memory.restart();
    return failed;
}
// Reports an allocator around a failing one at compile time.
template <class Allocator, class Run>
    requires(allocator<Allocator> && !requires(Allocator& memory) { memory.restart(failure_plan{}); })
std::uint64_t fail_each_request(Allocator&&, Run&&) {
    static_assert(!sizeof(Run),
                  "allot: fail_each_request takes the failing allocator itself: failing requests{arena}; "
                  "counted memory{requests}; fail_each_request(requests, run)");
    return 0;
}

}  // namespace v1
}  // namespace allot
