// The laws: properties that every allocator of allot has, as a reusable test suite.
//
// One suite for every combination of strategy, node store, device and growth. Each combination is a `subject`: a thin
// adapter (adapters.hpp) over an arena, a strategy without an arena, or a paged arena. Its `contract` states its
// properties. A `ledger` makes calls to a subject, models the memory that must be occupied, and checks the laws after
// every call. Drivers choose the calls: `play_random` by fixed seeds, `play_all` every short sequence.
//
//     driver ──► ledger ──► subject ──► arena, strategy, …
//                  │
//                  └─ a brute-force model: the occupied ranges, and therefore every hole
//
// The laws, in short:
//     blocks        are inside the regions, are aligned, share no byte, and have the capacity that is reported
//     contents      are kept until the deallocation, over the full capacity; nothing outside is accessed
//     exact         a valid request fails only if no hole fits, and only then is the device called
//     free again    after all blocks are freed, every region is one hole again
//     the same      the same calls return the same positions: in another arena, at other addresses of the same alignment
//     a failure     changes nothing, and neither does `diagnose`
//     diagnose      returns `none` if and only if the request succeeds, and otherwise the reason
// and those of allocate_at, resize, mark, rollback, reset, trim and remove, where a subject has these calls.
//
// A broken law throws `broken` with the calls that led to it.
#pragma once

#include "ledger.hpp"

#include <cstdlib>
#include <iterator>
#include <random>

namespace laws {

/// Returns `count`, or ten times as much if ALLOT_LONG=1 is in the environment.
[[nodiscard]] inline std::size_t times(std::size_t count) {
    const char* const set = std::getenv("ALLOT_LONG");
    return set != nullptr && *set != '\0' && *set != '0' ? count * 10 : count;
}

class chance {
public:
    explicit chance(number seed) : engine_{seed} {}
    /// Returns a number below `bound`. Precondition: `bound` is not 0.
    number below(number bound) { return engine_() % bound; }
    /// Returns an index of one of `count` elements.
    std::size_t which(std::size_t count) { return static_cast<std::size_t>(below(count)); }
    bool once_in(number count) { return below(count) == 0; }

private:
    std::mt19937_64 engine_;  // the standard specifies its numbers, unlike those of the distributions
};

/// Returns a request: usually small, sometimes large, odd or invalid.
[[nodiscard]] inline layout random_layout(chance& any, number room) {
    if (room < 8) room = 8;
    if (any.once_in(40)) {
        constexpr std::size_t most = ~std::size_t{0};
        const layout bad[] = {{0, 8},
                              {most, 1},
                              {most, 4096},
                              {most - 7, 16},
                              {most / 2 + 1, 1},
                              {8, 0},
                              {8, 3},
                              {0, 0},
                              {most, 0},
                              {8, most / 2 + 1},
                              {std::size_t{1} << 31, 1},
                              {8, std::size_t{1} << 31},
                              {static_cast<std::size_t>(room) * 2, 1},
                              {most - 1, 3}};
        return bad[any.below(std::size(bad))];
    }
    number size = 1;
    switch (any.below(8)) {
        case 0: size = 1 + any.below(8); break;
        case 1: size = 1 + any.below(room); break;
        case 2: size = 1 + any.below(room / 4); break;
        case 3: size = number{1} << any.below(static_cast<number>(std::bit_width(room))); break;
        default: size = 1 + any.below(room / 8); break;
    }
    const number align = number{1} << (any.once_in(4) ? any.below(11) : any.below(5));
    return {static_cast<std::size_t>(size), static_cast<std::size_t>(align)};
}

/// Checks that a block has the same position in both subjects. Blocks are identified by number.
inline void same_places(subject& one, subject& other, id block, const ledger& book) {
    const std::vector<piece> a = one.pieces(block), b = other.pieces(block);
    bool same = a.size() == b.size();
    for (std::size_t i = 0; same && i != a.size(); ++i) same = a[i].space == b[i].space && a[i].at == b[i].at;
    if (!same) break_law("the same calls return the same positions, also with failures between them" + book.calls());
}

/// Checks that both subjects have regions of the same sizes and return the same diagnoses, except for device errors.
inline void same_answers(subject& one, subject& other, layout wanted, const ledger& book) {
    const std::vector<space> a = one.spaces(), b = other.spaces();
    bool same = a.size() == b.size();
    for (std::size_t i = 0; same && i != a.size(); ++i) same = a[i].size == b[i].size;
    for (const std::size_t size : {wanted.size / 2, std::size_t{1}, std::size_t{100}, std::size_t{3000}}) {
        const allot::diagnosis first = one.diagnose({size, wanted.align}),
                               second = other.diagnose({size, wanted.align});
        if (first.reason == refusal::device_refused || second.reason == refusal::device_refused) continue;
        same = same && first == second;
    }
    if (!same) break_law("a failure changes neither regions nor diagnoses" + book.calls());
}

/// Statistics of a run.
struct played {
    std::size_t served = 0;        // allocated blocks
    std::size_t acquisitions = 0;  // calls of the device, including failed ones
};

/// A random run. A twin elsewhere in memory gets the same calls, except queries and calls that failed. Its blocks must
/// have the same positions. Where a failure may free memory, the twin has a ledger, the echo, and gets every call.
class random_run {
public:
    random_run(const maker& make, number seed, variant how)
        : seed_{seed},
          fails_{how.fail_on != 0},
          main_{make(how)},
          twin_{fails_ ? nullptr : make(elsewhere(how))},
          book_{*main_},
          any_{seed},
          promised_{main_->contract},
          echo_{twin_ && promised_.gives_back ? std::make_unique<ledger>(*twin_) : nullptr} {
        for (const space& each : main_->spaces()) room_ = std::max(room_, each.size);
        if (room_ == 0 || promised_.grows) room_ = 1024;
        if (promised_.slot != 0) room_ = promised_.slot * 2;
    }

