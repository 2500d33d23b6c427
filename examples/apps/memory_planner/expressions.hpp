// SPDX-License-Identifier: BSL-1.0
// expressions: sizes such as "4*batch*length + 64*(2*batch + 1)": reads them, and writes offsets that follow from them.
//
//     text ──► symbolic_size: a sum of products of numbers, symbols and (number*symbol + number)
//     symbolic_size ──► text_of: the same sum of products
//                   └─► polynomial: coefficients of products of symbols ──► text
#pragma once

#include "input.hpp"

#include <algorithm>
#include <cctype>
#include <map>

namespace planner {

/// Returns whether a text can be the name of a symbol.
[[nodiscard]] inline bool is_symbol(std::string_view text) {
    const auto is_letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; };
    return !text.empty() && is_letter(text[0]) && std::all_of(text.begin(), text.end(), [&](char c) {
        return is_letter(c) || std::isdigit(static_cast<unsigned char>(c)) != 0;
    });
}

/// Reads a size. Messages name the size and the position in `where`.
class expression_reader {
public:
    expression_reader(const place& where, const std::vector<symbol_range>& symbols, std::string_view text)
        : where_{where}, symbols_{symbols}, text_{text}, rest_{text} {}

    [[nodiscard]] allot::symbolic_size read() {
        allot::symbolic_size sum = product();
        while (takes('+')) sum = sum + product();
        if (!peek().empty()) refuse("\"" + std::string{peek()} + "\" is not expected");
        if (!sum.is_valid()) refuse("more than eight factors are not supported");
        return sum;
    }

private:
    [[noreturn]] void refuse(const std::string& reason) const {
        where_.refuse("size, \"" + std::string{text_} + "\": " + reason);
    }
    /// Returns the rest without spaces before it.
    std::string_view peek() {
        while (!rest_.empty() && rest_[0] == ' ') rest_.remove_prefix(1);
        return rest_;
    }
    bool takes(char wanted) {
        if (!peek().starts_with(wanted)) return false;
        rest_.remove_prefix(1);
        return true;
    }
    [[nodiscard]] std::string_view word() {
        std::size_t end = 0;
        peek();
        while (end != rest_.size() && (std::isalnum(static_cast<unsigned char>(rest_[end])) != 0 || rest_[end] == '_'))
            ++end;
        const std::string_view found = rest_.substr(0, end);
        if (found.empty()) refuse("a number or a symbol is missing");
        rest_.remove_prefix(end);
        return found;
    }
    [[nodiscard]] std::uint64_t multiplied(std::uint64_t a, std::uint64_t b) const {
        std::uint64_t product = 0;
        if (!allot::checked_multiply(a, b, product)) refuse("a number exceeds 64 bits");
        return product;
    }

    /// Reads factors. Numbers become one factor, and one with a symbol.
    [[nodiscard]] allot::symbolic_size product() {
        std::uint64_t number = 1;
        std::vector<allot::symbolic_extent> extents;
        do {
            const allot::symbolic_extent each = takes('(') ? sum_in_brackets() : factor();
            if (each.factor == 0) number = multiplied(number, each.constant);
            else extents.push_back(each);
        } while (takes('*'));
        if (extents.empty()) return {number};
        extents[0].factor = multiplied(extents[0].factor, number);
        extents[0].constant = multiplied(extents[0].constant, number);
        return allot::symbolic_size::product_of(extents);
    }
    [[nodiscard]] allot::symbolic_extent factor() {
        const std::string_view text = word();
        if (std::isdigit(static_cast<unsigned char>(text[0])) != 0)
            return number_of<std::uint64_t>(where_, "size, \"" + std::string{text_} + "\"", text);
        for (std::size_t i = 0; i != symbols_.size(); ++i)
            if (symbols_[i].name == text) return allot::plan_symbol{i};
        refuse("the symbol \"" + std::string{text} + "\" has no range");
    }
    /// Reads numbers and multiples of one symbol, behind the opening bracket.
    [[nodiscard]] allot::symbolic_extent sum_in_brackets() {
        allot::symbolic_extent sum;
        do {
            allot::symbolic_extent term = factor();
            while (takes('*')) {
                const allot::symbolic_extent by = factor();
                if (term.factor != 0 && by.factor != 0) refuse("brackets with products of symbols are not supported");
                term = {term.factor != 0 || by.factor != 0
                            ? scaled(term.factor != 0 ? term : by, term.factor != 0 ? by.constant : term.constant)
                            : allot::symbolic_extent{multiplied(term.constant, by.constant)}};
            }
            if (term.factor != 0 && sum.factor != 0) refuse("brackets with two symbols are not supported");
            if (term.factor != 0) {
                sum.factor = term.factor;
                sum.symbol = term.symbol;
            } else if (!allot::checked_add(sum.constant, term.constant, sum.constant)) {
                refuse("a number exceeds 64 bits");
            }
        } while (takes('+'));
        if (!takes(')')) refuse("a closing bracket is missing");
        return sum;
    }
    [[nodiscard]] allot::symbolic_extent scaled(allot::symbolic_extent of, std::uint64_t by) const {
        of.factor = multiplied(of.factor, by);
        return of;
    }

