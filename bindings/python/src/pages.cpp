// SPDX-License-Identifier: BSL-1.0
// Pages that sequences of tokens share by their prefixes. Sequences keep their tokens, from which the names of pages
// follow.
#include "module.hpp"

#include <allot/page_cache.hpp>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <bit>
#include <memory>
#include <optional>
#include <tuple>

namespace allot_python {

namespace {

using tokens = std::vector<std::uint32_t>;

/// An argument of tokens.
struct given_tokens {
    tokens all;
};

}  // namespace

}  // namespace allot_python

/// Reads a list of integers without a call of Python, which could change the list. Otherwise the conversion operator,
/// which may throw, converts the tokens and names the first wrong one.
template <>
struct nanobind::detail::type_caster<allot_python::given_tokens> {
    using list = make_caster<allot_python::tokens>;
    static constexpr auto Name = list::Name;
    template <class>
    using Cast = allot_python::given_tokens;
    template <class>
    static constexpr bool can_cast() noexcept {
        return true;
    }

    bool from_python(handle from, std::uint32_t flags, cleanup_list* cleanup) noexcept {
        given = from;
        is_read = read.from_python(from, flags & ~std::uint32_t{cast_flags::convert}, cleanup);
        return true;
    }
    explicit operator allot_python::given_tokens() {
        if (is_read) return {std::move(read.value)};
        allot_python::given_tokens made;
        for (const handle each : given) made.all.push_back(allot_python::natural_of<std::uint32_t>(each));
        return made;
    }

    handle given{};
    list read{};
    bool is_read = false;
};

namespace allot_python {

namespace {

using number = natural<std::uint32_t>;
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

/// The number of a sequence in its cache.
using handle = std::uint64_t;
constexpr handle no_handle = std::bit_cast<handle>(std::array<std::uint32_t, 2>{allot::no_page, 0});

/// The calls of a cache, with any policy of eviction.
struct page_calls {
    page_calls() = default;
    page_calls(const page_calls&) = delete;
    page_calls& operator=(const page_calls&) = delete;
    virtual ~page_calls() = default;

    [[nodiscard]] virtual allot::page_match match(const allot::page_request& request) = 0;
    /// Returns the sequence and the number of its cached tokens.
    [[nodiscard]] virtual std::pair<handle, std::uint32_t> start(const allot::page_request& request) = 0;
    virtual void append(handle sequence, std::uint32_t count) = 0;
    [[nodiscard]] virtual std::uint32_t name(handle sequence, std::span<const allot::page_content> contents) = 0;
    [[nodiscard]] virtual handle fork(handle sequence) = 0;
    virtual void truncate(handle sequence, std::uint32_t count) = 0;
    virtual void pin(handle sequence) = 0;
    virtual void unpin(handle sequence) = 0;
    virtual void release(handle sequence) noexcept = 0;
    virtual void clear() = 0;
    [[nodiscard]] virtual std::span<const std::uint32_t> table(handle sequence) const = 0;
    [[nodiscard]] virtual allot::page_counts counts() const = 0;
    [[nodiscard]] virtual std::uint64_t evictions() const = 0;
    [[nodiscard]] virtual allot::page_cache_fault check() = 0;
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

/// The calls of a cache with one policy.
template <class Eviction>
class calls_with final : public page_calls {
    using cache_type = allot::page_cache<allot::page_stack, Eviction, noted_copy>;
    using sequence_type = typename cache_type::sequence_type;

public:
    calls_with(const allot::page_cache_limits& limits, std::optional<page_copy>* last)
        : records_(cache_type::bytes_for(limits) / sizeof(record) + 1),
          cache_{limits, std::as_writable_bytes(std::span{records_}), {last}} {
        if (!cache_) throw std::invalid_argument{to_string(allot::page_refusal::bad_limits)};
    }

