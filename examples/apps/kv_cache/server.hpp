// SPDX-License-Identifier: BSL-1.0
// Continuous batching: every step computes one token of each running sequence. Sequences start when there are pages for
// them, share the pages of common prefixes, and fork into several continuations. If the memory is full, pages that no
// sequence uses go to a slower tier, and then the newest sequence waits.
#pragma once

#include "engines.hpp"

#include <algorithm>
#include <deque>
#include <stdexcept>
#include <vector>

/// A prompt, and the number of tokens and continuations to generate.
struct request {
    std::vector<uint> prompt;
    std::size_t tokens = 24;
    bool two_continuations = false;
};

/// A sequence: all its tokens, and the vector of the model after each token that was computed while it ran.
struct answer {
    std::vector<uint> tokens;
    std::size_t length = 0;                   // tokens when it is complete
    bool forks = false;                       // when its prompt is computed
    std::vector<std::vector<float>> vectors;  // of each token; empty for tokens whose pages were cached
};

/// A hash of the tokens of one page.
inline allot::page_content content_of(std::span<const uint> tokens) {
    std::uint64_t high = 0xCBF2'9CE4'8422'2325U, low = 0x8422'2325'CBF2'9CE4U;
    for (const uint token : tokens) {
        high = (high ^ token) * 0x0000'0100'0000'01B3U;
        low = (low + token) * 0x9E37'79B9'7F4A'7C15U ^ low >> 29U;
    }
    return {.hash = {high, low}, .tokens = tokens};
}

/// The rows of the embedding with the largest and the second largest product with a vector.
inline std::pair<uint, uint> next_tokens(std::span<const float> vector, const std::vector<float>& weights) {
    std::pair<uint, uint> best{0, 0};
    float most[2] = {-1e30F, -1e30F};
    for (uint token = 0; token != vocabulary; ++token) {
        float sum = 0;
        for (uint i = 0; i != dim; ++i) sum += weights[token * dim + i] * vector[i];
        if (sum > most[0]) {
            best = {token, best.first};
            most[1] = std::exchange(most[0], sum);
        } else if (sum > most[1]) {
            best.second = token;
            most[1] = sum;
        }
    }
    return best;
}

/// What is in the memory after a step, in pages.
struct usage {
    std::uint64_t free = 0, cached = 0, used = 0, named = 0;  // `named`: entries of the tables
};

template <class Engine>
class server {
public:
    static constexpr std::size_t most_running = 14, room_for_forks = 4;

    server(std::size_t pages, std::size_t slower_pages)
        : engine_{pages},
          slower_(slower_pages * page_floats),
          page_copies_{engine_.page_copies(slower_.data())},
          sizes_{slower_pages * page_bytes},
          records_(cache_type::bytes_for(limits(pages))),
          cache_{limits(pages), records_, copier{this}} {
        if (!cache_) throw std::runtime_error{"the cache has no pages"};
    }

    /// Answers all requests.
    void run(const std::vector<request>& requests) {
        for (const request& each : requests)
            waiting_.push_back({each.prompt, each.prompt.size() + each.tokens, each.two_continuations, {}});
        while (!waiting_.empty() || !running_.empty()) {
            admit();
            step();
            note();
        }
    }

    std::vector<answer> answers;
    std::vector<usage> history;
    std::size_t cached_tokens = 0, computed_tokens = 0, copies = 0, to_slower = 0, from_slower = 0, preempted = 0;

private:
    struct copier {
        server* of = nullptr;
        bool operator()(allot::page_place from, allot::page_place to) const noexcept {
            ++(to.tier != 0 ? of->to_slower : from.tier != 0 ? of->from_slower : of->copies);
            return of->page_copies_(from, to);
        }
    };
    using cache_type = allot::page_cache<allot::page_pool<1024>, allot::reuse_eviction, copier, 1>;
    struct sequence {
        answer state;
        typename cache_type::sequence_type pages;
        std::size_t computed = 0;
    };

