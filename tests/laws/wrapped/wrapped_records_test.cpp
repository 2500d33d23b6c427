// The laws of wrappers with records of their blocks: see laws.hpp and wrapped.hpp.
#include "wrapped.hpp"

TEST_CASE_TEMPLATE("laws: wrappers with records around arenas", Wrap, laws::in_tagged, laws::in_indexed) {
    laws::judge_wrapped<Wrap>();
}
