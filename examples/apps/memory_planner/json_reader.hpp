// SPDX-License-Identifier: BSL-1.0
// json_reader: parses JSON, and reads members of the right type. Messages have the line at which an object begins.
#pragma once

#include "input.hpp"

#include <nlohmann/json.hpp>

#include <set>

namespace planner {

using nlohmann::json;

/// The member that holds the line at which an object begins, because the library does not report lines.
inline const std::string line_key = "\n";

/// Counts the lines that the parser reads.
struct counting_iterator {
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;

    const char* at;
    std::size_t* line;

    reference operator*() const { return *at; }
    counting_iterator& operator++() {
        if (*at++ == '\n') ++*line;
        return *this;
    }
    [[maybe_unused]] friend bool operator==(counting_iterator a, counting_iterator b) { return a.at == b.at; }
};

class json_reader {
public:
    explicit json_reader(std::string path) : path_{std::move(path)} {}

    /// Returns the content of a file. Each object gets the member `line_key`.
    [[nodiscard]] json parse(std::string_view text) {
        constexpr int deepest = 32;
        std::size_t line = 1;
        struct open_object {
            std::size_t line;
            std::set<std::string> keys;
        };
        std::vector<open_object> open;
        const auto keep_lines = [&](int depth, json::parse_event_t event, json& parsed) {
            line_ = line;
            if (depth > deepest) refuse("the nesting exceeds " + std::to_string(deepest) + " levels");
            if (event == json::parse_event_t::object_start) open.push_back({line, {}});
            if (event == json::parse_event_t::key && parsed == line_key) refuse(json(line_key).dump() + " is unknown");
            if (event == json::parse_event_t::key && !open.back().keys.insert(parsed.get<std::string>()).second)
                refuse("\"" + parsed.get<std::string>() + "\" is given twice");
            if (event == json::parse_event_t::object_end) {
                parsed[line_key] = open.back().line;
                open.pop_back();
            }
            return true;
        };
        try {
            return json::parse(counting_iterator{text.data(), &line},
                               counting_iterator{text.data() + text.size(), &line}, keep_lines);
        } catch (const json::exception& reason) {
            line_ = line;
            const std::string what = reason.what();
            refuse("invalid JSON" + what.substr(std::min(what.find(": "), what.size())));
        }
    }

protected:
    [[noreturn]] void refuse(const std::string& reason) const { place{path_, line_}.refuse(reason); }

    /// Returns an object. Messages name its line from now on.
    const json& at(const json& object, const std::string& what) {
        if (!object.is_object()) refuse(what + " is not an object");
        line_ = object.at(line_key).get<std::size_t>();
        return object;
    }
    const json& member(const json& object, const char* name) const {
        const auto found = object.find(name);
        if (found == object.end()) refuse("\"" + std::string{name} + "\" is missing");
        return *found;
    }
    const json& member(const json& object, const char* name, json::value_t kind) const {
        const json& value = member(object, name);
        if (value.type() != kind) refuse("\"" + std::string{name} + "\" is not of type " + json(kind).type_name());
        return value;
    }
    [[nodiscard]] std::string string(const json& object, const char* name) const {
        return member(object, name, json::value_t::string).get<std::string>();
    }
    [[nodiscard]] std::uint64_t number_of(const json& value, const char* name) const {
        if (!value.is_number_unsigned()) refuse("\"" + std::string{name} + "\" is not an unsigned 64-bit integer");
        return value.get<std::uint64_t>();
    }
    [[nodiscard]] std::uint64_t number(const json& object, const char* name) const {
        return number_of(member(object, name), name);
    }
    [[nodiscard]] std::int64_t step(const json& object, const char* name) const {
        const json& value = member(object, name);
        const bool fits =
            value.is_number_unsigned() ? value.get<std::uint64_t>() <= INT64_MAX : value.is_number_integer();
        if (!fits) refuse("\"" + std::string{name} + "\" is not a 64-bit integer");
        return value.get<std::int64_t>();
    }

    std::string path_;
    std::size_t line_ = 1;
};

}  // namespace planner
