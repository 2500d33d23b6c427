// The laws of wrapped arenas: see laws.hpp and wrapped.hpp.
#include "wrapped.hpp"

TEST_CASE_TEMPLATE("laws: wrappers around arenas", Wrap, laws::in_counted, laws::in_limited, laws::in_observed,
                   laws::in_recorded, laws::in_failing, laws::in_retrying, laws::in_any) {
    laws::judge_wrapped<Wrap>();
}