    [[nodiscard]] allot::page_cache_limits limits(std::size_t pages) const {
        static constexpr allot::page_group group[] = {{.page_bytes = page_bytes, .page_tokens = page_tokens}};
        return {.bytes = pages * page_bytes,
                .groups = group,
                .slower = sizes_,
                .sequences = most_running,
                .sequence_pages = table_entries,
                .compare_tokens = true};
    }
    /// Starts waiting sequences. The last token is always computed, because its vector selects the next one.
    void admit() {
        while (!waiting_.empty() && running_.size() + room_for_forks < most_running) {
            sequence made;
            made.state = waiting_.front();
            std::vector<allot::page_content> contents;
            for (std::size_t at = page_tokens; at < made.state.tokens.size(); at += page_tokens)
                contents.push_back(content_of(std::span{made.state.tokens}.subspan(at - page_tokens, page_tokens)));
            const auto begun = cache_.start({.contents = contents});
            if (!begun) return;
            made.pages = begun->sequence;
            made.computed = begun->tokens;
            made.state.vectors.resize(made.computed);
            cached_tokens += made.computed;
            waiting_.pop_front();
            running_.push_back(std::move(made));
        }
    }
    /// Computes the next token of each running sequence that has a page for it.
    void step() {
        batch of;
        std::size_t count = 0;
        for (; count != running_.size(); ++count) {
            while (!cache_.append(running_[count].pages, 1)) {
                if (running_.size() == 1) throw std::runtime_error{"the memory is too small for one sequence"};
                preempt();
                if (count == running_.size()) break;
            }
            if (count == running_.size()) break;
            const sequence& each = running_[count];
            of.tokens.push_back(each.state.tokens[each.computed]);
            of.positions.push_back(static_cast<uint>(each.computed));
            const auto table = cache_.pages(each.pages);
            of.tables.insert(of.tables.end(), table.begin(), table.end());
            of.tables.resize((count + 1) * table_entries);
        }
        engine_.compute(of);
        computed_tokens += count;
        for (std::size_t i = count; i-- != 0;) advance(i, std::span{of.out}.subspan(i * dim, dim));
    }
    /// Ends the newest sequence. It waits, and computes its tokens again later as far as they are not cached then.
    void preempt() {
        cache_.release(running_.back().pages);
        waiting_.push_front(std::move(running_.back().state));
        running_.pop_back();
        ++preempted;
    }
    /// Stores the vector of a token, names a full page, and selects the next token.
    void advance(std::size_t which, std::span<const float> vector) {
        sequence& of = running_[which];
        of.state.vectors.resize(of.computed);
        of.state.vectors.emplace_back(vector.begin(), vector.end());
        ++of.computed;
        if (of.computed % page_tokens == 0) {
            const auto content = content_of(std::span{of.state.tokens}.subspan(of.computed - page_tokens, page_tokens));
            if (!cache_.name(of.pages, {&content, 1})) throw std::runtime_error{"a page has no name"};
        }
        if (of.computed != of.state.tokens.size()) return;
        if (of.computed == of.state.length) {
            answers.push_back(std::move(of.state));
            cache_.release(of.pages);
            running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(which));
            return;
        }
        const auto [first, second] = next_tokens(vector, weights_);
        if (of.state.forks && running_.size() < most_running) {
            sequence other{.state = of.state, .pages = *cache_.fork(of.pages), .computed = of.computed};
            of.state.forks = other.state.forks = false;
            other.state.tokens.push_back(second);
            of.state.tokens.push_back(first);
            running_.push_back(std::move(other));
            return;
        }
        of.state.tokens.push_back(first);
    }
    void note() {
        const auto counts = cache_.counts();
        usage now{counts.free, counts.cached, counts.used, 0};
        for (const sequence& each : running_) now.named += cache_.pages(each.pages).size();
        history.push_back(now);
        if (cache_.check() != allot::page_cache_fault::none) throw std::runtime_error{"the cache is damaged"};
    }

    Engine engine_;
    std::vector<float> slower_;
    typename Engine::copies page_copies_;
    std::uint64_t sizes_[1];
    std::vector<std::byte> records_;
    cache_type cache_;
    std::vector<float> weights_ = make_weights();
    std::deque<answer> waiting_;
    std::vector<sequence> running_;
};

/// Returns whether contiguous memory, which no other sequence shares, gives the same bits for all computed tokens.
template <class Engine>
bool is_equal_to_contiguous(Engine& engine, const answer& of) {
    batch one;
    one.tables.resize(table_entries);
    for (uint page = 0; page != table_entries; ++page) one.tables[page] = page;
    for (std::size_t at = 0; at != of.tokens.size(); ++at) {
        one.tokens = {of.tokens[at]};
        one.positions = {static_cast<uint>(at)};
        engine.compute(one);
        if (!of.vectors[at].empty() && std::memcmp(one.out.data(), of.vectors[at].data(), dim * sizeof(float)) != 0)
            return false;
    }
    return true;
}
