// SPDX-License-Identifier: BSL-1.0
// arguments: the arguments of a command line, one option or file at a time.
//
//     demo::arguments given{{argv + 1, argv + argc}};
//     while (given.next()) {
//         if (given.is_file()) given.only_file(file);
//         else if (given.is("--svg")) svg = given.value();  // --svg FILE or --svg=FILE
//         else if (given.is_flag("--json")) json = true;
//         else given.refuse();
//     }
//
// Each mistake is a `usage_error`, one sentence.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace demo {

struct usage_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class arguments {
public:
    explicit arguments(std::vector<std::string> all) : all_{std::move(all)} {}

    /// Moves to the next argument, at first to the first one. Returns false if there is none.
    [[nodiscard]] bool next() { return ++at_ < all_.size(); }
    [[nodiscard]] const std::string& text() const { return all_[at_]; }
    [[nodiscard]] bool is_file() const { return text().empty() || text()[0] != '-'; }
    /// Whether the argument is this option, which has a value.
    [[nodiscard]] bool is(std::string_view option) const {
        return std::string_view{text()}.substr(0, text().find('=')) == option;
    }
    /// Whether the argument is this option, which has no value.
    [[nodiscard]] bool is_flag(std::string_view option) const { return text() == option; }
    [[nodiscard]] bool is_help() const { return is_flag("--help") || is_flag("-h"); }
    /// Returns the value of the option: the text after "=", or the next argument.
    [[nodiscard]] std::string value() {
        if (const std::size_t equals = text().find('='); equals != std::string::npos) return text().substr(equals + 1);
        if (at_ + 1 == all_.size()) throw usage_error{text() + " needs a value"};
        return all_[++at_];
    }
    /// Stores the argument as the only file.
    void only_file(std::string& file) const {
        if (!file.empty()) throw usage_error{"more than one file is given: " + file + " and " + text()};
        file = text();
    }
    [[noreturn]] void refuse() const { throw usage_error{"unknown option " + text()}; }

private:
    std::vector<std::string> all_;
    std::size_t at_ = static_cast<std::size_t>(-1);
};

}  // namespace demo