    played play(std::size_t steps) {
        for (std::size_t step = 0; step != steps; ++step) {
            // The subject fills up, drains and fills up again. The seed determines how far.
            const bool ebb = (step / 64 >> seed_ % 3) % 3 == 2;
            call(any_.below(100), ebb);
        }
        book_.all_contents_kept();
        book_.free_all(seed_);
        book_.is_whole();
        if (promised_.trims) {
            book_.trim();
            for (int again = 0; again != 8; ++again) static_cast<void>(book_.allocate(random_layout(any_, room_)));
            book_.free_all(seed_);
        }
        return {book_.served(), main_->acquisitions()};
    }

private:
    [[nodiscard]] static variant elsewhere(variant how) {
        how.elsewhere = true;
        return how;
    }

    void call(number roll, bool ebb) {
        if (roll < 82) {
            if (book_.live() == 0 || any_.below(100) < (ebb ? 25 : 65)) allocate();
            else deallocate();
        } else if (roll < 88 && promised_.resizes) {
            if (book_.live() != 0) resize();
        } else if (roll < 92 && promised_.claims) {
            allocate_at();
        } else if (roll < 95 && promised_.marks) {
            mark_or_roll_back();
        } else if (roll < 96 && promised_.resets && any_.once_in(4)) {
            book_.reset();
            if (echo_) echo_->reset();
            else if (twin_) twin_->reset();
        } else if (roll < 98 && promised_.trims) {
            book_.trim();
            if (echo_) echo_->trim();
            else if (twin_) static_cast<void>(twin_->trim());
        } else if (roll < 99 && promised_.removes) {
            const std::size_t where = any_.which(main_->spaces().size());
            book_.remove(where);
            if (echo_) echo_->remove(where);
            else if (twin_ && twin_->remove(where)) static_cast<void>(twin_->insert(where));
        } else {
            book_.move();
        }
    }

