// A page cache, the bytes of its memory, and the true tokens of its sequences. After every call, the bytes that a
// kernel would read through the tables must be the ones of the true tokens.
#pragma once

#include <allot/page_cache/page_cache.hpp>

#include <doctest/doctest.h>

#include "../../error_of.hpp"

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

namespace tests {

using tokens = std::vector<std::uint32_t>;

/// Returns the contents of the full pages of a prompt. The hash is weak on purpose if `weak` is true.
inline std::vector<allot::page_content> contents_of(const tokens& of, std::uint32_t page_tokens, bool weak = false) {
    std::vector<allot::page_content> made;
    for (std::size_t at = 0; at + page_tokens <= of.size(); at += page_tokens) {
        std::uint64_t hash = 1;
        for (std::size_t i = at; i != at + page_tokens; ++i) hash = weak ? 1 : hash * 31 + of[i] + 1;
        made.push_back({.hash = {0, hash}});
        if (weak) made.back().tokens = std::span{of}.subspan(at, page_tokens);
    }
    return made;
}

/// The bytes of a memory, in which the cache copies pages.
struct byte_copier {
    std::vector<std::vector<unsigned char>>* bytes = nullptr;  // of each tier
    int* refused = nullptr;                                    // the number of copies to refuse
    bool operator()(allot::page_place from, allot::page_place to) const noexcept {
        if (*refused > 0 && (*refused)-- > 0) return false;
        REQUIRE_LE(from.offset + from.bytes, (*bytes)[from.tier].size());
        REQUIRE_LE(to.offset + to.bytes, (*bytes)[to.tier].size());
        std::memcpy((*bytes)[to.tier].data() + to.offset, (*bytes)[from.tier].data() + from.offset,
                    static_cast<std::size_t>(to.bytes));
        return true;
    }
};

template <class Cache>
class played {
public:
    struct member {
        typename Cache::sequence_type sequence;
        tokens all;
        std::size_t named = 0;  // pages
        std::uint32_t model = 0;
        allot::page_key salt;
    };

    explicit played(const allot::page_cache_limits& limits, bool weak = false)
        : limits_{limits},
          weak_{weak},
          records_(Cache::bytes_for(limits)),
          bytes_{std::vector<unsigned char>(static_cast<std::size_t>(limits.bytes))},
          cache{limits, records_, {&bytes_, &refused_copies}} {
        for (const std::uint64_t tier : limits.slower) bytes_.emplace_back(static_cast<std::size_t>(tier));
        REQUIRE(cache);
    }

    [[nodiscard]] std::uint32_t page_tokens(std::uint32_t model) const {
        for (const allot::page_group& group : limits_.groups)
            if (group.model == model) return group.page_tokens;
        return 0;
    }
    [[nodiscard]] std::vector<allot::page_content> contents(const tokens& of, std::uint32_t model) const {
        return contents_of(of, page_tokens(model), weak_);
    }

    /// Starts a sequence, whose cached prefix must have the tokens of the prompt.
    allot::page_refusal start(const tokens& prompt, allot::page_request request = {}) {
        const auto contents = this->contents(prompt, request.model);
        request.contents = contents;
        const allot::page_match found = cache.match(request);
        const auto begun = cache.start(request);
        if (!begun) return begun.error();
        // A page in a slower tier may not come back.
        if (limits_.slower.empty()) REQUIRE_EQ(begun->tokens, found.tokens);
        else REQUIRE_LE(begun->tokens, found.tokens);
        REQUIRE_LE(begun->tokens, prompt.size());
        members.push_back({begun->sequence, tokens(prompt.begin(), prompt.begin() + begun->tokens),
                           begun->tokens / page_tokens(request.model), request.model, request.salt});
        return allot::page_refusal::none;
    }
    /// Appends tokens and computes them: writes their bytes through the tables.
    allot::page_refusal append(std::size_t which, const tokens& more) {
        member& of = members[which];
        const auto added = cache.append(of.sequence, static_cast<std::uint32_t>(more.size()));
        if (!added) return added.error();
        for (const std::uint32_t token : more) {
            of.all.push_back(token);
            write(of, of.all.size() - 1);
        }
        return allot::page_refusal::none;
    }
    /// Names up to `pages` more pages.
    allot::page_refusal name(std::size_t which, std::size_t pages) {
        member& of = members[which];
        const auto contents = this->contents(of.all, of.model);
        pages = std::min(pages, contents.size() - of.named);
        const auto named = cache.name(of.sequence, std::span{contents}.subspan(of.named, pages));
        if (!named) return named.error();
        of.named += pages;
        return allot::page_refusal::none;
    }
    allot::page_refusal fork(std::size_t which) {
        const auto made = cache.fork(members[which].sequence);
        if (!made) return made.error();
        member copy = members[which];
        copy.sequence = *made;
        members.push_back(copy);
        return allot::page_refusal::none;
    }
    allot::page_refusal truncate(std::size_t which, std::size_t length) {
        member& of = members[which];
        const allot::page_refusal refused = cache.truncate(of.sequence, static_cast<std::uint32_t>(length));
        if (refused != allot::page_refusal::none) return refused;
        of.all.resize(length);
        of.named = std::min(of.named, length / page_tokens(of.model));
        return refused;
    }
    allot::page_refusal release(std::size_t which) {
        const auto sequence = members[which].sequence;
        members.erase(members.begin() + static_cast<std::ptrdiff_t>(which));
        return cache.release(sequence);
    }

