#include <allot/compose/ordered.hpp>
#include <allot/host/static_storage.hpp>

#include "simulated_queues.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <random>
#include <vector>

// Programs of several queues, in every order of their operations, over each strategy. After each operation, the rules
// of ordered.hpp are checked: no use of a block races with a use of an earlier block, no request is refused while a
// place for it is not live, and bytes that only the requesting queue used are given without a call of the driver.

namespace {

constexpr std::size_t unit = 16;
template <std::size_t Units, class Strategy, std::size_t Align = unit>
using arena_of = allot::arena<allot::host::static_storage<Units * unit, Align>, Strategy>;

// Each memory states where a block can be. `fits` takes a condition that all units of the place satisfy.

/// Blocks that start at multiples of `Step` units, and take `Step` units, a power of two of units, or their size.
enum class rounding : unsigned char { none, to_step, to_power_of_two };
template <class Strategy, std::size_t Units, rounding Rounding, std::size_t Step = 1, std::size_t Align = unit>
struct any_order {
    using arena = arena_of<Units, Strategy, Align>;
    static constexpr std::size_t size = Units;
    static constexpr bool is_marked = false, newest_first = false, frees_one = true;
    struct token {};

    static constexpr std::size_t room(std::size_t bytes) {
        return Rounding == rounding::none ? bytes : Rounding == rounding::to_step ? Step : std::bit_ceil(bytes);
    }
    template <class Condition>
    [[nodiscard]] bool fits(std::size_t bytes, Condition holds) const {
        const std::size_t apart = Rounding == rounding::none ? 1 : room(bytes);
        for (std::size_t from = 0; from + room(bytes) <= size; from += apart) {
            std::size_t at = from;
            while (at != from + room(bytes) && holds(at)) ++at;
            if (at == from + room(bytes)) return true;
        }
        return false;
    }
    static bool open(const void*) { return true; }
    static token allocate(std::size_t) { return {}; }
    static bool is_at(token, std::size_t) { return true; }
    static void deallocate(token) {}
};

/// Blocks where the strategy itself places them, which does the same here without queues.
template <class Strategy, bool NewestFirst = false>
struct in_order {
    static constexpr std::size_t size = 7;
    using arena = arena_of<size, Strategy>;
    static constexpr bool is_marked = true, newest_first = NewestFirst;
    static constexpr bool frees_one = arena::reclaims != allot::reclaim::never;
    using plain = typename arena::strategy_type;
    using token = allot::allocation_of<plain>;

    static constexpr std::size_t room(std::size_t bytes) { return bytes; }
    template <class Condition>
    [[nodiscard]] bool fits(std::size_t bytes, Condition holds) {
        const auto before = model.mark();
        const token given = model.allocate({bytes * unit, 1});
        if (!given) return false;
        model.rollback(before);
        const std::size_t at = (given.where.offset - base) / unit;
        for (std::size_t i = at; i != at + bytes; ++i)
            if (!holds(i)) return false;
        return true;
    }
    bool open(const void* at) {
        base = reinterpret_cast<std::uintptr_t>(at);
        return model.insert({base, size * unit});
    }
    token allocate(std::size_t bytes) { return model.allocate({bytes * unit, 1}); }
    [[nodiscard]] bool is_at(token given, std::size_t at) const { return given.where.offset == base + at * unit; }
    void deallocate(token freed) { model.deallocate(freed); }

    plain model;
    std::uintptr_t base = 0;
};

using best_fit = any_order<allot::best_fit<>, 7, rounding::none>;
using pool = any_order<allot::pool<allot::pool_options{.slot = 7 * unit, .count = 2}>, 14, rounding::to_step, 7>;
using page_tree = any_order<allot::page_tree<allot::page_tree_options{.page = unit, .count = 8, .largest_order = 3}>, 8,
                            rounding::to_power_of_two, 1, 8 * unit>;
using bump = in_order<allot::bump<>>;
using bump_up = in_order<allot::bump<allot::bump_options{.direction = allot::direction::up}>>;
using stack = in_order<allot::stack<>, true>;
using two_stacks = in_order<allot::stack<allot::stack_options{.large = 3 * unit}>, true>;
using ring = in_order<allot::ring<>>;

template <allot::ordered_options Options, class Memory>
class program {
public:
    using memory_type = allot::ordered<typename Memory::arena, simulated::timeline, Options>;
    using block = typename memory_type::block_type;