    void allocate() {
        const layout wanted = random_layout(any_, room_);
        const std::size_t refusals = main_->device_refusals();
        id block = book_.allocate(wanted);
        if (block == nothing && fails_ && main_->device_refusals() != refusals) {
            book_.all_contents_kept();  // nothing is lost, and later calls work
            block = book_.allocate(wanted);
        }
        if (echo_ && block == nothing) static_cast<void>(echo_->allocate(wanted));
        if (twin_ && block == nothing) same_answers(*main_, *twin_, wanted, book_);
        follow(block, [&] { return echo_ ? echo_->allocate(wanted) : twin_->allocate(wanted); });
    }
    void deallocate() {
        const std::size_t index = book_.next_to_free(any_.below(1'000'000), !any_.once_in(20));
        const id block = book_.entries()[index].block;
        book_.deallocate(index);
        if (echo_) echo_->deallocate(index);
        else if (twin_) twin_->deallocate(block);
    }
    void resize() {
        const std::size_t index = book_.next_to_free(any_.below(1'000'000), false);
        const auto [block, wanted] = std::pair{book_.entries()[index].block, book_.entries()[index].wanted};
        number size = any_.once_in(2) ? wanted.size + any_.below(room_ / 8 + 1) : any_.below(wanted.size + 1);
        if (any_.once_in(20)) size = ~number{0} - any_.below(64);
        book_.resize(index, size);
        if (echo_) echo_->resize(index, size);
        else if (twin_ && size != 0 && size <= main_->capacity(block)) static_cast<void>(twin_->resize(block, size));
    }
    void allocate_at() {
        const std::vector<space> spaces = main_->spaces();
        const std::size_t where = any_.which(spaces.size());
        if (spaces[where].size == 0) return;
        number at = any_.below(spaces[where].size), size = any_.below(spaces[where].size / 4 + 2);
        const number granule = promised_.nodes.granule;
        if (!any_.once_in(4)) at += (granule - (spaces[where].start + at) % granule) % granule;
        if (promised_.slot != 0 && !any_.once_in(4)) {
            const number skipped = (number{0} - spaces[where].start) & (promised_.slot_align - 1);
            at = skipped + at / promised_.slot * promised_.slot;
            size = any_.below(promised_.slot + 2);
        }
        if (at >= spaces[where].size) return;
        if (any_.once_in(16)) size = ~number{0} - any_.below(64);
        if (any_.once_in(16)) at = ~number{0} - any_.below(64);
        const std::size_t had = book_.entries().size();
        book_.allocate_at(where, at, size);
        if (echo_) echo_->allocate_at(where, at, size);
        if (book_.entries().size() != had && echo_) same_places(*main_, *twin_, book_.entries().back().block, book_);
        else if (book_.entries().size() != had)
            follow(book_.entries().back().block, [&] { return twin_->allocate_at(where, at, size); });
    }
    void mark_or_roll_back() {
        if (book_.marks() == 0 || any_.once_in(2)) {
            static_cast<void>(book_.mark());
            if (echo_) static_cast<void>(echo_->mark());
            else if (twin_) static_cast<void>(twin_->mark());
        } else {
            const std::size_t which = any_.which(book_.marks()), mark = book_.rollback(which);
            if (echo_) static_cast<void>(echo_->rollback(which));
            else if (twin_) twin_->rollback(mark);
        }
    }
    /// Makes the call that allocated `block` on the twin, and compares the results.
    template <class Call>
    void follow(id block, Call call) {
        if (twin_ == nullptr || block == nothing) return;
        if (call() != block) break_law("a call that succeeds on one subject succeeds on another" + book_.calls());
        same_places(*main_, *twin_, block, book_);
    }

