// SPDX-License-Identifier: BSL-1.0
// program: a tensor program as a list of statements, read from text (README.md has the language).
//
//     vtcm_obj = alloc_storage(4096, storage_scope="global.vtcm")      # one statement a line
//     a = alloc_tensor(vtcm_obj, offset=1024, shape=(4, 64), dtype=int32)
//
// `read_program` checks only the syntax of calls. The machine checks names, offsets and sizes at run time. A
// `program_error` contains a sentence and the line. Time and memory are proportional to the size of the text, which is
// at most `most_text` bytes.
#pragma once

#include <allot/tensor.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace vm {

inline constexpr std::size_t most_text = 1 << 16;  // bytes of a program

/// An error in a program: a sentence and the line number.
struct program_error : std::runtime_error {
    program_error(std::size_t at, const std::string& reason) : std::runtime_error{reason}, line{at} {}
    std::size_t line;
};

// ── statements ───────────────────────────────────────────────────────────────────────────────────────────────────────

struct number {
    double real = 0;
    std::int64_t integer = 0;
    bool is_integer = false;
};

/// The elements of a tensor: a list, or a polynomial with element i = n0 + n1·i + n2·i² + …
struct elements {
    std::vector<number> numbers;
    bool is_polynomial = false;
};

/// A tensor of the caller: an input with its elements, or an output of zeros.
struct declare {
    std::string name;
    allot::shape shape;
    allot::dtype type;
    elements values;
    bool is_output = false;
};
struct expect {
    std::string name;
    elements values;
};
struct print {
    std::string name;
};
struct alloc_storage {
    std::string target;
    allot::shape shape;
    allot::dtype type;
    std::string scope;
    std::int64_t ordinal;
    std::int64_t align;
};
struct alloc_tensor {
    std::string target, storage;
    std::optional<std::int64_t> offset;
    allot::shape shape;
    allot::dtype type;
};
struct alloc_discontiguous_tensor {
    std::string target, table;
    std::optional<std::int64_t> table_offset;
    std::string data;
    std::optional<std::vector<std::int64_t>> data_offsets;
    allot::shape shape;
    allot::dtype type;
    std::optional<allot::shape> logical_shape;
    allot::axis_separators separators;
};
struct view {
    std::string target, of;
    allot::shape shape;
    allot::dtype type;
};
struct copy_tensor {
    std::string from, to;
};
struct kill_object {
    std::string name;
};
enum class operation : unsigned char { add, subtract, multiply };
inline constexpr std::string_view operation_names[] = {"add", "subtract", "multiply"};
struct kernel {
    operation what;
    std::string a, b, c;  // c = a (operation) b
};

struct statement {
    std::size_t line = 0;
    std::variant<declare, expect, print, alloc_storage, alloc_tensor, alloc_discontiguous_tensor, view, copy_tensor,
                 kill_object, kernel>
        what;
};

using program = std::vector<statement>;

// ── the reader ───────────────────────────────────────────────────────────────────────────────────────────────────────

