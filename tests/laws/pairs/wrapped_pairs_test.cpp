// The laws of wrappers around wrappers: see laws.hpp and wrapped.hpp.
#include "../wrapped/wrapped.hpp"

TEST_CASE_TEMPLATE("laws: wrappers around each wrapper", Outer, laws::in_counted, laws::in_limited, laws::in_observed,
                   laws::in_recorded, laws::in_failing, laws::in_retrying, laws::in_any) {
    laws::judge_pairs<Outer, laws::in_counted, laws::in_limited, laws::in_observed, laws::in_recorded, laws::in_failing,
                      laws::in_retrying, laws::in_any>();
}