    explicit program(simulated::queues& device)
        : device_{device}, memory_{simulated::timeline{&device}}, ids_(device.in_order.size()) {
        for (unsigned i = 0; i != ids_.size(); ++i) ids_[i] = memory_.attach(i);
        if (!places_.open(memory_.arena().regions()[0].base)) ++late;
    }

    unsigned races = 0, refused = 0, late = 0, calls = 0, served = 0;

    void allocate(std::size_t bytes, unsigned queue) {
        const bool fits = has_place(bytes, [](std::size_t) { return true; });
        const bool own = device_.in_order[queue] &&
                         has_place(bytes, [&](std::size_t at) { return uses_.are_reused_by(queue, at, 1); });
        const bool done = has_place(bytes, [&](std::size_t at) { return uses_.are_done(device_, at, 1); });
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
        live_.push_back({given, queue, ++blocks_, places_.allocate(bytes)});
        if (!places_.is_at(live_.back().where, offset_of(given))) ++late;
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
        forget(oldest);
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
        forget(oldest);
    }
    /// Allocates for the host, which uses the bytes at once, and frees them.
    void use_on_host(std::size_t bytes) {
        if constexpr (Options.waits != allot::wait_policy::hand_out) {
            const block given = memory_.allocate({bytes * unit, 1}, memory_type::host);
            if (!given) return;
            if (!uses_.are_done(device_, offset_of(given), bytes)) ++races;
            memory_.deallocate(given, memory_type::host);
            places_.deallocate(places_.allocate(bytes));
            freed_one_ = true;
        }
    }
    /// Frees all blocks together.
    void reset(unsigned queue) {
        if constexpr (Memory::is_marked) {
            free_from(0, queue, [&](auto queues) { memory_.reset(queues); });
            places_.model.reset();
        }
    }
    /// Sets a mark, or rolls back to it if there is one.
    void mark_or_rollback(unsigned queue) {
        if constexpr (Memory::is_marked) {
            if (!is_marked_) {
                is_marked_ = true;
                marked_ = live_.size();
                mark_.emplace(memory_.mark());
                model_mark_ = places_.model.mark();
                return;
            }
            free_from(marked_, queue, [&](auto queues) { memory_.rollback(*mark_, queues); });
            places_.model.rollback(model_mark_);
        }
    }
    void resize(unsigned queue, std::size_t bytes) {
        if constexpr (std::same_as<Memory, best_fit> && Options.waits != allot::wait_policy::hand_out) {
            const auto oldest = of(queue);
            if (oldest == live_.end()) return;
            if (memory_.resize(oldest->held, bytes * unit, ids_[queue])) use(*oldest, queue);
        }
    }
    /// Makes later work of a queue wait for another one, as a program does.
    void wait(unsigned queue, unsigned other) {
        simulated::timeline driver{&device_};
        simulated::timeline::point_type point;
        static_cast<void>(driver.record(other, point));
        simulated::join(device_.before[queue], point.after);
        driver.release(point);
        memory_.follows(ids_[queue], ids_[other]);
    }
    /// Waits on the host for a queue.
    void finish(unsigned queue) {
        device_.run(queue);
        memory_.follows(memory_type::host, ids_[queue]);
    }
    void run(unsigned queue) { device_.run(queue); }
    [[nodiscard]] memory_type& memory() { return memory_; }

private:
    struct owned {
        block held;
        unsigned queue, number;
        typename Memory::token where;
    };
    using owned_list = std::vector<owned>;

