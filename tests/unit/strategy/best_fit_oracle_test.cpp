// Random calls of best_fit and deferred, compared with a map of the live blocks. The expectations follow from the
// headers: blocks are aligned, inside an extent and disjoint; a request fails only if no hole fits or no record is
// left; `diagnose`, `allocate_at`, `resize` and the functions of extents agree with the map. Covers offsets of every
// width, and extents of odd sizes, at odd offsets and at the end of the offset range. ALLOT_LONG=1 runs a hundred times
// as many calls.
#include <allot/strategy/best_fit.hpp>
#include <allot/strategy/deferred.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <vector>

namespace {

using allot::best_fit_options;
using allot::deferred_options;
using allot::node_store;
using allot::refusal;

/// Bytes with their own address space, for records in band with offsets of any width.
struct own_memory {
    static inline std::array<std::byte, 1 << 14> bytes{};
    [[nodiscard]] static std::byte* at(std::uint64_t offset) noexcept {
        return &bytes.at(static_cast<std::size_t>(offset));
    }
};

/// Records the expectation that failed. doctest's macros take five times as long to compile here.
struct unmet {
    int line;
};
void expect(bool holds, int line = __builtin_LINE()) {
    if (!holds) throw unmet{line};
}

template <class Strategy, best_fit_options Options, bool Deferred>
class match {
    using offset = typename Strategy::offset_type;
    using extent = allot::basic_extent<offset>;
    using allocation = allot::allocation_of<Strategy>;
    using number = std::uint64_t;  // wide enough for every sum of the oracle; offsets count from `base_`

    // Properties of nodes, from the headers.
    static constexpr bool in_band = Strategy::in_band;
    static constexpr number word = sizeof(offset), header = in_band ? word : 0, tail = in_band ? word : 0;
    static constexpr number granule = in_band ? 2 * word : Options.granule, min_hole = in_band ? 4 * word : granule;
    static constexpr number last_offset = std::min<number>(std::numeric_limits<offset>::max(), Options.largest_offset);
    static constexpr number most_bytes = sizeof(offset) == 1 ? 240 : 2500;

    struct live_block {
        allocation held;
        number begin, end;  // of the node
        unsigned char mark;
    };

public:
    explicit match(std::uint32_t seed) : random_{seed} {}

    void play(int calls) {
        number first = 1 + any(sizeof(offset) == 1 ? 10 : 40);
        if (!in_band && one_in(2)) first = last_offset - 1 - any(most_bytes);  // extents at the end, and some that wrap
        base_ = first & ~(number{4096} - 1);
        if (sizeof(offset) == 1) base_ = 0;
        own_memory::bytes.fill(std::byte{0xA5});
        several_ = one_in(2);
        for (number at = first - base_, left = several_ ? 3 : 1; left != 0 && at <= last_offset - base_; --left) {
            const number most = several_ ? most_bytes / 3 : most_bytes;
            const extent where{to_offset(at), static_cast<offset>(1 + any(most))};
            insert(where);
            at += where.size + (one_in(2) ? 0 : any(20));
        }
        for (int i = 0; i != calls; ++i) {
            switch (any(16)) {
                case 0:
                case 1:
                case 2:
                case 3:
                case 4:
                case 5: allocate(); break;
                case 6:
                case 7:
                case 8:
                case 9: deallocate(); break;
                case 10: allocate_at(); break;
                case 11:
                case 12: resize(); break;
                case 13: resize_extent(); break;
                case 14: remove(); break;
                default:
                    if (one_in(8))
                        while (!live_.empty()) deallocate();
                    break;
            }
        }
        while (!live_.empty()) deallocate();
        for (const extent& where : extents_) expect(strategy_.remove(where));
        for (const extent& where : extents_) expect(!strategy_.remove(where));
        if (in_band)
            for (std::size_t i = 0; i != own_memory::bytes.size(); ++i)
                if (!touched_[i] && own_memory::bytes[i] != std::byte{0xA5}) expect(false);
    }

private:
    [[nodiscard]] number any(number below) { return std::uniform_int_distribution<number>{0, below - 1}(random_); }
    [[nodiscard]] bool one_in(number n) { return any(n) == 0; }
    [[nodiscard]] offset to_offset(number at) const { return static_cast<offset>(base_ + at); }
    [[nodiscard]] number from_offset(offset at) const { return at - base_; }
    [[nodiscard]] static number up(number at, number to) { return (at + to - 1) / to * to; }

