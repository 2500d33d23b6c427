// The lock-free state of a page_tree under a model of the C++ memory model (Relacy): the interleavings of two or three
// threads, and the stale values that the memory orders of the state allow a load to return. Relacy reports a race if
// the holders of a page write to it without an order between them.
//
// Words have 8 bits here, so that few pages make several words and subtrees. Only the words decide, so most cases model
// the words alone and run all executions. The others model the hints as well and bound the number of times that a
// thread is interrupted. The last cases weaken one memory order, and must fail: otherwise the model proves nothing.
#include <allot/strategy/detail/page_words.hpp>

#include <utility>

#include "modeled.hpp"  // last

namespace {

using allot::detail::page_words_shape;

using modeled::weakened;

/// Atomics of the model. `Which` replaces one order by relaxed. `Hints`: whether hints are atomics of the model as
/// well.
template <weakened Which, bool Hints>
struct modeled_atomics {
    using word = std::uint8_t;

    template <class T>
    using deciding = modeled::atomic<T, Which>;

    /// A hint that is always current: only the words have stale values and interleavings.
    template <class T>
    class current_hint {
    public:
        T load(std::memory_order) const { return value_; }
        void store(T to, std::memory_order) { value_ = to; }
        T fetch_or(T bits, std::memory_order) { return std::exchange(value_, static_cast<T>(value_ | bits)); }
        T fetch_and(T bits, std::memory_order) { return std::exchange(value_, static_cast<T>(value_ & bits)); }
        bool compare_exchange_strong(T& expected, T to, std::memory_order, std::memory_order) {
            const bool equal = value_ == expected;
            (equal ? value_ : expected) = equal ? to : value_;
            return equal;
        }

    private:
        T value_ = 0;
    };
    template <class T>
    using hint = std::conditional_t<Hints, deciding<T>, current_hint<T>>;
};

constexpr std::size_t anywhere = 255;

/// The call of a thread: a block of 2^order pages, at a given page or anywhere.
struct request {
    unsigned order = 0;
    std::size_t at = anywhere;
    bool sure = false;  // it must succeed
};

/// What the threads of a case do. Each thread has its own processor.
struct plan {
    page_words_shape shape;
    std::size_t first = 0, end = 0;  // the pages that exist
    request of[3]{};
    weakened which = weakened::none;
    bool hints = false;                     // whether hints are atomics of the model as well
    unsigned switches = modeled::no_limit;  // number of switches between threads that can still run; no limit: all
                                            // executions
};

template <plan Plan, int Threads>
struct play : rl::test_suite<play<Plan, Threads>, Threads> {
    static constexpr std::size_t pages = Plan.shape.pages;
    using state = allot::detail::page_words<Plan.shape, modeled_atomics<Plan.which, Plan.hints>>;

    state words;
    rl::var<int> contents[pages];

    void before() {
        words.open(Plan.first, Plan.end);
        for (auto& each : contents) each(RL_INFO) = 0;
    }
    void thread(unsigned id) {
        constexpr auto& all = Plan.of;
        const request mine = all[id];
        std::size_t at = mine.at;
        const bool taken = at == anywhere ? words.take(id, mine.order, mine.order, at) : words.take_at(at, mine.order);
        RL_ASSERT(taken || !mine.sure);
        if (!taken) return;
        const std::size_t end = at + (std::size_t{1} << mine.order);
        RL_ASSERT(at >= Plan.first && end <= Plan.end);
        for (std::size_t i = at; i != end; ++i) {
            RL_ASSERT(contents[i](RL_INFO).load() == 0);
            contents[i](RL_INFO) = static_cast<int>(id) + 1;
        }
        for (std::size_t i = at; i != end; ++i) {
            RL_ASSERT(contents[i](RL_INFO).load() == static_cast<int>(id) + 1);
            contents[i](RL_INFO) = 0;
        }
        words.give(id, at, mine.order);
    }
    void after() {  // no page is lost, and every page can be taken
        RL_ASSERT(words.count_free() == Plan.end - Plan.first);
        for (std::size_t i = Plan.first, at = 0; i != Plan.end; ++i) RL_ASSERT(words.take(0, 0, 0, at));
        std::size_t at = 0;
        RL_ASSERT(!words.take(0, 0, 0, at));
    }
};

/// Runs the executions of a plan. Returns whether the result is as expected.
template <plan Plan, int Threads>
bool run(const char* name, rl::test_result_e expected = rl::test_result_success) {
    return modeled::run<play<Plan, Threads>, Plan.switches>(name, expected);
}

constexpr page_words_shape one_word{.pages = 8, .largest_order = 3, .processors = 3, .subtree_words = 1};
constexpr page_words_shape two_words{.pages = 16, .largest_order = 4, .processors = 3, .subtree_words = 2};
constexpr page_words_shape two_subtrees{.pages = 16, .largest_order = 3, .processors = 3, .subtree_words = 1};

}  // namespace

int main() {
    bool good = true;
    constexpr request page{}, sure_page{.sure = true}, all_at_0{.order = 4, .at = 0};
    good &= run<plan{one_word, 0, 1, {page, page}}, 2>("two threads, one page");
    good &= run<plan{one_word, 3, 5, {sure_page, sure_page}}, 2>("two threads, two pages");
    good &= run<plan{two_words, 7, 9, {sure_page, sure_page}}, 2>("two threads, two words");
    good &= run<plan{two_subtrees, 7, 9, {sure_page, sure_page}}, 2>("two threads, two subtrees");
    good &= run<plan{one_word, 0, 1, {page, page, page}, weakened::none, false, 2}, 3>("three threads, one page");
    good &= run<plan{one_word, 0, 8, {{3}, page}}, 2>("8 pages and a page");
    good &= run<plan{two_words, 0, 16, {all_at_0, {0, 8}}}, 2>("16 pages and a page");
    good &= run<plan{two_words, 0, 16, {all_at_0, {3, 8}}}, 2>("16 pages and 8 pages");
    good &= run<plan{two_words, 0, 16, {all_at_0, all_at_0}}, 2>("16 pages and 16 pages");
    good &= run<plan{two_words, 0, 16, {{4}, {4}}, weakened::none, false, 3}, 2>("16 pages and 16 pages, anywhere");
    good &= run<plan{two_words, 0, 16, {{4}, page}, weakened::none, true, 1}, 2>("16 pages and a page, hints");
    good &= run<plan{one_word, 0, 2, {sure_page, sure_page}, weakened::none, true, 2}, 2>("two pages, hints");
    good &= run<plan{two_subtrees, 7, 9, {sure_page, sure_page}, weakened::none, true, 2}, 2>("two subtrees, hints");
    good &= run<plan{one_word, 0, 1, {page, page}, weakened::take}, 2>("relaxed take", rl::test_result_data_race);
    good &= run<plan{one_word, 0, 1, {page, page}, weakened::give}, 2>("relaxed give", rl::test_result_data_race);
    good &= run<plan{two_words, 0, 16, {all_at_0, all_at_0}, weakened::take}, 2>("relaxed take of 16 pages",
                                                                                 rl::test_result_data_race);
    good &= run<plan{two_words, 0, 16, {all_at_0, all_at_0}, weakened::give}, 2>("relaxed give of 16 pages",
                                                                                 rl::test_result_data_race);
    return good ? 0 : 1;
}