    /// Checks the invariants, and what kernels would read.
    void check() {
        REQUIRE_EQ(cache.check(), allot::page_cache_fault::none);
        for (const member& of : members) {
            REQUIRE_EQ(cache.tokens(of.sequence), of.all.size());
            for (std::uint32_t g = 0; g != limits_.groups.size(); ++g) {
                const allot::page_group& group = limits_.groups[g];
                if (group.model != of.model) continue;
                const auto table = cache.pages(of.sequence, g);
                REQUIRE_EQ(table.size(), (of.all.size() + group.page_tokens - 1) / group.page_tokens);
                const std::size_t seen = of.all.size() + 1;
                const std::size_t first = group.window == 0 || seen <= group.window ? 0 : seen - group.window;
                for (std::size_t at = first; at < of.all.size(); ++at) check_token(of, g, table, at);
            }
        }
    }

    std::vector<member> members;
    int refused_copies = 0;

private:
    [[nodiscard]] static unsigned char byte_of(const member& of, std::size_t at, std::uint32_t group) {
        std::uint64_t sum = of.salt.low + group * 7;
        for (std::size_t i = 0; i <= at; ++i) sum = sum * 131 + of.all[i] + 1;  // a key depends on all tokens before
        return static_cast<unsigned char>(sum >> 7);
    }
    [[nodiscard]] std::size_t place(std::uint32_t g, std::uint32_t page, std::size_t at) const {
        const allot::page_group& group = limits_.groups[g];
        const std::size_t each = group.page_bytes / group.page_tokens;
        REQUIRE_NE(page, allot::no_page);
        const std::size_t byte = page * group.page_bytes + at % group.page_tokens * each;
        REQUIRE_LE(byte + each, bytes_[0].size());
        return byte;
    }
    void write(const member& of, std::size_t at) {
        for (std::uint32_t g = 0; g != limits_.groups.size(); ++g) {
            const allot::page_group& group = limits_.groups[g];
            if (group.model != of.model) continue;
            const std::size_t each = group.page_bytes / group.page_tokens;
            std::memset(&bytes_[0][place(g, cache.pages(of.sequence, g)[at / group.page_tokens], at)],
                        byte_of(of, at, g), each);
        }
    }
    void check_token(const member& of, std::uint32_t g, std::span<const std::uint32_t> table, std::size_t at) const {
        const allot::page_group& group = limits_.groups[g];
        const std::size_t byte = place(g, table[at / group.page_tokens], at);
        for (std::size_t i = 0; i != group.page_bytes / group.page_tokens; ++i)
            REQUIRE_EQ(int{bytes_[0][byte + i]}, int{byte_of(of, at, g)});
    }

    allot::page_cache_limits limits_;
    bool weak_;
    std::vector<std::byte> records_;
    std::vector<std::vector<unsigned char>> bytes_;  // of each tier

public:
    Cache cache;
};

/// Calls on a `played` cache until `is_done()`. `below(n)` selects a number below n.
template <class Cache, class Below, class Done>
void play_calls(played<Cache>& with, std::uint32_t models, Below below, Done is_done) {
    const auto prompt = [&] {
        tokens made(below(24));
        for (std::uint32_t& token : made) token = below(8) == 0 ? 1 : 0;
        return made;
    };
    while (!is_done()) {
        const std::size_t which = with.members.empty() ? 0 : below(with.members.size());
        const auto& members = with.members;
        with.refused_copies = below(16) == 0 ? 1 : 0;
        switch (members.empty() ? 0 : below(9)) {
            case 0:
                static_cast<void>(with.start(prompt(), {.model = static_cast<std::uint32_t>(below(models)),
                                                        .priority = static_cast<std::uint32_t>(below(4)),
                                                        .salt = {0, below(6) == 0}}));
                break;
            case 1:
            case 2: static_cast<void>(with.append(which, prompt())); break;
            case 3: static_cast<void>(with.append(which, {0})); break;
            case 4: REQUIRE_EQ(with.name(which, 1 + below(5)), allot::page_refusal::none); break;
            case 5: static_cast<void>(with.fork(which)); break;
            case 6: static_cast<void>(with.truncate(which, below(members[which].all.size() + 1))); break;
            case 7:
                static_cast<void>(below(2) == 0 ? with.cache.pin(members[which].sequence)
                                                : with.cache.unpin(members[which].sequence));
                break;
            default:
                static_cast<void>(with.name(which, 99));
                REQUIRE_EQ(with.release(which), allot::page_refusal::none);
        }
        with.check();
    }
    while (!with.members.empty()) REQUIRE_EQ(with.release(0), allot::page_refusal::none);
    with.check();
}
/// Random calls on a `played` cache.
template <class Cache>
void play(played<Cache>& with, unsigned seed, int calls, std::uint32_t models) {
    std::mt19937 random{seed};
    play_calls(
        with, models, [&](std::size_t n) { return static_cast<std::size_t>(random() % n); },
        [&] { return calls-- == 0; });
}

}  // namespace tests