    [[nodiscard]] number any_size() {
        if (one_in(5)) return 1 + any(most_bytes);
        return 1 + any(one_in(3) ? 200 : 40);
    }
    [[nodiscard]] static number node_size(number size) {
        const number whole = up(size + header, granule);
        return whole < min_hole ? min_hole : whole;
    }

    /// Returns the part of an extent that nodes can fill. `base_` is a multiple of every granule.
    struct part {
        number begin = 0, end = 0;
    };
    [[nodiscard]] part usable(extent where) const {
        if (where.size > Options.largest_extent || where.size > last_offset - where.offset) return {};
        const number begin = up(from_offset(where.offset) + header, granule) - header;
        const number end = (from_offset(where.offset) + where.size) / granule * granule;
        return end < begin + tail + min_hole ? part{} : part{begin, end - tail};
    }
    [[nodiscard]] std::vector<part> holes() const {
        std::vector<part> all;
        for (const extent& where : extents_) {
            const part in = usable(where);
            number at = in.begin;
            for (auto b = live_.lower_bound(in.begin); b != live_.end() && b->first < in.end; ++b) {
                if (b->second.begin != at) all.push_back({at, b->second.begin});
                at = b->second.end;
            }
            if (at != in.end) all.push_back({at, in.end});
        }
        return all;
    }
    /// Whether a hole takes a record: with an index by offset. Every block and every extent take one.
    static constexpr bool counts_holes = Options.offset_index;
    [[nodiscard]] number spare() const {
        if (Options.records == 0) return 100;
        return Options.records - live_.size() - extents_.size() - (counts_holes ? holes().size() : 0);
    }
    [[nodiscard]] static bool may_lie(part hole, number at, number need) {
        return at >= hole.begin && at + need <= hole.end && (at == hole.begin || at - hole.begin >= min_hole);
    }
    [[nodiscard]] bool fits(part hole, number need, number align) const {
        for (number at = up(hole.begin + header, granule) - header; at + need <= hole.end; at += granule)
            if (static_cast<offset>(base_ + at + header) % align == 0 && may_lie(hole, at, need)) return true;
        return false;
    }

    void insert(extent where) {
        const part in = usable(where);
        const bool possible = in.end != 0 && spare() >= (counts_holes ? 2 : 1);
        expect(strategy_.insert(where, {}) == possible);
        if (!possible) return;
        extents_.push_back(where);
        if (in_band)
            for (number at = 0; at != where.size; ++at)
                touched_[static_cast<std::size_t>(from_offset(where.offset) + base_ + at)] = true;
    }

    void admit(allocation given, number size) {
        const number at = from_offset(given.where.offset), capacity = strategy_.capacity(given);
        expect(given.where.size == size);
        expect(capacity >= size);
        if (!Deferred) expect(capacity + header < node_size(size) + min_hole);
        const live_block fresh{given, at - header, at + capacity, static_cast<unsigned char>(any(256))};
        bool inside = false;
        for (const part& hole : holes()) inside = inside || (fresh.begin >= hole.begin && fresh.end <= hole.end);
        expect(inside);
        live_.emplace(fresh.begin, fresh);
        fill(fresh);
    }
    void fill(const live_block& block) {
        const auto bytes = static_cast<std::size_t>(block.end - block.begin - header);
        if (in_band) std::memset(own_memory::at(block.held.where.offset), block.mark, bytes);
    }
    void check_bytes(const live_block& block, number size) {
        if (!in_band) return;
        for (number i = 0; i != size; ++i)
            expect(*own_memory::at(block.held.where.offset + i) == std::byte{block.mark});
    }

