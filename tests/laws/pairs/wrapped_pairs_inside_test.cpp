// The laws of wrappers around wrappers with records: see laws.hpp and wrapped.hpp.
#include "../wrapped/wrapped.hpp"

using namespace laws;

TEST_CASE_TEMPLATE("laws: wrappers around wrappers with records", Outer, in_counted, in_limited, in_observed,
                   in_recorded, in_failing, in_retrying, in_any) {
    judge_pairs_in_any_order<Outer, in_tagged, in_indexed, in_guarded, in_quarantined, in_block_cache>();
}
