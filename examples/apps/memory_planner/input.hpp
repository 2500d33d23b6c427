// SPDX-License-Identifier: BSL-1.0
// input: the planning problem as read from a file: named buffers, memories, and the rows of the table to write the plan
// to.
#pragma once

#include "../network_demo/input_error.hpp"

#include <allot/core/arithmetic.hpp>
#include <allot/plan/moves.hpp>
#include <allot/plan/queued_problem.hpp>
#include <allot/plan/symbolic.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace planner {

using demo::input_error;

inline constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();
inline constexpr std::uint64_t every_memory = std::numeric_limits<std::uint64_t>::max();

struct memory {
    std::string name;
    std::uint64_t capacity = unlimited;
    std::optional<std::uint64_t> cost{};  // of one byte in this memory
    std::vector<allot::plan_reserved> reserved{};
};

/// A row of the table to write the plan to. A buffer with several lifetimes has several rows.
struct row {
    std::size_t buffer = 0;
    std::string text;
};

/// A symbol of the sizes, and its values.
struct symbol_range {
    std::string name;
    std::uint64_t least = 0, most = 0;
};

/// Operators on several queues, in the order in which they are submitted.
struct submission {
    std::vector<std::size_t> queues;  // by operator
    std::vector<allot::queue_wait> waits;
    std::vector<allot::queued_use> uses;
};

/// The times of steps and copies, in ticks.
struct step_times {
    std::vector<std::uint64_t> durations;      // by step, from step 0, without accesses
    std::uint64_t copy_cost = 0, latency = 0;  // of a copied byte; of a copy without bytes
};

struct input {
    std::string path;
    std::string format;   // in words
    std::string columns;  // header of the rows
    std::vector<row> rows;

    // By buffer.
    std::vector<allot::plan_buffer> buffers;
    std::vector<std::string> names;
    std::vector<std::size_t> memory_of;

    std::vector<symbol_range> symbols;        // of the sizes; buffers then have their size for the largest values
    std::vector<allot::symbolic_size> sizes;  // by buffer, if there are symbols

    std::size_t windows = 0;  // that many buffers before those of `part_of` are the bytes of others in use during a gap
    std::vector<std::size_t> part_of;  // the last buffers are second parts of these, which a plan divided by rows

    std::optional<std::vector<std::size_t>> paged;  // buffers that may lie in pages; by default, all
    std::vector<std::string> named_memories;        // names of memories that buffers are restricted to
    std::vector<std::uint64_t> allowed;             // by buffer: bit i is named_memories[i], or every_memory
    std::vector<std::uint64_t> uses;                // by buffer: factor of its cost; empty: one each
    std::vector<std::uint64_t> row_counts;          // by buffer: rows among which it may be divided; empty: none is
    std::vector<allot::plan_access> accesses;       // if known
    std::optional<step_times> times;                // if --moves looks for the least time
    std::optional<std::uint64_t> own_peak;          // bytes of the plan in the file
    std::optional<std::uint64_t> given_bound;       // bytes that the given order needs if no tensors share bytes
    std::optional<std::uint64_t> order_bound;       // bytes that every order of the operators needs
    std::vector<std::uint64_t> shift;               // by buffer, or empty: bytes before the tensor in its buffer
    std::string network;                            // the network in the order of the plan
    std::vector<std::function<input()>> others;     // the network in other orders, with other bytes shared
    std::function<std::string(const std::vector<std::uint64_t>&)> run;  // runs a graph; returns the mistake, or ""
    std::optional<submission> submitted;                                // if operators run on several queues
    bool has_branches = false;  // whether a step may be followed by one that is not the next
    std::vector<allot::plan_revival> revivals;
    std::vector<allot::plan_fixed> fixed;
    std::vector<allot::plan_pair> together, apart, separate;  // of which separate ones are in different memories
    std::vector<memory> memories{{"memory"}};
    bool chooses = false;  // the plan chooses among the memories; otherwise, memory_of is final

    /// Whether a buffer is one of the file, or the second part of one.
    [[nodiscard]] bool is_real(std::size_t buffer) const {
        const std::size_t parts = buffers.size() - part_of.size();
        return buffer < parts - windows || buffer >= parts;
    }
    /// Returns the buffer of the file that a buffer is, or is a part of.
    [[nodiscard]] std::size_t whole_of(std::size_t buffer) const {
        const std::size_t parts = buffers.size() - part_of.size();
        return buffer < parts ? buffer : part_of[buffer - parts];
    }
};

/// Returns a number for each buffer. Buffers that are together, directly or through others, have the same one.
[[nodiscard]] inline std::vector<std::size_t> groups_of(const input& given) {
    std::vector<std::size_t> groups(given.buffers.size());
    std::iota(groups.begin(), groups.end(), std::size_t{0});
    const auto first_of = [&](std::size_t i) {
        while (groups[i] != i) i = groups[i] = groups[groups[i]];
        return i;
    };
    for (const allot::plan_pair& each : given.together) groups[first_of(each.first)] = first_of(each.second);
    for (std::size_t& each : groups) each = first_of(each);
    return groups;
}
/// Returns the bytes of buffers that are live at one step. Of buffers that are together, only the largest one counts.
[[nodiscard]] inline std::uint64_t live_bytes(const input& given, const std::vector<std::size_t>& live) {
    const std::vector<std::size_t> groups = groups_of(given);
    std::vector<std::uint64_t> largest(groups.size());
    for (const std::size_t i : live) largest[groups[i]] = std::max(largest[groups[i]], given.buffers[i].size);
    return std::accumulate(largest.begin(), largest.end(), std::uint64_t{0});
}

