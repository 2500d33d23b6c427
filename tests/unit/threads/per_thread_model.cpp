// The lock-free parts of per_thread under a model of the C++ memory model (see modeled.hpp): the transfer lists, by
// which threads pass blocks to each other, and the exclusion of the owner of a cache and a thread that claims it.
//
// A block is a variable that its holder writes to. Relacy reports a race if two threads write to one without an order
// between them, and the tests check that no block is lost or found twice. The last cases of each part weaken one memory
// order or remove a barrier, and must fail: otherwise the model proves nothing.
#include <allot/compose/detail/claimable.hpp>
#include <allot/compose/detail/transfer_lists.hpp>

#include <cstddef>

#include "modeled.hpp"  // last

namespace {

using modeled::no_limit;
using modeled::weakened;

template <weakened Which>
struct atomics {
    template <class T>
    using atomic = modeled::atomic<T, Which>;
    static void wait() { rl::yield(1, RL_INFO); }
};

// ── transfer lists ───────────────────────────────────────────────────────────────────────────────────────────────────

/// The number of a block, in a variable that the lists copy.
struct item {
    rl::var<int> number{0};
    item() = default;
    item(const item& other) : number{other.get()} {}
    item& operator=(const item& other) {
        set(other.get());
        return *this;
    }
    [[nodiscard]] int get() const { return const_cast<rl::var<int>&>(number)(RL_INFO); }
    void set(int to) { number(RL_INFO) = to; }
};

/// Every thread starts with one batch, gives it away, takes a batch and writes to its blocks, several times.
struct transfer_plan {
    std::size_t slots = 1, batch = 1;
    int times = 1;
    weakened which = weakened::none;
};

template <transfer_plan Plan, int Threads>
struct transfers : rl::test_suite<transfers<Plan, Threads>, Threads> {
    static constexpr std::size_t batch = Plan.batch, blocks = batch * Threads;
    static constexpr allot::detail::transfer_shape shape{.lists = 1, .slots = Plan.slots, .batch = batch};

    allot::detail::transfer_lists<item, shape, atomics<Plan.which>> lists;
    rl::var<int> contents[blocks];
    item held[Threads][batch];
    std::size_t count[Threads]{};

    void before() {
        for (auto& each : contents) each(RL_INFO) = 0;
        for (std::size_t id = 0; id != Threads; ++id) {
            for (std::size_t i = 0; i != batch; ++i) held[id][i].set(static_cast<int>(id * batch + i));
            count[id] = batch;
        }
    }
    void write(unsigned id) {
        for (std::size_t i = 0; i != count[id]; ++i) {
            auto& block = contents[held[id][i].get()];
            block(RL_INFO) = static_cast<int>(id) + 1;
            RL_ASSERT(block(RL_INFO).load() == static_cast<int>(id) + 1);
        }
    }
    void thread(unsigned id) {
        for (int time = 0; time != Plan.times; ++time) {
            write(id);
            if (count[id] != 0 && lists.put(0, held[id], count[id])) count[id] = 0;
            if (count[id] == 0) count[id] = lists.take(0, held[id]);
            write(id);
        }
    }
    void after() {  // every block is held by one thread or is in one slot
        int found[blocks]{};
        for (std::size_t id = 0; id != Threads; ++id)
            for (std::size_t i = 0; i != count[id]; ++i) ++found[held[id][i].get()];
        for (std::size_t slot = 0; slot != Plan.slots; ++slot) {
            item taken[batch];
            const std::size_t size = lists.take(0, taken);
            for (std::size_t i = 0; i != size; ++i) ++found[taken[i].get()];
        }
        for (const int each : found) RL_ASSERT(each == 1);
    }
};

template <transfer_plan Plan, int Threads, unsigned Switches>
bool transfer(const char* name, rl::test_result_e expected = rl::test_result_success) {
    return modeled::run<transfers<Plan, Threads>, Switches>(name, expected);
}

// ── claims ───────────────────────────────────────────────────────────────────────────────────────────────────────────

enum class missing { nothing, light, heavy };

/// The barrier of the process as fences of both sides, which gives the same order.
template <missing Which>
struct barrier {
    static void light() {
        if (Which != missing::light) rl::atomic_thread_fence(rl::mo_seq_cst, RL_INFO);
    }
    static void heavy() {
        if (Which != missing::heavy) rl::atomic_thread_fence(rl::mo_seq_cst, RL_INFO);
    }
};

/// An owner uses a cache twice, and another thread claims it.
template <weakened Order, missing Barrier>
struct claims : rl::test_suite<claims<Order, Barrier>, 2> {
    using sides = barrier<Barrier>;
    allot::detail::claimable<sides, atomics<Order>> exclusion;
    rl::var<int> stock;

    void before() { stock(RL_INFO) = 0; }
    void thread(unsigned id) {
        if (id == 0) {
            for (int time = 0; time != 2; ++time) {
                exclusion.enter();
                add();
                exclusion.leave();
            }
        } else {
            exclusion.claim();
            sides::heavy();
            exclusion.wait();
            add();
            exclusion.unclaim();
        }
    }
    void add() { stock(RL_INFO) = stock(RL_INFO).load() + 1; }
    void after() { RL_ASSERT(stock(RL_INFO).load() == 3); }
};

template <weakened Order = weakened::none, missing Barrier = missing::nothing>
bool claim(const char* name, rl::test_result_e expected = rl::test_result_success) {
    return modeled::run<claims<Order, Barrier>, 8>(name, expected);
}

}  // namespace

int main() {
    bool good = true;
    constexpr auto race = rl::test_result_data_race;
    good &= transfer<transfer_plan{}, 2, no_limit>("one slot, two threads");
    good &= transfer<transfer_plan{.slots = 2}, 2, no_limit>("two slots, two threads");
    good &= transfer<transfer_plan{.slots = 2, .batch = 2}, 2, 6>("two slots, two blocks, two threads");
    good &= transfer<transfer_plan{.times = 2}, 2, 8>("one slot, two threads, twice");
    good &= transfer<transfer_plan{}, 3, 5>("one slot, three threads");
    good &= transfer<transfer_plan{.slots = 2}, 3, 3>("two slots, three threads");
    good &= transfer<transfer_plan{.which = weakened::take}, 2, no_limit>("relaxed acquire of a slot", race);
    good &= transfer<transfer_plan{.which = weakened::give}, 2, no_limit>("relaxed release of a slot", race);
    good &= claim("an owner and a claim");
    good &= claim<weakened::take>("relaxed acquire of a flag", race);
    good &= claim<weakened::give>("relaxed release of a flag", race);
    good &= claim<weakened::none, missing::light>("no barrier of the owner", race);
    good &= claim<weakened::none, missing::heavy>("no barrier of the claim", race);
    return good ? 0 : 1;
}
