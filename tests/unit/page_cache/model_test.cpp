// page_cache with LRU, compared call by call with a model that keeps whole prefixes and searches all pages.
#include "played.hpp"

#include <map>
#include <memory>

namespace {

using namespace tests;
using allot::page_refusal;

struct model_page {
    tokens prefix;  // all tokens up to the end of the page, if they are named
    bool named = false;
    int users = 0;
    int pins = 0;
    std::uint64_t released = 0;
};
using page_pointer = std::shared_ptr<model_page>;

struct model_sequence {
    tokens all;
    std::size_t named = 0;
    std::vector<page_pointer> pages;
};

/// One group without a window. Each page is an object, and all live objects are in one list.
class model {
public:
    model(std::size_t capacity, std::size_t page_tokens, std::size_t most_pages, std::size_t most_sequences)
        : capacity_{capacity}, each_{page_tokens}, most_pages_{most_pages}, most_sequences_{most_sequences} {}

    std::vector<model_sequence> sequences;
    std::uint64_t evictions = 0;

    page_refusal start(const tokens& prompt) {
        if (sequences.size() == most_sequences_) return page_refusal::out_of_sequences;
        model_sequence made;
        for (std::size_t end = each_; end <= prompt.size() && made.pages.size() != most_pages_; end += each_) {
            const page_pointer found = find({prompt.begin(), prompt.begin() + static_cast<std::ptrdiff_t>(end)});
            if (!found) break;
            made.pages.push_back(found);
        }
        for (const page_pointer& page : made.pages) ++page->users;
        made.named = made.pages.size();
        made.all.assign(prompt.begin(), prompt.begin() + static_cast<std::ptrdiff_t>(made.named * each_));
        sequences.push_back(made);
        return page_refusal::none;
    }
    page_refusal append(std::size_t which, const tokens& more) {
        model_sequence& of = sequences[which];
        const std::size_t pages = (of.all.size() + more.size() + each_ - 1) / each_;
        if (pages > most_pages_) return page_refusal::too_long;
        const bool partial = of.all.size() % each_ != 0 && !more.empty();
        const bool copied = partial && (of.pages.back()->users != 1 || of.pages.back()->pins != 0);
        const std::size_t needed = pages - of.pages.size() + (copied ? 1 : 0);
        if (needed > capacity_ - live_.size() + evictable().size()) return page_refusal::out_of_pages;
        const std::size_t last = of.pages.size() - 1;
        while (of.pages.size() != pages) of.pages.push_back(take());
        if (copied) {
            const page_pointer made = take();
            drop(of.pages[last]);
            of.pages[last] = made;
        } else if (partial) {
            of.pages[last]->named = false;
        }
        of.all.insert(of.all.end(), more.begin(), more.end());
        return page_refusal::none;
    }
    void name(std::size_t which, std::size_t pages) {
        model_sequence& of = sequences[which];
        for (; pages != 0 && of.named != of.all.size() / each_; --pages, ++of.named) {
            const auto end = of.all.begin() + static_cast<std::ptrdiff_t>((of.named + 1) * each_);
            page_pointer& page = of.pages[of.named];
            if (page->named) continue;
            if (const page_pointer same = find({of.all.begin(), end})) {
                ++same->users;
                drop(page);
                page = same;
            } else {
                page->prefix.assign(of.all.begin(), end);
                page->named = true;
            }
        }
    }
    page_refusal fork(std::size_t which) {
        if (sequences.size() == most_sequences_) return page_refusal::out_of_sequences;
        sequences.push_back(model_sequence{sequences[which]});
        for (const page_pointer& page : sequences.back().pages) ++page->users;
        return page_refusal::none;
    }
    void truncate(std::size_t which, std::size_t length) {
        model_sequence& of = sequences[which];
        while (of.pages.size() > (length + each_ - 1) / each_) {
            drop(of.pages.back());
            of.pages.pop_back();
        }
        of.all.resize(length);
        of.named = std::min(of.named, length / each_);
    }
    void release(std::size_t which) {
        truncate(which, 0);
        sequences.erase(sequences.begin() + static_cast<std::ptrdiff_t>(which));
    }
    bool pin(std::size_t which, int by) {
        const model_sequence& of = sequences[which];
        for (std::size_t i = 0; i != of.named; ++i)
            if (of.pages[i]->named && of.pages[i]->pins + by < 0) return false;
        for (std::size_t i = 0; i != of.named; ++i)
            if (of.pages[i]->named) of.pages[i]->pins += by;
        return true;
    }
    [[nodiscard]] allot::page_counts counts() const {
        allot::page_counts made{.free = capacity_ - live_.size()};
        for (const page_pointer& page : live_) ++(page->users == 0 ? made.cached : made.used);
        return made;
    }

private:
    [[nodiscard]] page_pointer find(const tokens& prefix) const {
        for (const page_pointer& page : live_)
            if (page->named && page->prefix == prefix) return page;
        return nullptr;
    }
    [[nodiscard]] std::vector<page_pointer> evictable() const {
        std::vector<page_pointer> made;
        for (const page_pointer& page : live_)
            if (page->users == 0 && page->pins == 0) made.push_back(page);
        return made;
    }
    page_pointer take() {
        if (live_.size() == capacity_) {
            const auto pages = evictable();
            erase(*std::ranges::min_element(pages, {}, [](const page_pointer& page) { return page->released; }));
            ++evictions;
        }
        live_.push_back(std::make_shared<model_page>());
        live_.back()->users = 1;
        return live_.back();
    }
    void drop(const page_pointer& page) {
        if (--page->users != 0) return;
        page->released = ++now_;
        if (!page->named) erase(page);
    }
    void erase(const page_pointer page) { std::erase(live_, page); }