    void allocate() {
        const number size = any_size(), align = number{1} << any(one_in(4) ? 8 : 3);
        if (align > last_offset || size > last_offset) return;
        const typename Strategy::layout_type wanted{static_cast<offset>(size), static_cast<offset>(align)};
        const number need = node_size(size);
        bool possible = false;
        number largest = 0, free = 0;
        for (const part& hole : holes()) {
            possible = possible || fits(hole, need, align);
            const number bytes = hole.end - hole.begin - header;
            largest = bytes > largest ? bytes : largest;
            free += bytes;
        }
        allot::diagnosis said;
        const bool asked = !Deferred || one_in(3);  // joins the waiting blocks
        if (asked) said = strategy_.diagnose(wanted);
        const allocation given = strategy_.allocate(wanted);
        if (asked) {
            expect(bool(given) == (said.reason == refusal::none));
            expect(said.largest_hole == largest);
            if (!possible && largest < size)
                expect(said.reason == (free < size ? refusal::exhausted : refusal::fragmented));
        }
        if (given) {
            expect(possible);
            expect(given.where.offset % align == 0);
            admit(given, size);
        } else if (possible && Strategy::exact) {
            expect(spare() < (counts_holes ? 2 : 1));
            if (asked) expect(said.reason == refusal::out_of_records);
        }
        expect(!strategy_.allocate({static_cast<offset>(0), static_cast<offset>(1)}));
        expect(!strategy_.allocate({static_cast<offset>(1), static_cast<offset>(3)}));
        expect(!strategy_.allocate({static_cast<offset>(last_offset - any(9)), static_cast<offset>(1)}));
    }

    [[nodiscard]] auto any_block() {
        auto block = live_.begin();
        std::advance(block, static_cast<std::ptrdiff_t>(any(live_.size())));
        return block;
    }
    void deallocate() {
        if (live_.empty()) return;
        const auto block = any_block();
        check_bytes(block->second, block->second.end - block->second.begin - header);
        expect(strategy_.capacity(block->second.held) == block->second.end - block->second.begin - header);
        strategy_.deallocate(block->second.held);
        live_.erase(block);
    }

    void allocate_at() {
        const number size = any_size();
        number at = any(sizeof(offset) == 1 ? 240 : 2600);
        if (!one_in(4)) at = at / granule * granule;
        const auto all = holes();
        if (one_in(2) && !all.empty()) at = all[static_cast<std::size_t>(any(all.size()))].begin + header;
        if (base_ + at > last_offset || size > last_offset) return;
        const extent wanted{to_offset(at), static_cast<offset>(size)};
        bool possible = false;
        number records = 0;
        if (at >= header && at % granule == 0) {
            for (const part& hole : all) {
                if (!may_lie(hole, at - header, node_size(size))) continue;
                possible = true;
                records = 1;
                if (counts_holes)
                    records = number{at - header != hole.begin} +
                              number{hole.end - (at - header) - node_size(size) >= min_hole};
            }
        }
        const refusal reason = !possible            ? refusal::not_free
                               : records <= spare() ? refusal::none
                                                    : refusal::out_of_records;
        if (one_in(2)) expect(strategy_.diagnose_at(wanted).reason == reason);
        const allocation given = strategy_.allocate_at(wanted);
        expect(!given || reason == refusal::none);
        if (!Deferred || Strategy::exact) expect(given || reason != refusal::none);
        if (!given) return;
        expect(given.where == wanted);
        admit(given, size);
    }

