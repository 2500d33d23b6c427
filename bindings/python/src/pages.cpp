// SPDX-License-Identifier: BSL-1.0
// Pages that sequences of tokens share by their prefixes. Sequences keep their tokens, from which the names of pages follow.
#include "module.hpp"

#include <allot/page_cache.hpp>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <tuple>

namespace allot_python {

namespace {

using tokens = std::vector<std::uint32_t>;
using page_copy = std::pair<std::uint32_t, std::uint32_t>;

/// A call of a page cache failed: `allot.PageCacheError`.
struct page_failure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Notes the copy that the program makes after the call.
struct noted_copy {
    std::optional<page_copy>* last;
    bool operator()(allot::page_place from, allot::page_place to) noexcept {
        *last = page_copy{from.page, to.page};
        return true;
    }
};

/// A cache of pages with equal sizes, and its records.
class pages : public std::enable_shared_from_this<pages> {
public:
    using cache_type = allot::page_cache<allot::page_stack, allot::lru_eviction, noted_copy>;
    using sequence_type = cache_type::sequence_type;

    pages(std::uint32_t count, std::uint32_t page_tokens, std::uint32_t sequences, std::uint32_t sequence_pages)
        : group_{.page_tokens = page_tokens},
          limits_{.bytes = count,
                  .groups = {&group_, 1},
                  .sequences = sequences,
                  .sequence_pages = sequence_pages,
                  .compare_tokens = true},
          records_(cache_type::bytes_for(limits_) / sizeof(record) + 1),
          cache_{limits_, bytes(), {&copy_}} {
        if (!cache_) throw std::invalid_argument{to_string(allot::page_refusal::bad_limits)};
    }

    [[nodiscard]] cache_type& cache() { return cache_; }
    [[nodiscard]] std::uint32_t page_tokens() const { return group_.page_tokens; }
    [[nodiscard]] std::uint64_t count() const { return limits_.bytes; }
    /// Returns the copy that the last call asked for.
    [[nodiscard]] std::optional<page_copy> take_copy() { return std::exchange(copy_, std::nullopt); }
    /// Returns the contents of the full pages of tokens.
    [[nodiscard]] std::vector<allot::page_content> contents(std::span<const std::uint32_t> of) const {
        std::vector<allot::page_content> made;
        for (; of.size() >= page_tokens(); of = of.subspan(page_tokens()))
            made.push_back({.tokens = of.first(page_tokens())});
        return made;
    }

private:
    struct alignas(16) record {
        std::byte bytes[16];
    };
    [[nodiscard]] std::span<std::byte> bytes() { return std::as_writable_bytes(std::span{records_}); }

    allot::page_group group_;
    allot::page_cache_limits limits_;
    std::vector<record> records_;
    std::optional<page_copy> copy_{};
    cache_type cache_;
};

/// Returns the value of a result. Throws its error.
template <class Value>
Value value_of(const allot::result<Value, allot::page_refusal>& made) {
    if (!made) throw page_failure{to_string(made.error())};
    return *made;
}
void expect(allot::page_refusal reason) {
    if (reason != allot::page_refusal::none) throw page_failure{to_string(reason)};
}

allot::page_key salt_of(std::uint64_t salt) { return {salt, salt}; }

/// A sequence and its tokens. The destructor releases it.
class sequence {
public:
    sequence(std::shared_ptr<pages> in, pages::sequence_type held, tokens of, std::uint32_t cached)
        : in_{std::move(in)},
          held_{held},
          tokens_{std::move(of)},
          cached_{cached},
          named_{cached / in_->page_tokens()} {}
    sequence(const sequence&) = delete;
    sequence& operator=(const sequence&) = delete;
    ~sequence() { release(); }

    std::optional<page_copy> append(const tokens& more) {
        check();
        tokens grown = tokens_;
        grown.insert(grown.end(), more.begin(), more.end());
        if (more.size() > std::numeric_limits<std::uint32_t>::max()) throw page_failure{"there are too many tokens"};
        value_of(in_->cache().append(held_, static_cast<std::uint32_t>(more.size())));
        tokens_.swap(grown);
        return in_->take_copy();
    }
    std::uint32_t commit() {
        check();
        const std::uint32_t each = in_->page_tokens();
        const auto named = in_->contents(std::span{tokens_}.subspan(std::size_t{named_} * each));
        const std::uint32_t replaced = value_of(in_->cache().name(held_, named));
        named_ += static_cast<std::uint32_t>(named.size());
        return replaced;
    }
    std::unique_ptr<sequence> fork() {
        check();
        tokens copy = tokens_;
        auto made = std::make_unique<sequence>(in_, pages::sequence_type{}, std::move(copy), 0);
        made->held_ = value_of(in_->cache().fork(held_));
        made->cached_ = cached_;
        made->named_ = named_;
        return made;
    }
    void truncate(std::uint32_t count) {
        check();
        expect(in_->cache().truncate(held_, count));
        tokens_.resize(count);
        named_ = std::min(named_, count / in_->page_tokens());
    }
    void pin() {
        check();
        expect(in_->cache().pin(held_));
    }
    void unpin() {
        check();
        expect(in_->cache().unpin(held_));
    }
    void release() {
        in_->cache().release(held_);
        held_ = {};
        tokens_.clear();
        named_ = 0;
    }

