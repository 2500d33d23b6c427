// Support for mutants.py: a mutated header asks here whether the change that it carries is switched on.
//
// Every mutant is compiled into the tests. The environment variable MUTANT chooses one by its number; without it the headers
// behave as written. MUTANTS_REACHED names a file that receives the numbers of the mutants that a run passed through.
// In a constant expression no mutant is on.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <type_traits>

namespace mutation {

inline constexpr int capacity = 100'000;

struct state {
    int chosen = std::getenv("MUTANT") != nullptr ? std::atoi(std::getenv("MUTANT")) : -1;
    bool reached[capacity]{};

    ~state() {
        const char* const name = std::getenv("MUTANTS_REACHED");
        if (name == nullptr) return;
        if (std::FILE* const file = std::fopen(name, "a")) {
            for (int i = 0; i != capacity; ++i)
                if (reached[i]) std::fprintf(file, "%d\n", i);
            std::fclose(file);
        }
    }
};
inline state& now() {
    static state* const only = [] {
        static state made;
        return &made;
    }();
    return *only;
}

constexpr bool on(int mutant) {
    if (std::is_constant_evaluated()) return false;
    now().reached[mutant] = true;
    return now().chosen == mutant;
}

constexpr bool yes(int mutant, bool value) { return on(mutant) || value; }
constexpr bool no(int mutant, bool value) { return !on(mutant) && value; }
constexpr bool negated(int mutant, bool value) { return on(mutant) != value; }

template <class Number>
constexpr Number more(int mutant, Number value) {
    return on(mutant) ? static_cast<Number>(value + 1) : value;
}

#define ALLOT_MUTATED(name, written, mutated)                                  \
    template <class Left, class Right>                                         \
    constexpr auto name(int mutant, Left left, Right right) {                  \
        using result = decltype(left written right);                           \
        return on(mutant) ? static_cast<result>(left mutated right) : static_cast<result>(left written right); \
    }
ALLOT_MUTATED(less_as_less_equal, <, <=)
ALLOT_MUTATED(less_as_greater_equal, <, >=)
ALLOT_MUTATED(less_equal_as_less, <=, <)
ALLOT_MUTATED(less_equal_as_greater, <=, >)
ALLOT_MUTATED(greater_as_greater_equal, >, >=)
ALLOT_MUTATED(greater_as_less_equal, >, <=)
ALLOT_MUTATED(greater_equal_as_greater, >=, >)
ALLOT_MUTATED(greater_equal_as_less, >=, <)
ALLOT_MUTATED(equal_as_unequal, ==, !=)
ALLOT_MUTATED(unequal_as_equal, !=, ==)
ALLOT_MUTATED(plus_as_minus, +, -)
ALLOT_MUTATED(minus_as_plus, -, +)
ALLOT_MUTATED(times_as_plus, *, +)
ALLOT_MUTATED(divided_as_times, /, *)
ALLOT_MUTATED(and_as_or, &, |)
ALLOT_MUTATED(or_as_and, |, &)
#undef ALLOT_MUTATED

}  // namespace mutation