    allot::page_match match(const allot::page_request& request) override { return cache_.match(request); }
    std::pair<handle, std::uint32_t> start(const allot::page_request& request) override {
        const auto begun = value_of(cache_.start(request));
        return {std::bit_cast<handle>(begun.sequence), begun.tokens};
    }
    void append(handle sequence, std::uint32_t count) override {
        static_cast<void>(value_of(cache_.append(of(sequence), count)));
    }
    std::uint32_t name(handle sequence, std::span<const allot::page_content> contents) override {
        return value_of(cache_.name(of(sequence), contents));
    }
    handle fork(handle sequence) override { return std::bit_cast<handle>(value_of(cache_.fork(of(sequence)))); }
    void truncate(handle sequence, std::uint32_t count) override { expect(cache_.truncate(of(sequence), count)); }
    void pin(handle sequence) override { expect(cache_.pin(of(sequence))); }
    void unpin(handle sequence) override { expect(cache_.unpin(of(sequence))); }
    void release(handle sequence) noexcept override { cache_.release(of(sequence)); }
    void clear() override { cache_.clear(); }
    std::span<const std::uint32_t> table(handle sequence) const override { return cache_.pages(of(sequence)); }
    allot::page_counts counts() const override { return cache_.counts(); }
    std::uint64_t evictions() const override { return cache_.evictions(); }
    allot::page_cache_fault check() override { return cache_.check(); }

private:
    struct alignas(16) record {
        std::byte bytes[16];
    };
    static sequence_type of(handle sequence) { return std::bit_cast<sequence_type>(sequence); }

    std::vector<record> records_;
    cache_type cache_;
};

std::unique_ptr<page_calls> make_calls(std::string_view eviction, const allot::page_cache_limits& limits,
                                       std::optional<page_copy>* last) {
    using by_priority = allot::priority_eviction<>;
    using s3_fifo = allot::s3_fifo_eviction<>;
    const auto make = [&]<class Eviction>(std::type_identity<Eviction>) -> std::unique_ptr<page_calls> {
        return std::make_unique<calls_with<Eviction>>(limits, last);
    };
    if (eviction == "lru") return make(std::type_identity<allot::lru_eviction>{});
    if (eviction == "reuse") return make(std::type_identity<allot::reuse_eviction>{});
    if (eviction == "priority") return make(std::type_identity<by_priority>{});
    if (eviction == "s3_fifo") return make(std::type_identity<s3_fifo>{});
    if (eviction == "leaf_first_priority") return make(std::type_identity<allot::leaf_first_eviction<by_priority>>{});
    if (eviction == "leaf_first_s3_fifo") return make(std::type_identity<allot::leaf_first_eviction<s3_fifo>>{});
    throw std::invalid_argument{"eviction: '" + std::string{eviction} +
                                "' is not lru, reuse, priority, s3_fifo, leaf_first_priority or leaf_first_s3_fifo"};
}

/// A cache of pages with equal sizes, and its records.
class pages : public std::enable_shared_from_this<pages> {
public:
    pages(number count, number page_tokens, number sequences, number sequence_pages, const std::string& eviction)
        : group_{.page_tokens = page_tokens},
          limits_{.bytes = count,
                  .groups = {&group_, 1},
                  .sequences = sequences,
                  .sequence_pages = sequence_pages,
                  .compare_tokens = true},
          eviction_{eviction},
          calls_{make_calls(eviction, limits_, &copy_)} {}

    [[nodiscard]] page_calls& cache() { return *calls_; }
    [[nodiscard]] std::uint32_t page_tokens() const { return group_.page_tokens; }
    [[nodiscard]] std::uint64_t count() const { return limits_.bytes; }
    [[nodiscard]] const std::string& eviction() const { return eviction_; }
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
    allot::page_group group_;
    allot::page_cache_limits limits_;
    std::string eviction_;
    std::optional<page_copy> copy_{};
    std::unique_ptr<page_calls> calls_;
};

allot::page_key salt_of(std::uint64_t salt) { return {salt, salt}; }

/// A sequence and its tokens. The destructor releases it.
class sequence {
public:
    sequence(std::shared_ptr<pages> in, handle held, tokens of, std::uint32_t cached)
        : in_{std::move(in)},
          held_{held},
          tokens_{std::move(of)},
          cached_{cached},
          named_{cached / in_->page_tokens()} {}
    sequence(const sequence&) = delete;
    sequence& operator=(const sequence&) = delete;
    ~sequence() { release(); }

