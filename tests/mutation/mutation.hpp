// Support for mutants.py: mutated headers query whether a mutant is active.
//
// All mutants are compiled into the tests. The environment variable MUTANT activates one by its number. Without it, the
// headers behave as written. MUTANTS_REACHED names a file whose byte n becomes 1 if a run passes through mutant n.
// In constant expressions, the macro ALLOT_MUTANT activates a mutant.
#pragma once

#include <type_traits>

#ifndef ALLOT_MUTANT
#define ALLOT_MUTANT -1
#endif

namespace mutation {

inline constexpr int capacity = 100'000;
extern int chosen;
extern bool* reached;  // `capacity` elements

constexpr bool on(int mutant) {
    if (std::is_constant_evaluated()) return mutant == ALLOT_MUTANT;
    reached[mutant] = true;
    return chosen == mutant;
}

constexpr bool yes(int mutant, bool value) { return on(mutant) || value; }
constexpr bool no(int mutant, bool value) { return !on(mutant) && value; }
constexpr bool negated(int mutant, bool value) { return on(mutant) != value; }

#define ALLOT_MUTATED(name, written, mutated)                                                                  \
    template <class Left, class Right>                                                                         \
    constexpr auto name(int mutant, Left left, Right right) {                                                  \
        using result = decltype(left written right);                                                           \
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