    [[nodiscard]] unsigned calls_of_driver() const {
        return device_.records + device_.waits + device_.barriers + device_.host_waits;
    }
    [[nodiscard]] std::size_t offset_of(const block& held) const {
        return static_cast<std::size_t>(static_cast<std::byte*>(held.address) -
                                        static_cast<std::byte*>(memory_.arena().regions()[0].base)) /
               unit;
    }
    /// Returns the block of a queue that is freed next.
    [[nodiscard]] auto of(unsigned queue) {
        const auto is_of_queue = [&](const owned& one) { return one.queue == queue; };
        if (!Memory::newest_first) return std::find_if(live_.begin(), live_.end(), is_of_queue);
        const auto newest = std::find_if(live_.rbegin(), live_.rend(), is_of_queue);
        return newest == live_.rend() ? live_.end() : std::prev(newest.base());
    }
    void forget(typename owned_list::iterator freed) {
        places_.deallocate(freed->where);
        if (static_cast<std::size_t>(freed - live_.begin()) < marked_) is_marked_ = false;  // older than the mark
        live_.erase(freed);
        freed_one_ = true;
    }
    /// Frees the blocks from one of `live_` by `change`: on `queue` if all blocks are of this queue and none was freed
    /// before, otherwise each on its own queue.
    template <class Change>
    void free_from(std::size_t first, unsigned queue, Change change) {
        is_marked_ = false;
        const auto from = live_.begin() + static_cast<std::ptrdiff_t>(first);
        for (auto one = from; one != live_.end(); ++one) use(*one, one->queue);
        const bool is_own =
            !freed_one_ && std::all_of(from, live_.end(), [&](const owned& one) { return one.queue == queue; });
        for (auto one = from; one != live_.end() && !is_own; ++one) memory_.deallocate(one->held, ids_[one->queue]);
        if (is_own) change(std::initializer_list<allot::queue_id>{ids_[queue]});
        else change(std::initializer_list<allot::queue_id>{memory_type::host});
        live_.erase(from, live_.end());
    }
    void use(const owned& one, unsigned queue) {
        const unsigned command = device_.submit(queue);
        if (!uses_.use(device_, queue, command, offset_of(one.held), one.held.size / unit, one.number)) ++races;
    }
    /// Returns true if there is a place for `bytes` that is not live and satisfies a condition.
    template <class Condition>
    [[nodiscard]] bool has_place(std::size_t bytes, Condition condition) {
        return places_.fits(bytes, [&](std::size_t at) {
            return condition(at) && std::none_of(live_.begin(), live_.end(), [&](const owned& one) {
                       const std::size_t from = offset_of(one.held);
                       return at >= from && at < from + Memory::room(one.held.size / unit);
                   });
        });
    }