    void resize() {
        if (live_.empty()) return;
        const auto block = any_block();
        live_block& held = block->second;
        const number size = one_in(3) ? any_size() : 1 + any(2 * (held.end - held.begin)), need = node_size(size);
        if (size > last_offset) return;
        number end = held.end;
        for (const part& hole : holes())
            if (hole.begin == held.end) end = hole.end;
        for (const extent& where :
             extents_)  // no hole joins across the end of an extent, even if two extents are adjacent
            if (held.end == usable(where).end) end = held.end;
        const number had = held.end - held.begin;
        const bool fits = need <= end - held.begin;
        const bool needs_record = counts_holes && end == held.end && need <= had && had - need >= min_hole;
        const bool done = strategy_.resize(held.held, static_cast<offset>(size));
        if (done) expect(fits);
        if (!Deferred || end == held.end) expect(done == (fits && (!needs_record || spare() >= 1)));
        expect(!strategy_.resize(held.held, 0));
        if (!done) return;
        const number kept = held.held.where.size < size ? held.held.where.size : size;
        check_bytes(held, kept);
        held.held.where.size = static_cast<offset>(size);
        const number capacity = strategy_.capacity(held.held);
        expect(capacity >= size);
        expect(held.begin + header + capacity <= end);
        held.end = held.begin + header + capacity;
        fill(held);
    }

    void resize_extent() {
        if (several_ || extents_.empty()) return;
        extent& where = extents_[0];
        const part had = usable(where);
        number last = had.begin;  // end of the last block
        if (!live_.empty()) last = live_.rbegin()->second.end;
        const number first = from_offset(where.offset), least = live_.empty() ? 0 : last + tail - first;
        expect(strategy_.least_size(where) == least);
        number size = 1 + any(most_bytes);
        if (one_in(4) && least != 0) size = least + any(2) * any(6 * word) - any(2);
        if (one_in(4)) {
            const number asked = any_size(), align = number{1} << any(6);
            if (asked > last_offset) return;
            const typename Strategy::layout_type wanted{static_cast<offset>(asked), static_cast<offset>(align)};
            size = strategy_.size_for(where, wanted);
            if (size == 0 || first + size > most_bytes || size > Options.largest_extent || size <= where.size) return;
            if (!strategy_.can_extend(where, wanted)) return;
            expect(strategy_.resize_extent(where, static_cast<offset>(size)));
            touch(where.offset, size);
            where.size = static_cast<offset>(size);
            if (Options.probes != allot::all_holes) return;
            const allocation given = strategy_.allocate(wanted);
            expect(bool(given));
            admit(given, asked);
            return;
        }
        if (size == 0 || from_offset(where.offset) + base_ + size > last_offset) return;
        const part now = usable({where.offset, static_cast<offset>(size)});
        const number hole = had.end - last;
        bool possible = now.end != 0 && now.end >= last;
        if (possible && now.end > had.end)
            possible = hole != 0 || (now.end - had.end >= min_hole && (!counts_holes || spare() >= 1));
        if (possible && now.end < had.end) possible = now.end == last || now.end - last >= min_hole;
        expect(strategy_.resize_extent(where, static_cast<offset>(size)) == possible);
        if (!possible) return;
        touch(where.offset, size);
        where.size = static_cast<offset>(size);
    }
    void touch(offset from, number size) {
        if (in_band)
            for (number at = 0; at != size; ++at) touched_[static_cast<std::size_t>(from + at)] = true;
    }

    void remove() {
        if (extents_.empty()) return;
        const std::size_t which = static_cast<std::size_t>(any(extents_.size()));
        const extent where = extents_[which];
        const part in = usable(where);
        const auto block = live_.lower_bound(in.begin);
        const bool empty = block == live_.end() || block->first >= in.end;
        expect(strategy_.remove(where) == empty);
        if (!empty) return;
        extents_.erase(extents_.begin() + static_cast<std::ptrdiff_t>(which));
        insert(where);
    }

