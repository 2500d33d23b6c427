// Lock-free code under a model of the C++ memory model (Relacy): the interleavings of few threads, and the stale values
// that the memory orders permit a load to return. Relacy reports a race if two threads access a variable without an
// order between them.
//
// Include it after the headers under test: Relacy defines macros such as `new` and `memory_order_acquire`.
#pragma once

#include <atomic>
#include <cstdio>
#include <ostream>
#include <streambuf>
#include <type_traits>

#include <relacy/relacy.hpp>  // last

namespace modeled {

/// The memory order that a test weakens to relaxed.
enum class weakened { none, take, give };

/// An atomic of the model, with the functions of std::atomic.
template <class T, weakened Which>
class atomic {
public:
    atomic() : value_{0} {}
    atomic(T value) : value_{raw(value)} {}
    T load(std::memory_order order) const { return T(value_.load(in_model(order), RL_INFO)); }
    void store(T to, std::memory_order order) { value_.store(raw(to), in_model(order), RL_INFO); }
    T exchange(T to, std::memory_order order) { return T(value_.exchange(raw(to), in_model(order), RL_INFO)); }
    T fetch_or(T bits, std::memory_order order) { return value_.fetch_or(bits, in_model(order), RL_INFO); }
    T fetch_and(T bits, std::memory_order order) { return value_.fetch_and(bits, in_model(order), RL_INFO); }
    bool compare_exchange_weak(T& expected, T to, std::memory_order success, std::memory_order) {
        raw was = raw(expected);
        const bool done = value_.compare_exchange_weak(was, raw(to), in_model(success), RL_INFO);
        expected = T(was);
        return done;
    }
    bool compare_exchange_strong(T& expected, T to, std::memory_order success, std::memory_order) {
        raw was = raw(expected);
        const bool done = value_.compare_exchange_strong(was, raw(to), in_model(success), RL_INFO);
        expected = T(was);
        return done;
    }

private:
    using raw = typename std::conditional_t<std::is_enum_v<T>, std::underlying_type<T>, std::type_identity<T>>::type;

    static rl::memory_order in_model(std::memory_order order) {
        switch (order) {
            case std::memory_order::acquire: return Which == weakened::take ? rl::mo_relaxed : rl::mo_acquire;
            case std::memory_order::release: return Which == weakened::give ? rl::mo_relaxed : rl::mo_release;
            default: return rl::mo_relaxed;
        }
    }
    mutable rl::atomic<raw> value_;
};

/// Keeps the start of a text, without a heap: Relacy replaces `operator new`, which a string stream must not mix.
class start_of_text : public std::streambuf {
public:
    start_of_text() { setp(text_, text_ + sizeof text_ - 1); }
    [[nodiscard]] const char* text() const { return text_; }

private:
    char text_[10'000]{};
};

constexpr unsigned no_limit = ~0U;

/// The order of executions: all of them, or those with at most `Switches` switches.
template <class Test, unsigned Switches>
using scheduler = std::conditional_t<Switches == no_limit, rl::full_search_scheduler<Test::params::thread_count>,
                                     rl::context_bound_scheduler<Test::params::thread_count>>;

/// Runs the executions of a test, with at most `Switches` switches between threads that can still run. Returns whether
/// the result is as expected. Unlike `rl::simulate`, it compiles one scheduler, which takes a third of the time.
template <class Test, unsigned Switches>
bool run(const char* name, rl::test_result_e expected = rl::test_result_success) {
    start_of_text text;
    std::ostream said{&text};
    rl::test_params how;
    how.search_type = Switches == no_limit ? rl::sched_full : rl::sched_bound;
    how.context_bound = Switches;
    how.output_stream = how.progress_stream = &said;
    how.test_name = name;
    rl::ostringstream state;
    const rl::test_result_e found = rl::run_test<Test, scheduler<Test, Switches>>(how, state, false);
    std::printf("%s: %s after %llu executions\n", name, rl::test_result_str(found),
                static_cast<unsigned long long>(how.stop_iteration));
    std::fflush(stdout);
    if (found == expected) return true;
    if (found != rl::test_result_success) {  // runs the last execution again, and writes it
        how.initial_state = how.final_state = state.str();
        how.collect_history = true;
        rl::run_test<Test, scheduler<Test, Switches>>(how, state, true);
    }
    std::printf("expected: %s\n%s\n", rl::test_result_str(expected), text.text());
    return false;
}

}  // namespace modeled
