#include <allot/compose/ordered.hpp>
#include <allot/host/static_storage.hpp>

#include "simulated_queues.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <random>
#include <vector>

// Programs of several queues, in every order of their operations. After each operation, the rules of ordered.hpp are
// checked: no use of a block races with a use of an earlier block, no request is refused while enough adjacent bytes are
// not live, and bytes that only the requesting queue used are given without a call of the driver.

namespace {

constexpr std::size_t unit = 16, size = 7;  // the memory has 7 granules

template <allot::ordered_options Options>
class program {
public:
    using memory_type = allot::ordered<allot::arena<allot::host::static_storage<size * unit>, allot::best_fit<>>,
                                       simulated::timeline, Options>;
    using block = typename memory_type::block_type;

    explicit program(simulated::queues& device)
        : device_{device}, memory_{simulated::timeline{&device}}, ids_(device.in_order.size()) {
        for (unsigned i = 0; i != ids_.size(); ++i) ids_[i] = memory_.attach(i);
    }

    unsigned races = 0, refused = 0, late = 0, calls = 0, served = 0;

    void allocate(std::size_t bytes, unsigned queue) {
        const bool fits = has_run(bytes, [](std::size_t) { return true; });
        const bool own = device_.in_order[queue] &&
                         has_run(bytes, [&](std::size_t at) { return uses_.are_reused_by(queue, at, 1); });
        const bool done = has_run(bytes, [&](std::size_t at) { return uses_.are_done(device_, at, 1); });
        const unsigned before = calls_of_driver(), recorded = device_.records;
        block given;
        if constexpr (Options.waits == allot::wait_policy::hand_out)
            given = memory_.allocate({bytes * unit, 1}, ids_[queue], [&](const simulated::timeline::point_type& point) {
                ++device_.waits;
                simulated::join(device_.before[queue], point.after);
            });
        else given = memory_.allocate({bytes * unit, 1}, ids_[queue]);
        if (device_.records > recorded + ids_.size()) ++late;
        if (own && (!given || calls_of_driver() != before)) ++late;
        if constexpr (Options.waits == allot::wait_policy::never) {
            // A first request records the points. When these have passed, the next one is served.
            if (!given && done) given = memory_.allocate({bytes * unit, 1}, ids_[queue]);
            if (!given && done && !once_pending_) {
                device_.run_all();
                given = memory_.allocate({bytes * unit, 1}, ids_[queue]);
                if (!given) ++refused;
            }
        } else if (fits != static_cast<bool>(given)) {
            ++refused;
        }
        if (!given) return;
        ++served;
        live_.push_back({given, queue, ++blocks_});
        use(live_.back(), queue);
    }
    /// Frees the oldest block of a queue, after one more use.
    void free(unsigned queue) {
        const auto oldest = of(queue);
        if (oldest == live_.end()) return;
        use(*oldest, queue);
        const unsigned before = calls_of_driver();
        memory_.deallocate(oldest->held, ids_[queue]);
        if (calls_of_driver() != before) ++late;
        live_.erase(oldest);
    }
    /// Uses the oldest block of a queue on another queue as well, which waits for the first one, then frees it.
    void free_on_both(unsigned queue, unsigned other, bool by_used_on) {
        const auto oldest = of(queue);
        if (oldest == live_.end()) return;
        simulated::timeline driver{&device_};
        simulated::timeline::point_type point;
        static_cast<void>(driver.record(queue, point));
        simulated::join(device_.before[other], point.after);
        driver.release(point);
        if (by_used_on) memory_.used_on(oldest->held, ids_[other]);
        use(*oldest, other);
        use(*oldest, queue);
        if (by_used_on) memory_.deallocate(oldest->held, ids_[queue]);
        else memory_.deallocate(oldest->held, {ids_[queue], ids_[other]});
        live_.erase(oldest);
    }
    /// Allocates for the host, which uses the bytes at once, and frees them.
    void use_on_host(std::size_t bytes) {
        if constexpr (Options.waits != allot::wait_policy::hand_out) {
            const block given = memory_.allocate({bytes * unit, 1}, memory_type::host);
            if (!given) return;
            if (!uses_.are_done(device_, offset_of(given), bytes)) ++races;
            memory_.deallocate(given, memory_type::host);
        }
    }
    void resize(unsigned queue, std::size_t bytes) {
        if constexpr (Options.waits != allot::wait_policy::hand_out) {
            const auto oldest = of(queue);
            if (oldest == live_.end()) return;
            if (memory_.resize(oldest->held, bytes * unit, ids_[queue])) use(*oldest, queue);
        }
    }
    void run(unsigned queue) { device_.run(queue); }
    [[nodiscard]] memory_type& memory() { return memory_; }

private:
    struct owned {
        block held;
        unsigned queue, number;
    };