    number seed_;
    bool fails_;
    std::unique_ptr<subject> main_, twin_;
    ledger book_;
    chance any_;
    const contract& promised_;
    std::unique_ptr<ledger> echo_;
    number room_ = 0;
};

inline played play_random(const maker& make, number seed, std::size_t steps, variant how = {}) {
    return random_run{make, seed, how}.play(steps);
}

/// Every sequence of `length` calls: allocations of one, two and three units at three alignments, and deallocations of
/// every block that may be freed. The subject is empty again after every sequence.
inline std::size_t play_all(const maker& make, number unit, number bytes, std::size_t most) {
    const std::unique_ptr<subject> main = make({.bytes = bytes});
    const contract& promised = main->contract;
    if (promised.reclaims == reclaim::never && !promised.resets) return 0;
    constexpr std::size_t layouts = 9;
    const std::size_t choices = layouts + (promised.reclaims == reclaim::any ? 3 : 1);
    std::size_t length = 1, count = choices;
    while (count * choices <= most) {
        count *= choices;
        ++length;
    }
    for (std::size_t sequence = 0; sequence != count; ++sequence) {
        ledger book{*main};
        std::size_t rest = sequence;
        for (std::size_t i = 0; i != length; ++i, rest /= choices) {
            const std::size_t choice = rest % choices;
            if (choice < layouts) {
                const number size = unit * (1 + choice % 3), align = unit << choice / 3;
                static_cast<void>(book.allocate({static_cast<std::size_t>(size), static_cast<std::size_t>(align)}));
            } else if (choice - layouts < book.live()) {
                book.deallocate(book.next_to_free(choice - layouts));
            }
        }
        book.free_all();
        if (sequence % 16 == 0) book.is_whole();
    }
    return count;
}

/// Lets the device fail the n-th acquisition, for every n of a run. Checks that nothing is lost, that the reason and
/// the device's code are reported, and that later calls work. Returns the number of acquisitions.
inline std::size_t fail_each_acquisition(const maker& make, number seed, std::size_t steps) {
    std::size_t n = 1;
    while (play_random(make, seed, steps, {.fail_on = n}).acquisitions >= n) ++n;
    return n - 1;
}

/// Failures and queries take no memory: the same number of blocks fits afterwards.
inline void ask_too_much(const maker& make, layout each) {
    const auto count = [&](subject& s) {
        std::size_t held = 0;
        while (held != 10'000 && s.allocate(each) != nothing) ++held;
        return held;
    };
    const std::unique_ptr<subject> fresh = make({}), asked = make({});
    number room = 0;
    for (const space& region : fresh->spaces()) room += region.size;
    for (const number size : {room * 2, room + 1, room / 2 + 1}) {
        const layout wanted{static_cast<std::size_t>(size), 1};
        if (asked->diagnose(wanted).reason == refusal::none) continue;
        if (asked->allocate(wanted) != nothing) break_law("a request fails if diagnose returns a reason");
    }
    if (asked->diagnose(each).reason != fresh->diagnose(each).reason || count(*asked) != count(*fresh))
        break_law("a failed request takes no memory, and neither does diagnose");
}

/// For small regions of every size: a region that is held is usable, and a region that is too small is not held.
inline void start_with_little(const maker& make) {
    for (number bytes = 1; bytes != 150; ++bytes) {
        const std::unique_ptr<subject> small = make({.bytes = bytes});
        number held = 0;
        for (const space& each : small->spaces()) held += each.size;
        ledger book{*small};
        const id block = book.allocate({1, 1});
        if ((block != nothing) != (held != 0)) break_law("a region that is held is usable" + book.calls());
        book.free_all();
        book.is_whole();
    }
}

/// `bytes_for` is exact: a space of that size holds exactly `count` blocks, and one byte less holds one block fewer.
inline std::size_t predict_capacity(const maker& make) {
    std::size_t asked = 0;
    const std::unique_ptr<subject> probe = make({});
    for (const std::size_t size : {1u, 7u, 16u, 24u, 40u, 100u, 232u, 256u}) {
        for (const std::size_t align : {1u, 2u, 8u, 16u, 32u, 64u, 256u}) {
            for (const std::size_t count : {1u, 2u, 3u, 10u}) {
                const layout each{size, align};
                const number bytes = probe->bytes_for(count, each);
                if (bytes == 0) continue;
                for (const number less : {0u, 1u}) {
                    if (bytes == less) continue;
                    const std::unique_ptr<subject> tight = make({.bytes = bytes - less, .aligned = true});
                    if (!tight->honours(align)) continue;
                    std::size_t held = 0;
                    while (held <= count && tight->allocate(each) != nothing) ++held;
                    if (held != count - less) {
                        std::ostringstream out;
                        out << "bytes_for(" << count << ", {" << size << ", " << align << "}) = " << bytes << ", but "
                            << bytes - less << " bytes hold " << held;
                        break_law(out.str());
                    }
                    ++asked;
                }
            }
        }
    }
    return asked;
}

}  // namespace laws