/// Whether some buffer may be divided by rows.
[[nodiscard]] inline bool has_rows(const input& given) {
    return std::any_of(given.row_counts.begin(), given.row_counts.end(), [](std::uint64_t rows) { return rows > 1; });
}

/// The place in a file that a message names.
struct place {
    std::string path;
    std::size_t line = 0;

    [[noreturn]] void refuse(std::string reason) const {
        // A message is one line, also if it quotes the file.
        std::replace_if(reason.begin(), reason.end(), [](char c) { return c == '\r' || c == '\n'; }, ' ');
        throw input_error{path + ":" + std::to_string(line) + ": " + reason};
    }
};

/// Returns a text without the byte order mark of UTF-8.
[[nodiscard]] inline std::string_view without_mark(std::string_view text) {
    constexpr std::string_view mark = "\xEF\xBB\xBF";
    return text.starts_with(mark) ? text.substr(mark.size()) : text;
}

/// Calls `use(line)` for each line of a text, without its end, and counts the lines in `where`.
template <class Use>
void each_line(std::string_view text, place& where, Use use) {
    for (where.line = 0; !text.empty();) {
        ++where.line;
        const std::size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
        use(line);
    }
}

/// Returns the number that `text` consists of.
template <class Number>
[[nodiscard]] Number number_of(const place& where, const std::string& what, std::string_view text) {
    Number value = 0;
    const char* const end = text.data() + text.size();
    const auto [stopped, problem] = std::from_chars(text.data(), end, value);
    if (problem == std::errc::result_out_of_range) where.refuse(what + ", " + std::string{text} + ", exceeds 64 bits");
    if (problem != std::errc{} || stopped != end)
        where.refuse(what + ", \"" + std::string{text} + "\", is not an integer" +
                     (std::is_unsigned_v<Number> ? " of 0 or more" : ""));
    return value;
}

/// Adds buffers to an input, with checks that all formats share.
class input_builder {
public:
    explicit input_builder(std::string path, std::string format) : where{std::move(path)} {
        made.path = where.path;
        made.format = std::move(format);
    }

    /// Adds a buffer of a memory. Returns its index.
    std::size_t add(std::string name, allot::plan_buffer buffer, std::size_t memory = 0) {
        if (buffer.live.until <= buffer.live.from)
            where.refuse("upper, " + std::to_string(buffer.live.until) + ", is not above lower, " +
                         std::to_string(buffer.live.from));
        if (!allot::is_alignment(buffer.align))
            where.refuse("the alignment " + std::to_string(buffer.align) + " is not a power of two");
        if (!allot::checked_add(sum_, buffer.size, sum_))
            where.refuse("the sum of the sizes up to here exceeds 64 bits");
        made.buffers.push_back(buffer);
        made.names.push_back(std::move(name));
        made.memory_of.push_back(memory);
        return made.buffers.size() - 1;
    }
    /// Fixes the offset of a buffer.
    void fix(std::size_t buffer, std::uint64_t offset) {
        const allot::plan_buffer& of = made.buffers[buffer];
        std::uint64_t end = 0;
        if (!allot::checked_add(offset, of.size, end)) where.refuse("the end of the buffer exceeds 64 bits");
        if (offset % of.align != 0)
            where.refuse("the offset " + std::to_string(offset) + " is not a multiple of the alignment " +
                         std::to_string(of.align));
        made.fixed.push_back({buffer, offset});
    }
    /// Returns the number of rows of a buffer, if they divide its size.
    std::uint64_t rows_of(std::size_t buffer, std::uint64_t rows) const {
        if (rows == 0) where.refuse("a buffer has 1 row or more, not 0");
        if (made.buffers[buffer].size % rows != 0)
            where.refuse("the size " + std::to_string(made.buffers[buffer].size) + " is not a multiple of the " +
                         std::to_string(rows) + " rows");
        return rows;
    }
    /// Adds a size with symbols. Returns its bytes for the largest values.
    std::uint64_t add_size(const allot::symbolic_size& size) {
        std::vector<std::uint64_t> most;
        for (const symbol_range& each : made.symbols) most.push_back(each.most);
        std::uint64_t bytes = 0;
        if (!size.bytes(most, bytes)) where.refuse("the size for the largest values exceeds 64 bits");
        made.sizes.push_back(size);
        return bytes;
    }
    /// Adds the row id,lower,upper,size,alignment of a buffer.
    void add_row(std::size_t buffer, const std::string& id, allot::lifetime live) {
        const allot::plan_buffer& of = made.buffers[buffer];
        made.rows.push_back({buffer, id + ',' + std::to_string(live.from) + ',' + std::to_string(live.until) + ',' +
                                         std::to_string(of.size) + ',' + std::to_string(of.align)});
    }
    static constexpr const char* columns = "id,lower,upper,size,alignment";

    place where;
    input made;

private:
    std::uint64_t sum_ = 0;
};

/// Returns a name as the id of a row, without the characters that a table does not permit.
[[nodiscard]] inline std::string id_of(std::string name) {
    std::replace_if(
        name.begin(), name.end(), [](char c) { return c == ',' || c == '"' || c == '\n' || c == '\r'; }, '_');
    return name;
}

}  // namespace planner
