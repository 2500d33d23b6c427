// Checks the texts of the codes of an error type.
#pragma once

#include <doctest/doctest.h>

#include <initializer_list>
#include <string_view>

namespace texts {

/// Checks that each of these codes has a text that no other one has.
template <class Code>
void check_distinct(std::initializer_list<Code> codes) {
    for (const Code& one : codes) {
        const std::string_view text = to_string(one);
        CHECK(!text.empty());
        CHECK(text != "unknown");
        for (const Code& other : codes) CHECK((&one == &other || text != to_string(other)));
    }
}

/// Checks the texts of the codes 0 to `last`, and that `last` is the last code.
template <class Code>
void check_distinct_up_to(Code last) {
    const auto end = static_cast<unsigned>(last) + 1;
    for (unsigned i = 0; i != end; ++i) {
        const std::string_view text = to_string(static_cast<Code>(i));
        CAPTURE(i);
        CHECK(!text.empty());
        CHECK(text != "unknown");
        for (unsigned j = 0; j != i; ++j) CHECK(text != to_string(static_cast<Code>(j)));
    }
    CHECK(std::string_view{to_string(static_cast<Code>(end))} == "unknown");
}

}  // namespace texts