    std::size_t capacity_, each_, most_pages_, most_sequences_;
    std::vector<page_pointer> live_;
    std::uint64_t now_ = 0;
};

using subject = played<allot::page_cache<allot::page_pool<64>, allot::lru_eviction, byte_copier>>;

void expect_same(subject& with, const model& known) {
    with.check();
    REQUIRE_EQ(with.members.size(), known.sequences.size());
    for (std::size_t i = 0; i != with.members.size(); ++i) REQUIRE_EQ(with.members[i].all, known.sequences[i].all);
    const allot::page_counts counts = with.cache.counts(), expected = known.counts();
    REQUIRE_EQ(counts.free, expected.free);
    REQUIRE_EQ(counts.cached, expected.cached);
    REQUIRE_EQ(counts.used, expected.used);
    REQUIRE_EQ(with.cache.evictions(), known.evictions);
}

void play_both(std::uint32_t page_tokens, std::uint32_t capacity, unsigned seed, std::map<page_refusal, int>& answers) {
    const allot::page_group group[] = {{.page_bytes = page_tokens * std::size_t{3}, .page_tokens = page_tokens}};
    subject with{{.bytes = capacity * group[0].page_bytes, .groups = group, .sequences = 4, .sequence_pages = 9}};
    model known{capacity, page_tokens, 9, 4};
    std::mt19937 random{seed};
    const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    const auto prompt = [&] {
        tokens made(below(20));
        for (std::uint32_t& token : made) token = below(6) == 0 ? 1 : 0;
        return made;
    };
    const auto expect_answer = [&](page_refusal answer, page_refusal expected) {
        REQUIRE_EQ(answer, expected);
        ++answers[answer];
    };
    for (int i = 0; i != 400; ++i, expect_same(with, known)) {
        const std::size_t which = known.sequences.empty() ? 0 : below(known.sequences.size());
        const auto call = known.sequences.empty() ? 0 : below(8);
        const tokens more = call == 3 ? tokens{0} : prompt();
        if (call == 0) {
            expect_answer(with.start(more), known.start(more));
        } else if (call < 4) {
            expect_answer(with.append(which, more), known.append(which, more));
        } else if (call == 4) {
            const std::size_t pages = 1 + below(5);
            expect_answer(with.name(which, pages), page_refusal::none);
            known.name(which, pages);
        } else if (call == 5) {
            expect_answer(with.fork(which), known.fork(which));
        } else if (call == 6) {
            const std::size_t length = below(known.sequences[which].all.size() + 1);
            expect_answer(with.truncate(which, length), page_refusal::none);
            known.truncate(which, length);
        } else if (below(4) == 0) {
            const bool pins = below(2) == 0;
            const auto sequence = with.members[which].sequence;
            const page_refusal answer = pins ? with.cache.pin(sequence) : with.cache.unpin(sequence);
            expect_answer(answer, known.pin(which, pins ? 1 : -1) ? page_refusal::none : page_refusal::not_pinned);
        } else {
            expect_answer(with.release(which), page_refusal::none);
            known.release(which);
        }
    }
    answers[page_refusal::changing] += static_cast<int>(known.evictions);  // not an answer here: counts evictions
}

}  // namespace

TEST_CASE("page_cache: every answer and count is that of a model that searches all pages") {
    std::map<page_refusal, int> answers;
    for (const std::uint32_t page_tokens : {1U, 2U, 3U})
        for (const std::uint32_t capacity : {1U, 7U, 12U, 23U})
            for (unsigned seed = 0; seed != 12; ++seed) play_both(page_tokens, capacity, seed, answers);
    for (const page_refusal seen : {page_refusal::none, page_refusal::out_of_pages, page_refusal::out_of_sequences,
                                    page_refusal::too_long, page_refusal::not_pinned, page_refusal::changing})
        CHECK_GT(answers[seen], 100);
}