    Strategy strategy_;
    std::mt19937 random_;
    number base_ = 0;
    bool several_ = false;
    std::vector<extent> extents_;
    std::map<number, live_block> live_;
    std::array<bool, 1 << 14> touched_{};
};

/// The strategy itself, or deferred with options.
template <class Strategy, deferred_options... Deferred>
struct or_deferred {
    using type = Strategy;
};
template <class Strategy, deferred_options Deferred>
struct or_deferred<Strategy, Deferred> {
    using type = allot::deferred<Strategy, Deferred>;
};

template <best_fit_options Options, class Offset, deferred_options... Deferred>
void play() {
    constexpr bool in_band = Options.store == node_store::in_band;
    using strategy = allot::best_fit<Options, Offset, own_memory>;
    using played = typename or_deferred<strategy, Deferred...>::type;
    const char* const set = std::getenv("ALLOT_LONG");
    const std::uint32_t rounds = set != nullptr && *set == '1' ? 2000 : 20;
    int line = 0;
    std::uint32_t seed = 0;
    while (line == 0 && seed != rounds) {
        try {
            std::make_unique<match<played, Options, sizeof...(Deferred) != 0>>(++seed)->play(700);
        } catch (unmet expectation) {
            line = expectation.line;
        }
    }
    CAPTURE(in_band);
    CAPTURE(sizeof(Offset));
    CAPTURE(Options.granule);
    CAPTURE(seed);
    CHECK_MESSAGE(line == 0, "the expectation in line ", line);
}

}  // namespace

TEST_CASE("best_fit: random calls agree with the oracle for 8-bit offsets and a side table") {
    play<best_fit_options{.records = 9, .granule = 4, .candidates = 1, .large = 50}, std::uint8_t>();
    play<best_fit_options{.granule = 16, .probes = 2, .largest_extent = 201}, std::uint8_t>();
}

TEST_CASE("best_fit: random calls agree with the oracle for 16-bit offsets") {
    play<best_fit_options{.candidates = 1, .large = 300, .largest_extent = 1999}, std::uint16_t>();
    play<best_fit_options{.store = node_store::in_band, .large = 77, .largest_extent = 2003}, std::uint16_t>();
}

TEST_CASE("best_fit: random calls agree with the oracle for 32-bit offsets") {
    play<best_fit_options{.granule = 64, .large = 200}, std::uint32_t>();
    play<best_fit_options{.records = 17, .candidates = 3, .probes = 5, .large = 111, .largest_extent = 1234},
         std::uint32_t>();
    play<best_fit_options{.store = node_store::in_band, .candidates = 1}, std::uint32_t>();
}

TEST_CASE("best_fit: random calls agree with the oracle with an index of offsets") {
    play<best_fit_options{.granule = 2, .offset_index = true}, std::uint16_t>();
    play<best_fit_options{.records = 40, .large = 200, .offset_index = true}, std::uint32_t>();
    play<best_fit_options{.granule = 16, .candidates = 1, .offset_index = true, .prefer_size = true}, std::uint64_t>();
    play<best_fit_options{.offset_index = true}, std::uint64_t>();
}

TEST_CASE("best_fit: random calls agree with the oracle for 64-bit offsets") {
    play<best_fit_options{}, std::uint64_t>();
    play<best_fit_options{.records = 12, .granule = 16, .candidates = 2, .largest_extent = 1000}, std::uint64_t>();
    play<best_fit_options{.records = 30, .granule = 8, .candidates = 1, .largest_offset = std::size_t{1} << 30},
         std::uint64_t>();
    play<best_fit_options{.store = node_store::in_band, .probes = 3, .large = 250}, std::uint64_t>();
}

TEST_CASE("deferred: random calls agree with the oracle for 16-bit offsets") {
    play<best_fit_options{.store = node_store::in_band}, std::uint16_t,
         deferred_options{.largest = 100, .share = 1000}>();
}

TEST_CASE("deferred: random calls agree with the oracle for 32-bit offsets") {
    play<best_fit_options{.store = node_store::in_band, .candidates = 1}, std::uint32_t,
         deferred_options{.largest = 60}>();
    play<best_fit_options{.store = node_store::in_band, .prefer_size = true}, std::uint32_t,
         deferred_options{.share = 1, .joins = 3}>();
}

TEST_CASE("deferred: random calls agree with the oracle for 64-bit offsets") {
    play<best_fit_options{.store = node_store::in_band, .large = 250, .largest_extent = 2477}, std::uint64_t,
         deferred_options{.largest = 400, .share = 0}>();
    play<best_fit_options{.store = node_store::in_band, .probes = 3}, std::uint64_t,
         deferred_options{.share = 500, .joins = 1}>();
}