    const place& where_;
    const std::vector<symbol_range>& symbols_;
    std::string_view text_, rest_;
};

/// Returns a size as `expression_reader` reads it. It has as many factors as the size.
[[nodiscard]] inline std::string text_of(const allot::symbolic_size& size, const std::vector<symbol_range>& symbols) {
    std::string made;
    for (std::size_t i = 0; i != size.extents().size(); ++i) {
        const allot::symbolic_extent& each = size.extents()[i];
        if (i != 0) made += size.begins_product(i) ? " + " : "*";
        if (each.factor == 0) {
            made += std::to_string(each.constant);
            continue;
        }
        const std::string multiple =
            (each.factor == 1 ? "" : std::to_string(each.factor) + '*') + symbols[each.symbol].name;
        made += each.constant == 0 ? multiple : '(' + multiple + " + " + std::to_string(each.constant) + ')';
    }
    return made;
}

/// A sum of products of symbols. All coefficients are positive.
class polynomial {
public:
    polynomial() = default;
    explicit polynomial(const allot::symbolic_size& of) {
        polynomial product;
        for (std::size_t i = 0; i != of.extents().size(); ++i) {
            if (i == 0 || of.begins_product(i)) {
                *this += product;
                product = {};
                product.terms_[{}] = 1;
            }
            product = product.times(of.extents()[i]);
        }
        *this += product;
    }
    polynomial& operator+=(const polynomial& other) {
        for (const auto& [symbols, coefficient] : other.terms_) terms_[symbols] += coefficient;
        return *this;
    }
    /// Returns whether no coefficient of the other one is larger.
    [[nodiscard]] bool covers(const polynomial& other) const {
        return std::all_of(other.terms_.begin(), other.terms_.end(), [&](const auto& term) {
            const auto found = terms_.find(term.first);
            return found != terms_.end() && found->second >= term.second;
        });
    }
    /// Returns whether all values are multiples.
    [[nodiscard]] bool is_multiple_of(std::uint64_t align) const {
        return std::all_of(terms_.begin(), terms_.end(), [&](const auto& term) { return term.second % align == 0; });
    }
    [[nodiscard]] std::string text(const std::vector<symbol_range>& symbols) const {
        std::string made;
        for (const auto& [product, coefficient] : terms_) {
            made += made.empty() ? "" : " + ";
            if (coefficient != 1 || product.empty()) made += std::to_string(coefficient);
            for (const std::size_t each : product)
                made += (made.empty() || made.ends_with(' ') ? "" : "*") + symbols[each].name;
        }
        return made.empty() ? "0" : made;
    }

private:
    [[nodiscard]] polynomial times(const allot::symbolic_extent& by) const {
        polynomial made;
        for (const auto& [product, coefficient] : terms_) {
            if (by.constant != 0) made.terms_[product] += coefficient * by.constant;
            if (by.factor == 0) continue;
            std::vector<std::size_t> more = product;
            more.insert(std::upper_bound(more.begin(), more.end(), by.symbol), by.symbol);
            made.terms_[more] += coefficient * by.factor;
        }
        return made;
    }

    std::map<std::vector<std::size_t>, std::uint64_t> terms_;  // coefficients of products of symbols
};

}  // namespace planner