    [[nodiscard]] unsigned calls_of_driver() const {
        return device_.records + device_.waits + device_.barriers + device_.host_waits;
    }
    [[nodiscard]] std::size_t offset_of(const block& held) const {
        return static_cast<std::size_t>(static_cast<std::byte*>(held.address) -
                                        static_cast<std::byte*>(memory_.arena().regions()[0].base)) /
               unit;
    }
    [[nodiscard]] auto of(unsigned queue) {
        return std::find_if(live_.begin(), live_.end(), [&](const owned& one) { return one.queue == queue; });
    }
    void use(const owned& one, unsigned queue) {
        const unsigned command = device_.submit(queue);
        if (!uses_.use(device_, queue, command, offset_of(one.held), one.held.size / unit, one.number)) ++races;
    }
    /// Returns true if `bytes` adjacent bytes are not live and satisfy a condition.
    template <class Condition>
    [[nodiscard]] bool has_run(std::size_t bytes, Condition condition) const {
        std::size_t run = 0;
        for (std::size_t at = 0; at != size; ++at) {
            const bool is_live = std::any_of(live_.begin(), live_.end(), [&](const owned& one) {
                const std::size_t from = offset_of(one.held);
                return at >= from && at < from + one.held.size / unit;
            });
            run = is_live || !condition(at) ? 0 : run + 1;
            if (run == bytes) return true;
        }
        return false;
    }

    simulated::queues& device_;
    memory_type memory_;
    std::vector<allot::queue_id> ids_;
    simulated::bytes uses_{size};
    std::vector<owned> live_;
    unsigned blocks_ = 0;
    bool once_pending_ = false;
};

struct totals {
    unsigned long races = 0, refused = 0, late = 0, served = 0, waits = 0, programs = 0;
};

/// Runs a program, which is a list of operations.
template <allot::ordered_options Options>
void run(const std::vector<unsigned>& operations, unsigned queues, bool in_order, bool ignores_waits, totals& sum) {
    simulated::queues device{queues, in_order};
    device.ignores_waits = ignores_waits;
    {
        program<Options> one{device};
        for (const unsigned operation : operations) {
            const unsigned queue = operation % queues, other = (queue + 1) % queues;
            switch (operation / queues) {
                case 0: one.allocate(3, queue); break;
                case 1: one.free(queue); break;
                case 2: one.allocate(2, queue); break;
                case 3: one.run(queue); break;
                case 4: one.free_on_both(queue, other, false); break;
                case 5: one.free_on_both(queue, other, true); break;
                case 6: one.use_on_host(4); break;
                case 7: one.resize(queue, 4); break;
                case 8: one.resize(queue, 1); break;
                default: one.allocate(7, queue); break;
            }
        }
        sum.races += one.races;
        sum.refused += one.refused;
        sum.late += one.late;
        sum.served += one.served;
    }
    sum.waits += device.waits + device.barriers;
    ++sum.programs;
    if (device.live_points != 0) ++sum.late;
}

/// Runs all programs of `length` operations of the first `kinds` kinds.
template <allot::ordered_options Options>
totals run_all(unsigned queues, unsigned kinds, unsigned length, bool in_order = true, bool ignores_waits = false) {
    totals sum;
    std::vector<unsigned> operations(length, 0);
    for (;;) {
        run<Options>(operations, queues, in_order, ignores_waits, sum);
        unsigned at = 0;
        while (at != length && ++operations[at] == queues * kinds) operations[at++] = 0;
        if (at == length) return sum;
    }
}

template <allot::ordered_options Options>
void holds(unsigned queues, unsigned kinds, unsigned length, bool in_order = true) {
    const totals sum = run_all<Options>(queues, kinds, length, in_order);
    CAPTURE(queues);
    CAPTURE(kinds);
    CAPTURE(sum.programs);
    CHECK(sum.races == 0);
    CHECK(sum.refused == 0);
    CHECK(sum.late == 0);
    CHECK(sum.served != 0);
    if (Options.waits != allot::wait_policy::never) CHECK(sum.waits != 0);
}

constexpr allot::ordered_options inserted{.queues = 4, .external = 2};
constexpr allot::ordered_options few_points{.queues = 4, .points = 1, .external = 2};
constexpr allot::ordered_options handed{.queues = 4, .waits = allot::wait_policy::hand_out, .external = 2};
constexpr allot::ordered_options never{.queues = 4, .waits = allot::wait_policy::never, .external = 2};

}  // namespace

TEST_CASE("ordered: all interleavings of two to four queues keep the order of uses") {
    holds<inserted>(2, 2, 8);
    holds<inserted>(2, 4, 5);
    holds<inserted>(2, 10, 4);
    holds<inserted>(3, 2, 6);
    holds<inserted>(4, 2, 5);
    holds<inserted>(2, 4, 5, false);
    holds<few_points>(2, 4, 5);
    holds<handed>(2, 6, 4);
    holds<never>(2, 4, 5);
}

TEST_CASE("ordered: the test notices a driver that loses waits") {
    CHECK(run_all<inserted>(2, 2, 6, true, true).races != 0);
    CHECK(run_all<inserted>(2, 2, 6, false, true).races != 0);
}

TEST_CASE("ordered: random long programs keep the order of uses") {
    std::mt19937 random{5};
    for (const unsigned queues : {2U, 3U, 4U}) {
        totals sum;
        for (unsigned i = 0; i != 300; ++i) {
            std::vector<unsigned> operations(60);
            for (unsigned& one : operations) one = static_cast<unsigned>(random() % (queues * 10));
            run<inserted>(operations, queues, i % 3 != 0, false, sum);
            run<few_points>(operations, queues, true, false, sum);
            run<handed>(operations, queues, true, false, sum);
        }
        CHECK(sum.races == 0);
        CHECK(sum.refused == 0);
        CHECK(sum.late == 0);
    }
}