    simulated::queues& device_;
    memory_type memory_;
    std::vector<allot::queue_id> ids_;
    simulated::bytes uses_{Memory::size};
    Memory places_;
    owned_list live_;
    unsigned blocks_ = 0;
    bool once_pending_ = false;
    bool freed_one_ = false;
    bool is_marked_ = false;
    std::size_t marked_ = 0;  // number of live blocks at the mark
    struct unmarked {};
    static auto mark_of(memory_type& memory) {
        if constexpr (Memory::is_marked) return memory.mark();
        else return unmarked{};
    }
    template <class Places>
    static auto model_mark_of(Places& places) {
        if constexpr (Memory::is_marked) return places.model.mark();
        else return unmarked{};
    }
    std::optional<decltype(mark_of(std::declval<memory_type&>()))> mark_;
    decltype(model_mark_of(std::declval<Memory&>())) model_mark_{};
};

struct totals {
    unsigned long races = 0, refused = 0, late = 0, served = 0, waits = 0, programs = 0;
};

/// Runs a program, which is a list of operations.
template <allot::ordered_options Options, class Memory = best_fit>
void run(const std::vector<unsigned>& operations, unsigned queues, bool in_order, bool ignores_waits, totals& sum) {
    simulated::queues device{queues, in_order};
    device.ignores_waits = ignores_waits;
    {
        program<Options, Memory> one{device};
        for (const unsigned operation : operations) {
            const unsigned queue = operation % queues, other = (queue + 1) % queues;
            switch (operation / queues) {
                case 0: one.allocate(3, queue); break;
                case 1: Memory::frees_one ? one.free(queue) : one.reset(queue); break;
                case 2: one.allocate(2, queue); break;
                case 3: one.run(queue); break;
                case 4: one.free_on_both(queue, other, false); break;
                case 5: one.free_on_both(queue, other, true); break;
                case 6: one.use_on_host(4); break;
                case 7: Memory::is_marked ? one.reset(queue) : one.resize(queue, 4); break;
                case 8: Memory::is_marked ? one.mark_or_rollback(queue) : one.resize(queue, 1); break;
                case 10: one.wait(queue, other); break;
                case 11: one.finish(queue); break;
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

/// Returns true if the queues of a program first occur in ascending order, and if no queue frees more blocks than it
/// requested. Other programs are equal to one of these with other names of the queues, or to a shorter one.
bool is_canonical(const std::vector<unsigned>& operations, unsigned queues) {
    unsigned seen = 0, requested[4] = {};
    for (const unsigned operation : operations) {
        const unsigned queue = operation % queues, kind = operation / queues;
        if (queue > seen) return false;
        if (queue == seen) ++seen;
        if (kind == 0 || kind == 2 || kind == 9) ++requested[queue];
        if (kind == 1 && requested[queue]-- == 0) return false;
    }
    return true;
}

/// Runs all programs of `length` operations of the first `kinds` kinds.
template <allot::ordered_options Options, class Memory = best_fit>
totals run_all(unsigned queues, unsigned kinds, unsigned length, bool in_order = true, bool ignores_waits = false) {
    totals sum;
    std::vector<unsigned> operations(length, 0);
    for (;;) {
        if (is_canonical(operations, queues)) run<Options, Memory>(operations, queues, in_order, ignores_waits, sum);
        unsigned at = 0;
        while (at != length && ++operations[at] == queues * kinds) operations[at++] = 0;
        if (at == length) return sum;
    }
}

template <allot::ordered_options Options, class Memory = best_fit>
void holds(unsigned queues, unsigned kinds, unsigned length, bool in_order = true) {
    const totals sum = run_all<Options, Memory>(queues, kinds, length, in_order);
    CAPTURE(queues);
    CAPTURE(kinds);
    CAPTURE(sum.programs);
    CHECK(sum.races == 0);
    CHECK(sum.refused == 0);
    CHECK(sum.late == 0);
    CHECK(sum.served != 0);
    if (Options.waits != allot::wait_policy::never && length > 3) CHECK(sum.waits != 0);
}

constexpr allot::ordered_options inserted{.queues = 4, .external = 2};
constexpr allot::ordered_options few_points{.queues = 4, .points = 1, .external = 2};
constexpr allot::ordered_options handed{.queues = 4, .waits = allot::wait_policy::hand_out, .external = 2};
constexpr allot::ordered_options never{.queues = 4, .waits = allot::wait_policy::never, .external = 2};

// Eight operations of four queues are 17 million programs, which take half a minute without optimization.
#ifdef __OPTIMIZE__
constexpr unsigned most_of_four_queues = 8;
#else
constexpr unsigned most_of_four_queues = 6;
#endif

}  // namespace

TEST_CASE("ordered: all interleavings of two to four queues keep the order of uses") {
    holds<inserted>(2, 2, 8);
    holds<inserted>(2, 4, 5);
    holds<inserted>(2, 10, 4);
    holds<inserted>(2, 12, 3);
    holds<inserted>(2, 12, 3, false);
    holds<inserted>(3, 2, 8);
    holds<inserted>(4, 2, most_of_four_queues);
    holds<inserted>(2, 4, 5, false);
    holds<few_points>(2, 4, 5);
    holds<handed>(2, 6, 4);
    holds<never>(2, 4, 5);
}

TEST_CASE_TEMPLATE("ordered: all interleavings keep the order of uses over each other strategy", Memory, pool,
                   page_tree, bump, bump_up, stack, two_stacks, ring) {
    holds<inserted, Memory>(2, 2, 8);
    holds<inserted, Memory>(3, 2, 5);
    holds<inserted, Memory>(2, 12, 3);
    holds<inserted, Memory>(2, 4, 4, false);
    holds<few_points, Memory>(2, 4, 4);
    holds<handed, Memory>(2, 4, 4);
    holds<never, Memory>(2, 4, 4);
    CHECK(run_all<inserted, Memory>(2, 2, 6, true, true).races != 0);  // a driver that loses waits
}

TEST_CASE("ordered: the test notices a driver that loses waits") {
    CHECK(run_all<inserted>(2, 2, 6, true, true).races != 0);
    CHECK(run_all<inserted>(2, 2, 6, false, true).races != 0);
}

TEST_CASE_TEMPLATE("ordered: random long programs keep the order of uses", Memory, best_fit, pool, page_tree, bump,
                   bump_up, stack, two_stacks, ring) {
    std::mt19937 random{5};
    for (const unsigned queues : {2U, 3U, 4U}) {
        totals sum;
        for (unsigned i = 0; i != 200; ++i) {
            std::vector<unsigned> operations(60);
            for (unsigned& one : operations) one = static_cast<unsigned>(random() % (queues * 12));
            run<inserted, Memory>(operations, queues, i % 3 != 0, false, sum);
            run<few_points, Memory>(operations, queues, true, false, sum);
            run<handed, Memory>(operations, queues, true, false, sum);
            run<never, Memory>(operations, queues, true, false, sum);
        }
        CHECK(sum.races == 0);
        CHECK(sum.refused == 0);
        CHECK(sum.late == 0);
    }
}
