// SPDX-License-Identifier: BSL-1.0
// csv: reads a table of buffers.
//
//     id,lower,upper,size,alignment,paged   the last two columns are optional; the default alignment is 1
//     conv1,0,3,4096,64,0                   lives in the steps 0, 1 and 2
//     cache,1,9,50000,1,1                   may lie in pages
//
// Throws an `input_error`, one sentence with file and line, for any other text. Lines may end as on Windows, and empty
// lines are skipped. Complexity: linear in the length of the text.
#pragma once

#include "input.hpp"

#include <allot/core/arithmetic.hpp>

#include <charconv>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace planner {

class csv_reader {
public:
    /// `path` is used in messages.
    explicit csv_reader(std::string path) { made_.path = std::move(path); }

    [[nodiscard]] input read(std::string_view text) {
        constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
        if (text.substr(0, byte_order_mark.size()) == byte_order_mark) text.remove_prefix(byte_order_mark.size());
        while (!text.empty()) {
            ++line_;
            const std::size_t end = std::min(text.find('\n'), text.size());
            std::string_view line = text.substr(0, end);
            text.remove_prefix(std::min(end + 1, text.size()));
            if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
            if (line.empty()) continue;
            made_.columns.empty() ? header(line) : add(line);
        }
        line_ = std::max<std::size_t>(line_, 1);
        if (made_.columns.empty()) refuse("the file is empty");
        if (made_.rows.empty()) refuse("the file contains no buffers");
        return std::move(made_);
    }

private:
    static constexpr std::string_view required = "id,lower,upper,size", aligned = ",alignment", in_pages = ",paged";

    [[noreturn]] void refuse(const std::string& reason) const {
        throw input_error{made_.path + ":" + std::to_string(line_) + ": " + reason};
    }

    void header(std::string_view line) {
        made_.columns = line;
        const auto skip = [&](std::string_view columns) {
            const bool is_there = line.substr(0, columns.size()) == columns;
            if (is_there) line.remove_prefix(columns.size());
            return is_there;
        };
        const bool is_known = skip(required);
        is_aligned_ = skip(aligned);
        if (skip(in_pages)) made_.paged.emplace();
        if (!is_known || !line.empty())
            refuse("the first line is not \"" + std::string{required} + "\", which \"" + std::string{aligned} +
                   "\" and \"" + std::string{in_pages} + "\" may follow in this order");
        fields_.resize(4 + std::size_t{is_aligned_} + std::size_t{made_.paged.has_value()});
    }

    void add(std::string_view line) {
        const auto commas = static_cast<std::size_t>(std::count(line.begin(), line.end(), ','));
        if (commas + 1 != fields_.size())
            refuse("the row has " + std::to_string(commas + 1) + " columns instead of " +
                   std::to_string(fields_.size()));
        std::string_view left = line;
        for (std::string_view& field : fields_) {
            const std::size_t end = std::min(left.find(','), left.size());
            field = left.substr(0, end);
            left.remove_prefix(std::min(end + 1, left.size()));
        }
        const std::string id{fields_[0]};
        if (id.empty()) refuse("the buffer has no id");
        if (id.find('"') != std::string::npos) refuse("the id contains a quote; ids must not contain quotes or commas");
        if (const auto [known, fresh] = lines_.emplace(id, line_); !fresh)
            refuse("the id " + id + " is already used in line " + std::to_string(known->second));

        allot::plan_buffer buffer;
        buffer.live.from = number<std::int64_t>("lower", fields_[1]);
        buffer.live.until = number<std::int64_t>("upper", fields_[2]);
        buffer.size = number<std::uint64_t>("size", fields_[3]);
        if (is_aligned_) buffer.align = number<std::uint64_t>("alignment", fields_[4]);
        if (made_.paged && fields_.back() != "0" && fields_.back() != "1")
            refuse("paged, \"" + std::string{fields_.back()} + "\", is not 0 or 1");
        if (buffer.live.until <= buffer.live.from)
            refuse("upper, " + std::to_string(buffer.live.until) + ", is not above lower, " +
                   std::to_string(buffer.live.from));
        if (!allot::is_alignment(buffer.align))
            refuse("the alignment " + std::to_string(buffer.align) + " is not a power of two");
        if (!allot::checked_add(sum_, buffer.size, sum_)) refuse("the sum of the sizes up to here exceeds 64 bits");

        if (made_.paged && fields_.back() == "1") made_.paged->push_back(made_.buffers.size());
        made_.rows.push_back({made_.buffers.size(), std::string{line}});
        made_.buffers.push_back(buffer);
        made_.names.push_back(id);
        made_.memory_of.push_back(0);
    }

    template <class Number>
    [[nodiscard]] Number number(const std::string& column, std::string_view text) const {
        Number value = 0;
        const char* const end = text.data() + text.size();
        const auto [stopped, problem] = std::from_chars(text.data(), end, value);
        if (problem == std::errc::result_out_of_range) refuse(column + ", " + std::string{text} + ", exceeds 64 bits");
        if (problem != std::errc{} || stopped != end)
            refuse(column + ", \"" + std::string{text} + "\", is not an integer" +
                   (std::is_unsigned_v<Number> ? " of 0 or more" : ""));
        return value;
    }

    input made_;
    bool is_aligned_ = false;
    std::vector<std::string_view> fields_;  // of this line
    std::unordered_map<std::string, std::size_t> lines_;
    std::size_t line_ = 0;
    std::uint64_t sum_ = 0;
};

}  // namespace planner