    [[nodiscard]] std::vector<std::uint32_t> table() const {
        const auto all = in_->cache().pages(held_);
        return {all.begin(), all.end()};
    }
    [[nodiscard]] const tokens& all_tokens() const { return tokens_; }
    [[nodiscard]] std::uint32_t cached() const { return cached_; }

private:
    void check() const {
        if (held_ == pages::sequence_type{}) throw page_failure{"the sequence was released"};
    }

    std::shared_ptr<pages> in_;
    pages::sequence_type held_;
    tokens tokens_;
    std::uint32_t cached_, named_;
};

std::unique_ptr<sequence> start(const std::shared_ptr<pages>& in, const tokens& prompt, std::uint64_t salt) {
    const auto contents = in->contents(prompt);
    const auto begun = value_of(in->cache().start({.contents = contents, .salt = salt_of(salt)}));
    try {
        return std::make_unique<sequence>(in, begun.sequence, tokens(prompt.begin(), prompt.begin() + begun.tokens),
                                          begun.tokens);
    } catch (...) {
        in->cache().release(begun.sequence);
        throw;
    }
}

void bind_sequence(nb::module_& m) {
    nb::class_<sequence>(m, "PageSequence", R"(A sequence of tokens, and the pages that hold their keys and values.

PageCache.start and PageSequence.fork return it. It is released at the end of a with block, or with the object.)")
        .def("append", &sequence::append, nb::arg("tokens"),
             R"(Adds tokens, and pages for them if necessary.

Returns a pair (source, destination) if the program must copy a page first, because a fork uses the last page too.)")
        .def("commit", &sequence::commit,
             R"(Gives full pages the names of their tokens, so that other sequences find them.

Call it when the pages have their contents. Returns the number of entries of `pages` that changed, because cached pages have
the same tokens already.)")
        .def("fork", &sequence::fork, "Returns a sequence with the same tokens and pages.")
        .def("truncate", &sequence::truncate, nb::arg("count"), "Keeps the first tokens.")
        .def("pin", &sequence::pin, "Excludes the committed pages from eviction until as many calls of unpin.")
        .def("unpin", &sequence::unpin, "Removes a pin of the committed pages.")
        .def("release", &sequence::release, "Ends the sequence. Its committed pages stay cached.")
        .def(
            "__enter__", [](nb::object self) { return self; }, nb::sig("def __enter__(self) -> PageSequence"))
        .def(
            "__exit__", [](sequence& self, nb::args) { self.release(); },
            nb::sig("def __exit__(self, *args: object) -> None"))
        .def("__len__", [](const sequence& self) { return self.all_tokens().size(); })
        .def_prop_ro("pages", &sequence::table, "The index of the page of each group of tokens: the page table.")
        .def_prop_ro("tokens", &sequence::all_tokens, nb::rv_policy::copy, "The tokens.")
        .def_prop_ro("cached", &sequence::cached, "The number of tokens whose pages were cached at the start.");
}

}  // namespace

void bind_pages(nb::module_& m) {
    nb::exception<page_failure>(m, "PageCacheError", PyExc_RuntimeError).doc() =
        "A call of a page cache failed. The text is the reason.";
    bind_sequence(m);
    nb::class_<pages>(m, "PageCache", R"(Counts the pages of a key/value cache, which sequences share by their prefixes.

The cache never accesses the memory of the pages. A page is an index, and its offset is the index times the page size. Pages
stay cached after their last use, and the least recently used one is evicted when a page is needed.

>>> from allot import PageCache
>>> cache = PageCache(100, page_tokens=4)
>>> prompt = [1, 2, 3, 4, 5, 6, 7, 8, 9]
>>> with cache.start(prompt) as first:
...     first.append(prompt[first.cached:])
...     first.commit()
0
>>> second = cache.start(prompt)
>>> second.cached, second.pages, cache.counts
(8, [0, 1], (98, 0, 2))
)")
        .def(nb::init<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>(), nb::arg("pages"), nb::kw_only(),
             nb::arg("page_tokens") = 16, nb::arg("sequences") = 256, nb::arg("sequence_pages") = 1024,
             "Makes a cache with a number of pages, and limits on the sequences and on the pages of one of them.")
        .def(
            "match",
            [](pages& self, const tokens& prompt, std::uint64_t salt) {
                return self.cache().match({.contents = self.contents(prompt), .salt = salt_of(salt)}).tokens;
            },
            nb::arg("tokens"), nb::arg("salt") = 0, "Returns the number of first tokens whose pages are cached.")
        .def("start", &start, nb::arg("tokens"), nb::arg("salt") = 0,
             R"(Starts a sequence with the longest cached prefix of the tokens.

Append the other tokens: `sequence.append(tokens[sequence.cached:])`. Sequences share pages only with those of equal salt.)")
        .def(
            "clear", [](pages& self) { self.cache().clear(); }, "Evicts all pages that no sequence uses.")
        .def(
            "check",
            [](pages& self) -> std::optional<std::string> {
                const auto fault = self.cache().check();
                if (fault == allot::page_cache_fault::none) return std::nullopt;
                return to_string(fault);
            },
            "Checks all invariants. Returns the first violation as a sentence, or None.")
        .def_prop_ro("pages", &pages::count, "The number of pages.")
        .def_prop_ro("page_tokens", &pages::page_tokens, "The number of tokens in a page.")
        .def_prop_ro(
            "counts",
            [](pages& self) {
                const auto now = self.cache().counts();
                return std::tuple{now.free, now.cached, now.used};
            },
            "The numbers of free, cached and used pages.")
        .def_prop_ro(
            "evictions", [](pages& self) { return self.cache().evictions(); },
            "The number of pages that were evicted.");
}

}  // namespace allot_python
