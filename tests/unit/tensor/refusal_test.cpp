// tensor_error: the texts of its reasons, and of the diagnosis that it contains.
#include "../../texts.hpp"

#include <allot/tensor/refusal.hpp>

#include <doctest/doctest.h>

using allot::tensor_error, allot::tensor_refusal;

TEST_CASE("tensor_error: every reason has its own text") { texts::check_distinct_up_to(tensor_refusal::shared_row); }

TEST_CASE("tensor_error: what returns the text of the reason, or of the diagnosis for no_memory") {
    CHECK(std::string_view{tensor_error{}.what()} == "no error");
    CHECK(std::string_view{tensor_error{tensor_refusal::killed}.what()} == to_string(tensor_refusal::killed));
    const tensor_error full{tensor_refusal::no_memory, allot::no_row, {allot::refusal::exhausted}};
    CHECK(std::string_view{full.what()} == to_string(allot::refusal::exhausted));
    CHECK(std::string_view{tensor_error{tensor_refusal::no_memory}.what()} == "there is not enough memory");
}