namespace detail {

[[nodiscard]] constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
[[nodiscard]] constexpr bool starts_word(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
[[nodiscard]] inline std::string quoted(std::string_view text) { return '"' + std::string{text} + '"'; }

struct token {
    enum class kind : unsigned char { end, word, text, number, mark };
    kind is = kind::end;
    std::string_view chars;  // of a string, without its quotes
};

/// The tokens of one line.
class line_reader {
public:
    line_reader(std::string_view text, std::size_t line) : rest_{text}, line_{line} { advance(); }

    [[noreturn]] void refuse(const std::string& reason) const { throw program_error{line_, reason}; }
    [[nodiscard]] std::size_t line() const noexcept { return line_; }
    [[nodiscard]] bool at_end() const noexcept { return next_.is == token::kind::end; }
    [[nodiscard]] bool at_word() const noexcept { return next_.is == token::kind::word; }
    [[nodiscard]] bool at_text() const noexcept { return next_.is == token::kind::text; }
    [[nodiscard]] bool at_mark(char c) const noexcept {
        return next_.is == token::kind::mark && next_.chars.front() == c;
    }
    token take() {
        const token taken = next_;
        advance();
        return taken;
    }
    [[nodiscard]] std::string word(const char* what) {
        if (!at_word()) refuse(std::string{"expected "} + what + ", found " + found());
        return std::string{take().chars};
    }
    void mark(char c) {
        if (!at_mark(c)) refuse(std::string{"expected '"} + c + "', found " + found());
        advance();
    }
    void end() const {
        if (!at_end()) refuse("expected the end of the line, found " + found());
    }
    [[nodiscard]] struct number number() {
        if (next_.is != token::kind::number) refuse("expected a number, found " + found());
        const std::string_view chars = take().chars;
        const char *const begin = chars.data(), *const past = begin + chars.size();
        struct number read;
        const auto whole = std::from_chars(begin, past, read.integer);
        read.is_integer = whole.ec == std::errc{} && whole.ptr == past;
        if (read.is_integer) {
            read.real = static_cast<double>(read.integer);
            return read;
        }
        const auto real = std::from_chars(begin, past, read.real);
        if (real.ec != std::errc{} || real.ptr != past || !std::isfinite(read.real))
            refuse(quoted(chars) + " is not a number");
        return read;
    }
    /// Reads a list such as `(1, 2, 3)`, which may be empty and may end with a comma.
    template <class Each>
    void list(Each&& each) {
        mark('(');
        while (!at_mark(')')) {
            each();
            if (!at_mark(')')) mark(',');
        }
        advance();
    }
    [[nodiscard]] std::int64_t integer() {
        const struct number read = number();
        if (!read.is_integer) refuse("expected an integer of at most 64 bits");
        return read.integer;
    }
    [[nodiscard]] std::vector<std::int64_t> integers() {
        std::vector<std::int64_t> all;
        list([&] { all.push_back(integer()); });
        return all;
    }
    [[nodiscard]] allot::shape shape() { return allot::shape{std::span<const std::int64_t>{integers()}}; }
    /// Reads a name or a string.
    [[nodiscard]] std::string text(const char* what) { return at_text() ? std::string{take().chars} : word(what); }
    [[nodiscard]] allot::dtype dtype() {
        const std::string name = text("a dtype");
        const auto known = allot::dtype_named(name);
        if (!known) refuse("unknown dtype " + quoted(name));
        return *known;
    }

private:
    [[nodiscard]] std::string found() const {
        return next_.is == token::kind::end ? std::string{"the end of the line"} : quoted(next_.chars);
    }
    void advance() {
        while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\t' || rest_.front() == '\r'))
            rest_.remove_prefix(1);
        if (rest_.empty() || rest_.front() == '#') {
            next_ = {};
            return;
        }
        const char first = rest_.front();
        const auto length_while = [this](auto belongs) {
            const auto past = std::find_if_not(rest_.begin(), rest_.end(), belongs);
            return static_cast<std::size_t>(past - rest_.begin());
        };
        if (starts_word(first)) {
            give(token::kind::word, length_while([](char c) { return starts_word(c) || is_digit(c); }));
        } else if (is_digit(first) || first == '-' || first == '.') {
            give(token::kind::number, length_while([](char c) {
                     return starts_word(c) || is_digit(c) || c == '.' || c == '-' || c == '+';
                 }));
        } else if (first == '"') {
            rest_.remove_prefix(1);
            const std::size_t length = rest_.find('"');
            if (length == std::string_view::npos) refuse("the string is not terminated");
            give(token::kind::text, length);
            rest_.remove_prefix(1);
        } else if (std::string_view{"(),="}.find(first) != std::string_view::npos) {
            give(token::kind::mark, 1);
        } else {
            const bool is_shown = first > ' ' && first <= '~';
            refuse(is_shown ? std::string{"unexpected character '"} + first + "'"
                            : "unexpected character with code " + std::to_string(static_cast<unsigned char>(first)));
        }
    }
    void give(token::kind is, std::size_t length) {
        next_ = {is, rest_.substr(0, length)};
        rest_.remove_prefix(length);
    }

    std::string_view rest_;
    std::size_t line_;
    token next_;
};

/// The arguments of one call by parameter name: positional arguments first, then `name=value`, as in Python.
class argument_reader {
    using value = std::variant<std::monostate, std::string, std::int64_t, std::vector<std::int64_t>>;

public:
    argument_reader(line_reader& in, std::string call, std::initializer_list<std::string_view> parameters)
        : in_{in}, call_{std::move(call)}, names_{parameters}, values_(names_.size()) {
        std::size_t position = 0;
        bool by_name = false;
        in_.list([&] {
            value given = read();
            const auto* const word = std::get_if<std::string>(&given);
            if (word != nullptr && in_.at_mark('=')) {
                in_.take();
                by_name = true;
                const std::size_t which = index_of(*word);
                if (which == names_.size()) in_.refuse(call_ + " has no parameter " + quoted(*word));
                put(which, read());
                return;
            }
            if (by_name) in_.refuse("a positional argument follows a named argument");
            if (position == names_.size()) in_.refuse(call_ + " has too many arguments");
            put(position++, std::move(given));
        });
        in_.end();
    }

    [[nodiscard]] bool has(const char* name) const {
        return !std::holds_alternative<std::monostate>(values_[index_of(name)]);
    }
    [[nodiscard]] std::string text(const char* name) const { return get<std::string>(name, "a name"); }
    [[nodiscard]] std::string text(const char* name, const char* otherwise) const {
        return has(name) ? text(name) : otherwise;
    }
    [[nodiscard]] std::int64_t integer(const char* name) const { return get<std::int64_t>(name, "an integer"); }
    [[nodiscard]] std::int64_t integer(const char* name, std::int64_t otherwise) const {
        return has(name) ? integer(name) : otherwise;
    }
    [[nodiscard]] std::optional<std::int64_t> optional_integer(const char* name) const {
        return has(name) ? std::optional{integer(name)} : std::nullopt;
    }
    [[nodiscard]] std::vector<std::int64_t> list(const char* name) const {
        return get<std::vector<std::int64_t>>(name, "a list of integers");
    }
    [[nodiscard]] allot::shape shape(const char* name) const {
        return allot::shape{std::span<const std::int64_t>{list(name)}};
    }
    /// Returns a shape; an integer is a shape of one dimension.
    [[nodiscard]] allot::shape shape_or_size(const char* name) const {
        const auto* const size = std::get_if<std::int64_t>(&values_[index_of(name)]);
        return size != nullptr ? allot::shape{*size} : shape(name);
    }
    [[nodiscard]] allot::dtype dtype(const char* name) const {
        const std::string written = text(name);
        const auto known = allot::dtype_named(written);
        if (!known) in_.refuse("unknown dtype " + quoted(written));
        return *known;
    }

private:
    [[nodiscard]] value read() {
        if (in_.at_mark('(')) return in_.integers();
        if (in_.at_word() || in_.at_text()) return in_.text("a name");
        return in_.integer();
    }
    [[nodiscard]] std::size_t index_of(std::string_view name) const {
        return static_cast<std::size_t>(std::find(names_.begin(), names_.end(), name) - names_.begin());
    }
    void put(std::size_t which, value given) {
        if (!std::holds_alternative<std::monostate>(values_[which]))
            in_.refuse("the parameter " + quoted(names_[which]) + " is given twice");
        values_[which] = std::move(given);
    }
    template <class T>
    [[nodiscard]] T get(const char* name, const char* what) const {
        if (!has(name)) in_.refuse(call_ + " needs the parameter " + quoted(name));
        const auto* const held = std::get_if<T>(&values_[index_of(name)]);
        if (held == nullptr) in_.refuse("the parameter " + quoted(name) + " must be " + what);
        return *held;
    }

    line_reader& in_;
    std::string call_;
    std::vector<std::string_view> names_;
    std::vector<value> values_;
};

[[nodiscard]] inline elements read_elements(line_reader& in) {
    in.mark('=');
    elements read;
    if (in.at_word()) {
        const std::string how = in.word("a list");
        if (how != "polynomial") in.refuse("elements must be a list or a polynomial, not " + quoted(how));
        read.is_polynomial = true;
    }
    in.list([&] { read.numbers.push_back(in.number()); });
    return read;
}

[[nodiscard]] inline declare read_declaration(line_reader& in, bool is_output) {
    declare made;
    made.is_output = is_output;
    made.name = in.word("a name");
    made.shape = in.shape();
    made.type = in.dtype();
    made.values.is_polynomial = true;  // without coefficients: zeros
    if (!is_output) {
        // An input without elements counts from 0.
        made.values.numbers = {{0, 0, true}, {1, 1, true}};
        if (!in.at_end()) made.values = read_elements(in);
    }
    in.end();
    return made;
}

[[nodiscard]] inline statement read_call(line_reader& in, const std::string& target, const std::string& call) {
    statement made{in.line(), {}};
    const bool is_named = !target.empty();
    const auto want_target = [&](bool wanted) {
        if (wanted && !is_named) in.refuse("the result of " + call + " needs a name: name = " + call + "(…)");
        if (!wanted && is_named) in.refuse(call + " has no result to name");
    };
    if (call == "alloc_storage") {
        want_target(true);
        const argument_reader given{in, call, {"shape", "runtime_device_index", "dtype", "storage_scope", "align"}};
        made.what = alloc_storage{target,
                                  given.shape_or_size("shape"),
                                  given.has("dtype") ? given.dtype("dtype") : allot::uint8,
                                  given.text("storage_scope", "global"),
                                  given.integer("runtime_device_index", 0),
                                  given.integer("align", 64)};
    } else if (call == "alloc_tensor") {
        want_target(true);
        const argument_reader given{in, call, {"storage", "offset", "shape", "dtype"}};
        made.what = alloc_tensor{target, given.text("storage"), given.optional_integer("offset"), given.shape("shape"),
                                 given.dtype("dtype")};
    } else if (call == "alloc_discontiguous_tensor") {
        want_target(true);
        const argument_reader given{in,
                                    call,
                                    {"ptr_table_storage", "ptr_table_storage_offset", "data_storage",
                                     "data_storage_offsets", "shape", "dtype", "logical_shape", "axis_separators"}};
        if (given.has("logical_shape") != given.has("axis_separators"))
            in.refuse("logical_shape and axis_separators must be given together");
        alloc_discontiguous_tensor one{target,
                                       given.text("ptr_table_storage"),
                                       given.optional_integer("ptr_table_storage_offset"),
                                       given.text("data_storage"),
                                       {},
                                       given.shape("shape"),
                                       given.dtype("dtype"),
                                       {},
                                       {}};
        if (given.has("data_storage_offsets")) one.data_offsets = given.list("data_storage_offsets");
        if (given.has("logical_shape")) {
            one.logical_shape = given.shape("logical_shape");
            one.separators = given.shape("axis_separators");
        }
        made.what = std::move(one);
    } else if (call == "view") {
        want_target(true);
        const argument_reader given{in, call, {"tensor", "shape", "dtype"}};
        made.what = view{target, given.text("tensor"), given.shape("shape"), given.dtype("dtype")};
    } else if (call == "copy_tensor") {
        want_target(false);
        const argument_reader given{in, call, {"src", "dst"}};
        made.what = copy_tensor{given.text("src"), given.text("dst")};
    } else if (call == "kill_object") {
        want_target(false);
        const argument_reader given{in, call, {"object"}};
        made.what = kill_object{given.text("object")};
    } else {
        const auto* const known = std::find(std::begin(operation_names), std::end(operation_names), call);
        if (known == std::end(operation_names)) in.refuse("unknown call " + quoted(call));
        want_target(false);
        const argument_reader given{in, call, {"a", "b", "c"}};
        made.what =
            kernel{static_cast<operation>(known - operation_names), given.text("a"), given.text("b"), given.text("c")};
    }
    return made;
}

[[nodiscard]] inline statement read_statement(line_reader& in) {
    const std::string first = in.word("a name or a call");
    if (in.at_word()) {
        if (first == "input" || first == "output") return {in.line(), read_declaration(in, first == "output")};
        if (first != "expect" && first != "print") in.refuse("unknown statement " + quoted(first));
        std::string name = in.word("a name");
        if (first == "expect") {
            statement made{in.line(), expect{std::move(name), read_elements(in)}};
            in.end();
            return made;
        }
        in.end();
        return {in.line(), print{std::move(name)}};
    }
    if (!in.at_mark('=')) return read_call(in, {}, first);
    in.mark('=');
    const std::string call = in.word("a call");
    return read_call(in, first, call);
}

}  // namespace detail

[[nodiscard]] inline program read_program(std::string_view text) {
    if (text.size() > most_text)
        throw program_error{1, "a program has at most " + std::to_string(most_text) + " bytes"};
    program made;
    for (std::size_t line = 1; !text.empty(); ++line) {
        const std::size_t length = std::min(text.find('\n'), text.size());
        detail::line_reader in{text.substr(0, length), line};
        if (!in.at_end()) made.push_back(detail::read_statement(in));
        text.remove_prefix(std::min(length + 1, text.size()));
    }
    return made;
}

}  // namespace vm