    std::optional<page_copy> append(const given_tokens& given) {
        check();
        const tokens& more = given.all;
        tokens grown = tokens_;
        grown.insert(grown.end(), more.begin(), more.end());
        if (more.size() > std::numeric_limits<std::uint32_t>::max()) throw page_failure{"there are too many tokens"};
        in_->cache().append(held_, static_cast<std::uint32_t>(more.size()));
        tokens_.swap(grown);
        return in_->take_copy();
    }
    std::uint32_t commit() {
        check();
        const std::uint32_t each = in_->page_tokens();
        const auto named = in_->contents(std::span{tokens_}.subspan(std::size_t{named_} * each));
        const std::uint32_t replaced = in_->cache().name(held_, named);
        named_ += static_cast<std::uint32_t>(named.size());
        return replaced;
    }
    std::unique_ptr<sequence> fork() {
        check();
        tokens copy = tokens_;
        auto made = std::make_unique<sequence>(in_, no_handle, std::move(copy), 0);
        made->held_ = in_->cache().fork(held_);
        made->cached_ = cached_;
        made->named_ = named_;
        return made;
    }
    void truncate(number count) {
        check();
        in_->cache().truncate(held_, count);
        tokens_.resize(count);
        named_ = std::min(named_, count.value / in_->page_tokens());
    }
    void pin() {
        check();
        in_->cache().pin(held_);
    }
    void unpin() {
        check();
        in_->cache().unpin(held_);
    }
    void release() {
        in_->cache().release(held_);
        held_ = no_handle;
        tokens_.clear();
        named_ = 0;
    }

    [[nodiscard]] std::vector<std::uint32_t> table() const {
        const auto all = in_->cache().table(held_);
        return {all.begin(), all.end()};
    }
    [[nodiscard]] const tokens& all_tokens() const { return tokens_; }
    [[nodiscard]] std::uint32_t cached() const { return cached_; }

private:
    void check() const {
        if (held_ == no_handle) throw page_failure{"the sequence was released"};
    }

    std::shared_ptr<pages> in_;
    handle held_;
    tokens tokens_;
    std::uint32_t cached_, named_;
};

std::unique_ptr<sequence> start(const std::shared_ptr<pages>& in, const given_tokens& given,
                                natural<std::uint64_t> salt, number priority) {
    const tokens& prompt = given.all;
    if (priority > 15) throw std::invalid_argument{"priority: " + std::to_string(priority) + " is not from 0 to 15"};
    const auto contents = in->contents(prompt);
    const auto [begun, cached] = in->cache().start({.contents = contents, .priority = priority, .salt = salt_of(salt)});
    try {
        return std::make_unique<sequence>(in, begun, tokens(prompt.begin(), prompt.begin() + cached), cached);
    } catch (...) {
        in->cache().release(begun);
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
stay cached after their last use, until a page is needed. Then `eviction` selects one:

- "lru": the page that was released first
- "reuse": also a page that was released first, but pages that several sequences found stay longer
- "priority": the page of the lowest `priority` of `start`
- "s3_fifo": pages that were used once, by S3-FIFO
- "leaf_first_priority", "leaf_first_s3_fifo": the same, but first a page that no cached page follows

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
        .def(nb::init<number, number, number, number, const std::string&>(), nb::arg("pages"), nb::kw_only(),
             nb::arg("page_tokens") = 16, nb::arg("sequences") = 256, nb::arg("sequence_pages") = 1024,
             nb::arg("eviction") = "lru",
             nb::sig("def __init__(self, pages: int, *, page_tokens: int = 16, sequences: int = 256, "
                     "sequence_pages: int = 1024, eviction: typing.Literal['lru', 'reuse', 'priority', 's3_fifo', "
                     "'leaf_first_priority', 'leaf_first_s3_fifo'] = 'lru') -> None"),
             "Makes a cache with a number of pages, and limits on the sequences and on the pages of one of them.")
        .def(
            "match",
            [](pages& self, const given_tokens& prompt, natural<std::uint64_t> salt) {
                return self.cache().match({.contents = self.contents(prompt.all), .salt = salt_of(salt)}).tokens;
            },
            nb::arg("tokens"), nb::arg("salt") = 0, "Returns the number of first tokens whose pages are cached.")
        .def("start", &start, nb::arg("tokens"), nb::arg("salt") = 0, nb::arg("priority") = 0,
             R"(Starts a sequence with the longest cached prefix of the tokens.

Append the other tokens: `sequence.append(tokens[sequence.cached:])`. Sequences share pages only with those of equal salt.
The priority, 0 to 15, is that of the pages after the release, for the policy "priority". A higher one is worth more.)")
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
        .def_prop_ro("eviction", &pages::eviction, "The name of the policy of eviction.")
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
