// The ledger: makes calls to a subject, models the occupied memory, and checks the laws after every call. The model is
// brute force: ranges of occupied bytes, and the holes between them. In band, a block has a word before it and occupies
// whole pairs of words, at least four words. With a side table, it occupies exactly the requested bytes.
#pragma once

#include "subject.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <sstream>
#include <string>
#include <vector>

namespace laws {

/// A range of bytes in a space, counted from its first byte.
struct run {
    number from = 0, to = 0;
    [[nodiscard]] number size() const { return to - from; }
};

/// Returns the bytes that a block of `size` bytes occupies. In band: a word before it, whole pairs of words, at least
/// four words.
[[nodiscard]] inline number node_size(number size, const node_shape& shape) {
    const number own = shape.header + shape.behind;
    if (size > ~number{0} - 2 * shape.granule - own) return ~number{0};
    const number whole = (size + own + shape.granule - 1) / shape.granule * shape.granule;
    return std::max(whole, shape.least);
}

/// Returns the part of a space that blocks can occupy: the caller's bytes start and end at multiples of the granule,
/// and one node fits.
[[nodiscard]] inline run usable(const space& in, const node_shape& shape) {
    number first = 0, last = in.size;
    while (first < last &&
           ((in.start + first + shape.header) % shape.granule != 0 || (in.start + first) % shape.first_align != 0))
        ++first;
    while (last > 0 && ((in.start + last) % shape.granule != 0 || (in.start + last) % shape.end_align != 0)) --last;
    if (last < first + shape.least + shape.tail) return {};
    return {first, last - shape.tail};
}

/// Returns true if the request fits in a hole, by trying every aligned position. The rest before the block must be
/// empty or large enough for a node. The rest after the block may become part of the block.
[[nodiscard]] inline bool fits(const run& hole, const space& in, layout wanted, const node_shape& shape) {
    const number need = node_size(wanted.size, shape);
    const number step = std::max<number>(wanted.align, shape.granule);
    number at = (number{0} - (in.start + hole.from + shape.header)) & (step - 1);
    while (at <= hole.size() && need <= hole.size() - at) {
        if (at == 0 || at >= shape.least) return true;
        at += step;
    }
    return false;
}

/// The model of a subject. Makes calls to the subject and checks the laws after each.
class ledger {
public:
    explicit ledger(subject& of) : s_{of}, c_{of.contract} {}

    struct entry {
        id block = nothing;
        layout wanted;
        number capacity = 0;
        std::vector<piece> pieces;
        bool live = true;  // false: deallocated, but not in an order that makes it reusable
    };

    [[nodiscard]] const std::vector<entry>& entries() const { return entries_; }
    [[nodiscard]] std::size_t live() const { return live_; }
    [[nodiscard]] std::size_t served() const { return served_; }

    /// Returns the index of the entry to free next; `choice` selects one if several are possible.
    [[nodiscard]] std::size_t next_to_free(number choice, bool in_order = true) const {
        std::vector<std::size_t> live;
        for (std::size_t i = 0; i != entries_.size(); ++i) {
            if (entries_[i].live) live.push_back(i);
        }
        if (c_.in_order) in_order = true;
        if (in_order && c_.reclaims == reclaim::lifo) return live.back();
        if (in_order && c_.reclaims == reclaim::fifo) return live.front();
        return live[static_cast<std::size_t>(choice % live.size())];
    }

    id allocate(layout wanted) {
        note("allocate", wanted.size, wanted.align);
        const std::vector<space> before = s_.spaces();
        const bool valid = wanted.size != 0 && allot::is_alignment(wanted.align);
        const bool honoured = valid && s_.honours(wanted.align);
        const bool fitting = honoured && hole_for(wanted, before);
        const bool records = records_left(before) >= 2;
        const bool growable =
            honoured && c_.grows && records_left(before) >= records_to_grow(before) && may_grow(wanted, before);
        const std::size_t refusals = s_.device_refusals();
        const allot::diagnosis expected = s_.diagnose(wanted);

        const id block = s_.allocate(wanted);
        const std::vector<space> after = s_.spaces();
        const bool device_refused = s_.device_refusals() != refusals;

        if (block == nothing) {
            const allot::diagnosis error = s_.diagnose(wanted);
            law(c_.releases || after == before, "a refused request changes no region");
            law(error.reason != refusal::none, "a refused request has a reason");
            law(c_.releases || device_refused || expected == error,
                "the reason is known before, and the refusal does not change it");
            law(device_refused || expected.reason != refusal::none, "what would be served is served");
            if (c_.exact) law(!fitting || !records, "a request is refused only when no hole fits it");
            if (c_.exact && c_.grows)
                law(!growable || device_refused, "an arena that may grow is refused only by its device");
            if (device_refused && !c_.releases) {
                law(error.reason == refusal::device_refused, "diagnose says that the device refused");
                law(error.device_error == s_.device_error(), "diagnose has the device's own code");
            }
            reason_is_true(error, wanted, before, honoured, fitting, device_refused);
        } else {
            law(expected.reason == refusal::none || c_.releases ||
                    (c_.grows && expected.reason == refusal::device_refused),
                "a request fails if diagnose returns a reason");
            law(valid, "an invalid layout fails");
            if (c_.exact && fitting)
                law(held_in(after) == held_in(before), "the device is called only if no hole fits");
            enter(block, wanted, after);
        }
        within_limit(after);
        return block;
    }

    void deallocate(std::size_t index) {
        entry& held = entries_[index];
        note("deallocate", held.block);
        law(contents_kept(held), "contents are kept until the block is freed");
        s_.deallocate(held.block);
        --live_;
        held.live = false;
        if (!is_reclaimed(index)) {
            std::erase_if(held.pieces, [](const piece& each) { return each.reused; });
            return;
        }
        const number end = held.pieces[0].at + held.pieces[0].size;
        entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(index));
        ring_from_ = entries_.empty() || entries_[0].pieces[0].at < end ? 0 : end;
        while (!marks_.empty() && marks_.back().entries > index) marks_.pop_back();  // an older block was freed
    }

    /// Frees all blocks in the order of reuse, and the remaining ones by a reset.
    void free_all(number choice = 0) {
        while (live_ != 0) deallocate(next_to_free(choice++));
        if (!entries_.empty() && c_.resets) reset();
    }

    void allocate_at(std::size_t where, number at, number size) {
        note("in space", where);
        note("claim", at, size);
        const std::vector<space> before = s_.spaces();
        const bool possible = positional(before[where], where, at, size);
        const bool records = records_left(before) >= 2;
        const allot::refusal foretold = s_.diagnose_at(where, at, size).reason;
        const id block = s_.allocate_at(where, at, size);
        law((block != nothing) == (foretold == allot::refusal::none), "diagnose_at predicts whether allocate_at fails");
        law((foretold == allot::refusal::not_free || foretold == allot::refusal::empty_layout) == !possible,
            "allocate_at fails as not free if the extent is not free, and otherwise as out of records");
        if (block == nothing) {
            law(!possible || !records, "allocate_at succeeds for a free extent");
        } else {
            law(possible, "allocate_at succeeds only for a free extent");
            enter(block, {static_cast<std::size_t>(size), 1}, before);
            law(entries_.back().pieces[0].at == at && entries_.back().pieces[0].space == where,
                "a block of allocate_at has the given position");
        }
    }

    void resize(std::size_t index, number size) {
        entry& held = entries_[index];
        note("resize", held.block, size);
        const std::vector<space> spaces = s_.spaces();
        const run old{held.pieces[0].at - c_.nodes.header, held.pieces[0].at + held.capacity + c_.nodes.behind};
        const number above = hole_at(held.pieces[0].space, old.to, spaces);
        const bool possible = size != 0 && node_size(size, c_.nodes) <= old.size() + above;
        const bool records = records_left(spaces) >= 1;
        // The last block of a region that grows in place may grow up to this position.
        const bool last = c_.in_place && old.to + above == usable(spaces[0], c_.nodes).to;
        const bool reachable = last && size != 0 && node_size(size, c_.nodes) <= largest(spaces[0]).to - old.from;
        const std::size_t refusals = s_.device_refusals();
        law(contents_kept(held), "contents are kept until a resize");
        const bool done = s_.resize(held.block, size);
        const bool device_refused = s_.device_refusals() != refusals;
        const std::vector<space> after = s_.spaces();
        if (c_.holes == holes::anywhere) {
            law(done ? possible || reachable : !possible || !records,
                "a block grows if and only if the bytes above it are free");
            if (c_.exact) law(done || !reachable || !records || device_refused, "the last block grows with its region");
        }
        const std::vector<piece> now = s_.pieces(held.block);
        law(now[0].at == held.pieces[0].at && now[0].space == held.pieces[0].space,
            "a resized block keeps its position");
        law(after == spaces || (done && !possible && reachable && after[0].start == spaces[0].start),
            "a resize calls the device only for the last block of a region that grows in place");
        within_limit(after);
        if (!done) {
            law(s_.capacity(held.block) == held.capacity, "a failed resize changes nothing");
            law(contents_kept(held), "a failed resize keeps the contents");
            return;
        }
        entry changed = held;
        changed.capacity = s_.capacity(held.block);
        law(size <= changed.capacity, "the capacity is at least the new size");
        held.capacity = changed.capacity < held.capacity ? changed.capacity : held.capacity;
        if (size < held.capacity) held.capacity = size;
        law(contents_kept(held), "a resize keeps the common contents of both sizes");
        entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(index));
        --live_;
        enter(changed.block, {static_cast<std::size_t>(size), 1}, after);
        // The entry keeps its age: the order of reuse is the order of allocation.
        std::rotate(entries_.begin() + static_cast<std::ptrdiff_t>(index), entries_.end() - 1, entries_.end());
    }

    void reset() {
        note("reset");
        const std::vector<space> before = s_.spaces();
        s_.reset();
        law(s_.spaces() == before, "a reset keeps the regions");
        entries_.clear();
        live_ = 0;
        ring_from_ = 0;
        marks_.clear();
    }

    std::size_t mark() {
        note("mark");
        marks_.push_back({s_.mark(), entries_.size()});
        return marks_.size() - 1;
    }
    [[nodiscard]] std::size_t marks() const { return marks_.size(); }
    /// Returns the subject's number of the mark.
    std::size_t rollback(std::size_t index) {
        note("rollback", index);
        const std::vector<space> before = s_.spaces();
        s_.rollback(marks_[index].of_subject);
        law(s_.spaces() == before, "a rollback keeps the regions");
        entries_.resize(marks_[index].entries);
        live_ = 0;
        for (const entry& held : entries_) live_ += held.live;
        if (entries_.empty()) ring_from_ = 0;
        marks_.resize(index + 1);  // a mark stays valid after a rollback to it; later marks do not
        return marks_[index].of_subject;
    }

    void trim() {
        note("trim");
        const std::vector<space> before = s_.spaces();
        const number released = s_.trim();
        const std::vector<space> after = s_.spaces();
        number gone = 0;
        for (std::size_t i = 0; i != before.size(); ++i) {
            const bool occupied = !nodes_in(i).empty();
            if (c_.in_place) {
                law(after[i].size == 0 || after[i].start == before[i].start, "a trim does not move a region");
                law(after[i].size <= before[i].size, "a trim makes no region larger");
                law((after[i].size != 0) == occupied, "a trim keeps a region if and only if it has a block");
                for (const run& each : nodes_in(i)) law(each.to <= after[i].size, "a trim keeps every block inside");
                gone += before[i].size - after[i].size;
                continue;
            }
            law(after[i].size == 0 || after[i] == before[i], "a trim changes no region that it keeps");
            if (occupied) law(after[i] == before[i], "a trim releases no region with a block");
            if (!occupied) law(after[i].size == 0, "a trim releases every region without a block");
            gone += before[i].size - after[i].size;
        }
        law(released == gone, "a trim returns the number of released bytes");
        within_limit(after);
    }

    /// Removes one extent and inserts it again.
    void remove(std::size_t where) {
        note("remove", where);
        const std::vector<space> before = s_.spaces();
        const bool records = records_left(before) >= 1;
        const bool occupied = !nodes_in(where).empty();
        const bool usable_at_all =
            c_.slot != 0 ? before[where].size >= c_.slot + c_.slot_align : usable(before[where], c_.nodes).size() != 0;
        const bool done = s_.remove(where);
        law(done == (!occupied && usable_at_all), "an extent is removable if and only if all of it is free");
        if (!done) return;
        const std::vector<space> without = s_.spaces();
        for (number size = before[where].size; size != 0; size /= 2) {
            const layout wanted{static_cast<std::size_t>(size), 1};
            const bool fitting = hole_for(wanted, without);
            law(s_.diagnose(wanted).reason == refusal::none ? fitting : !fitting || records_left(without) < 2,
                "no block is in a removed extent");
        }
        law(s_.insert(where) || !records, "a removed extent can be inserted again");
    }

    void move() {
        note("move");
        const std::vector<space> before = s_.spaces();
        s_.move();
        law(s_.spaces() == before, "a moved arena keeps its regions");
    }

    /// Without blocks, every space is one hole again: its largest block can be allocated, in all spaces together.
    void is_whole() {
        law(live_ == 0, "all memory is released");
        if (!entries_.empty()) return;  // never reusable
        std::vector<number> largest;
        for (const space& each : s_.spaces()) {
            const run all = usable(each, c_.nodes);
            if (all.size() != 0)
                largest.push_back(c_.slot != 0 ? c_.slot : all.size() - c_.nodes.header - c_.nodes.behind);
        }
        if (largest.empty()) return;
        std::sort(largest.begin(), largest.end(), std::greater<>{});
        if (c_.records != 0 && c_.records < 2 + 2 * largest.size()) return;
        if (!c_.exact || c_.one_by_one) largest.erase(largest.begin() + 1, largest.end());
        const std::vector<space> before = s_.spaces();
        if (c_.slot != 0) largest.assign(static_cast<std::size_t>(free_slots(before)), c_.slot);
        for (const number size : largest) {
            if (c_.records != 0 && records_left(before) < 2) break;
            const id block = allocate({static_cast<std::size_t>(size), 1});
            if (c_.exact) law(block != nothing, "after all blocks are freed, every region is one hole again");
        }
        // A strategy that does not visit every hole may miss the hole that fits.
        const bool may_miss = !c_.exact && !c_.one_by_one && c_.slot == 0;
        if (!may_miss) law(held_in(s_.spaces()) == held_in(before), "the freed bytes are sufficient");
        free_all();
    }

    /// Checks that every block still has its contents.
    void all_contents_kept() {
        for (const entry& held : entries_) {
            if (held.live) law(contents_kept(held), "contents are kept");
        }
    }

    [[nodiscard]] std::string calls() const {
        std::ostringstream out;
        const std::size_t from = calls_.size() > 60 ? calls_.size() - 60 : 0;
        if (from != 0) out << "\n    … " << from << " calls";
        for (std::size_t i = from; i != calls_.size(); ++i)
            out << "\n    " << calls_[i].what << ' ' << calls_[i].first << ' ' << calls_[i].second;
        return out.str();
    }

private:
    struct call {
        const char* what;
        number first, second;
    };
    struct remembered {
        std::size_t of_subject, entries;
    };

    void note(const char* what, number first = 0, number second = 0) { calls_.push_back({what, first, second}); }
    void law(bool holds, const char* what) const {
        if (!holds) break_law(std::string{what} + calls());
    }

    [[nodiscard]] static number held_in(const std::vector<space>& spaces) {
        number held = 0;
        for (const space& each : spaces) held += each.size;
        return held;
    }

    /// Returns the occupied ranges of one space in ascending order.
    [[nodiscard]] std::vector<run> nodes_in(std::size_t space) const {
        std::vector<run> nodes;
        for (const entry& held : entries_) {
            for (const piece& each : held.pieces) {
                if (each.space == space)
                    nodes.push_back({each.at - c_.nodes.header, each.at + each.size + c_.nodes.behind});
            }
        }
        std::sort(nodes.begin(), nodes.end(), [](const run& a, const run& b) { return a.from < b.from; });
        return nodes;
    }

    /// Returns the holes of one space that the strategy can still allocate.
    [[nodiscard]] std::vector<run> holes_in(std::size_t where, const space& in) const {
        const run all = usable(in, c_.nodes);
        if (all.size() == 0) return {};
        if (c_.one_by_one && !entries_.empty() && where < entries_.back().pieces[0].space) return {};
        const std::vector<run> nodes = nodes_in(where);
        std::vector<run> found;
        const auto add = [&](number from, number to) {
            if (from < to) found.push_back({from, to});
        };
        if (nodes.empty()) {
            add(all.from, all.to);
            return found;
        }
        const piece &oldest = entries_.front().pieces[0], &newest = entries_.back().pieces[0];
        switch (c_.holes) {
            case holes::anywhere: {
                number from = all.from;
                for (const run& node : nodes) {
                    add(from, node.from);
                    from = node.to;
                }
                add(from, all.to);
                break;
            }
            case holes::above: add(nodes.back().to, all.to); break;
            case holes::below: add(all.from, nodes.front().from); break;
            case holes::between: {
                number from = all.from, to = all.to;
                for (const entry& held : entries_) {
                    const piece& each = held.pieces[0];
                    if (held.wanted.size >= c_.large) {
                        to = std::min(to, each.at);
                    } else {
                        from = std::max(from, each.at + each.size);
                    }
                }
                add(from, to);
                break;
            }
            case holes::ring:
                if (newest.at < oldest.at) {
                    add(newest.at + newest.size, ring_from_);
                } else {
                    add(newest.at + newest.size, all.to);
                    add(all.from, ring_from_);
                }
                break;
            case holes::slots: break;
        }
        return found;
    }

    /// Returns true if a slot without a block starts here.
    [[nodiscard]] bool is_free_slot(const space& in, number at) const {
        const number skipped = (number{0} - in.start) & (c_.slot_align - 1);
        if (at < skipped || at >= in.size || (at - skipped) % c_.slot != 0 || in.size - at < c_.slot) return false;
        return (at - skipped) / c_.slot < c_.slot_count &&
               std::none_of(entries_.begin(), entries_.end(), [&](const entry& e) { return e.pieces[0].at == at; });
    }

    /// Returns the number of free slots, where every slot is aligned for all bases.
    [[nodiscard]] number free_slots(const std::vector<space>& spaces) const {
        number slots = 0;
        for (const space& each : spaces) {
            const number skipped = (number{0} - each.start) & (c_.slot_align - 1);
            if (skipped < each.size) slots += std::min((each.size - skipped) / c_.slot, c_.slot_count);
        }
        return slots < entries_.size() ? 0 : slots - entries_.size();
    }

    [[nodiscard]] bool hole_for(layout wanted, const std::vector<space>& spaces) const {
        if (c_.holes == holes::slots)
            return wanted.size <= c_.slot && wanted.align <= c_.slot_align && free_slots(spaces) != 0;
        for (std::size_t i = 0; i != spaces.size(); ++i) {
            for (const run& hole : holes_in(i, spaces[i])) {
                if (fits(hole, spaces[i], wanted, c_.nodes)) return true;
            }
        }
        return false;
    }

    /// Returns the usable range of the region after its largest growth.
    [[nodiscard]] run largest(const space& in) const {
        return usable({in.start, s_.largest_region(), in.known_align}, c_.nodes);
    }
    /// Returns true if the request fits with more memory, within all limits.
    [[nodiscard]] bool may_grow(layout wanted, const std::vector<space>& spaces) const {
        if (!c_.in_place || spaces[0].size == 0) return s_.may_grow(wanted);
        const run all = usable(spaces[0], c_.nodes);
        run end{all.to, largest(spaces[0]).to};
        for (const run& hole : holes_in(0, spaces[0]))
            if (hole.to == all.to) end.from = hole.from;
        return end.from <= end.to && fits(end, spaces[0], wanted, c_.nodes);
    }
    /// A region takes two records, an extension one for a hole at its end, and a block up to two.
    [[nodiscard]] number records_to_grow(const std::vector<space>& spaces) const {
        return c_.in_place && spaces[0].size != 0 ? 3 : 4;
    }

    /// Returns the number of free bytes that start at `from`.
    [[nodiscard]] number hole_at(std::size_t where, number from, const std::vector<space>& spaces) const {
        for (const run& hole : holes_in(where, spaces[where])) {
            if (hole.from == from) return hole.size();
        }
        return 0;
    }

    /// Returns true if the block is reusable immediately after its deallocation.
    [[nodiscard]] bool is_reclaimed(std::size_t index) const {
        switch (c_.reclaims) {
            case reclaim::never: return false;
            case reclaim::any: return true;
            case reclaim::fifo: return index == 0;
            case reclaim::lifo: break;
        }
        const auto is_large = [this](const entry& e) { return c_.large != 0 && e.wanted.size >= c_.large; };
        return std::none_of(entries_.begin() + static_cast<std::ptrdiff_t>(index) + 1, entries_.end(),
                            [&](const entry& newer) { return is_large(newer) == is_large(entries_[index]); });
    }

    /// A side table has one record for every block, every hole and every extent.
    [[nodiscard]] number records_left(const std::vector<space>& spaces) const {
        if (c_.records == 0) return ~number{0};
        number used = entries_.size();
        for (std::size_t i = 0; i != spaces.size(); ++i)
            used += holes_in(i, spaces[i]).size() + (usable(spaces[i], c_.nodes).size() != 0 ? 1 : 0);
        return used > c_.records ? 0 : c_.records - used;
    }

    [[nodiscard]] bool positional(const space& in, std::size_t where, number at, number size) const {
        if (size == 0 || at < c_.nodes.header || size > in.size) return false;
        if (c_.holes == holes::slots) return is_free_slot(in, at) && size <= c_.slot;
        if ((in.start + at) % c_.nodes.granule != 0) return false;
        for (const run& hole : holes_in(where, in)) {
            const number from = at - c_.nodes.header;
            if (from < hole.from || from > hole.to || node_size(size, c_.nodes) > hole.to - from) continue;
            return from == hole.from || from - hole.from >= c_.nodes.least;
        }
        return false;
    }

    /// Checks a new block against all laws and enters it.
    void enter(id block, layout wanted, const std::vector<space>& spaces) {
        entry fresh{block, wanted, s_.capacity(block), s_.pieces(block), true};
        law(wanted.size <= fresh.capacity, "the capacity is at least the size");
        law(!fresh.pieces.empty(), "a block is in the subject's memory");
        for (const piece& each : fresh.pieces) {
            law(each.space < spaces.size() && spaces[each.space].size != 0, "a block is in a region that is held");
            const space& in = spaces[each.space];
            law(each.at <= in.size && each.size <= in.size - each.at, "a block is inside its region");
            law(c_.nodes.header <= each.at, "the record before a block is inside its region");
            if (each.aligned) {
                law((in.start + each.at) % wanted.align == 0, "a block is aligned");
                law(wanted.align <= in.known_align, "an alignment is satisfied only if the base has it");
            }
            const run node{each.at - c_.nodes.header, each.at + each.size + c_.nodes.behind};
            for (const run& other : nodes_in(each.space))
                law(node.to <= other.from || other.to <= node.from, "blocks share no byte");
        }
        entries_.push_back(fresh);
        ++live_;
        ++served_;
        number i = 0;
        for (const piece& each : fresh.pieces) {
            if (each.bytes == nullptr) continue;
            for (number n = 0; n != each.size;) {
                const auto contents = pattern(block, i, each.size - n);
                std::memcpy(each.bytes + n, contents.data(), contents.size());
                n += contents.size();
                i += contents.size();
            }
        }
    }

    /// Returns the contents of a block from byte `i`: `most` bytes, or fewer. Whole runs are copied and compared at
    /// once, because loops over bytes take most of the time with sanitizers.
    [[nodiscard]] static std::span<const std::byte> pattern(id block, number i, number most) {
        constexpr std::size_t period = 32'003;
        static const auto bytes = [] {
            std::vector<std::byte> made(period);
            for (std::size_t n = 0; n != period; ++n) made[n] = static_cast<std::byte>((n * 7 + n / 251) & 0xFF);
            return made;
        }();
        const auto first = static_cast<std::size_t>((block * 151 + i) % period);
        return {bytes.data() + first, static_cast<std::size_t>(std::min<number>(most, period - first))};
    }
    [[nodiscard]] static bool contents_kept(const entry& held) {
        number i = 0;
        for (const piece& each : held.pieces) {
            if (each.bytes == nullptr) continue;
            for (number n = 0; n != each.size && i < held.capacity;) {
                const auto wanted = pattern(held.block, i, std::min<number>(each.size - n, held.capacity - i));
                if (std::memcmp(each.bytes + n, wanted.data(), wanted.size()) != 0) return false;
                n += wanted.size();
                i += wanted.size();
            }
        }
        return true;
    }

    void reason_is_true(const allot::diagnosis& error, layout wanted, const std::vector<space>& spaces, bool honoured,
                        bool fitting, bool device_refused) const {
        number free = 0, largest = 0;
        for (std::size_t i = 0; i != spaces.size(); ++i) {
            for (const run& hole : holes_in(i, spaces[i])) {
                free += hole.size() - c_.nodes.header;
                largest = std::max(largest, hole.size() - c_.nodes.header - c_.nodes.behind);
            }
        }
        if (c_.holes == holes::slots) {
            free = free_slots(spaces) * c_.slot;
            largest = std::min(free, c_.slot);
        }
        const bool counted = c_.exact && !c_.one_by_one;
        switch (error.reason) {
            case refusal::none: break;
            case refusal::empty_layout: law(wanted.size == 0, "empty_layout: the size is 0"); break;
            case refusal::bad_alignment:
                law(wanted.size != 0 && !allot::is_alignment(wanted.align), "bad_alignment: not a power of two");
                break;
            case refusal::misaligned:
                law(!honoured || wanted.align > c_.slot_align, "misaligned: the base does not have this alignment");
                break;
            case refusal::exhausted:
                if (counted) law(largest < wanted.size && !fitting, "exhausted: not enough bytes are free");
                if (counted && c_.holes == holes::anywhere)
                    law(free < c_.nodes.behind || free - c_.nodes.behind < wanted.size,
                        "exhausted: fewer bytes are free than requested");
                break;
            case refusal::fragmented:
                if (counted)
                    law(free >= wanted.size && !fitting, "fragmented: enough bytes are free, but not contiguous");
                break;
            case refusal::not_free: law(false, "not_free is a reason of allocate_at only"); break;
            case refusal::pending: law(false, "pending is a reason of ordered only"); break;
            case refusal::out_of_records:
                // A block takes up to two records, a region two more.
                law(records_left(spaces) < (c_.grows && !fitting ? records_to_grow(spaces) : 2),
                    "out_of_records: the side table is full");
                break;
            case refusal::over_limit:
                if (c_.exact)
                    law(wanted.size > c_.largest_offset || (c_.slot != 0 && wanted.size > c_.slot) ||
                            (c_.grows && !may_grow(wanted, spaces)),
                        "over_limit: a limit exists");
                break;
            case refusal::device_refused:
                law(device_refused || (!c_.grows && free == 0), "device_refused: the device was called");
                break;
        }
        const bool strategy_answered = error.reason == refusal::exhausted || error.reason == refusal::fragmented ||
                                       error.reason == refusal::out_of_records;
        if (counted && strategy_answered && !c_.grows)
            law(error.largest_hole == largest, "diagnose knows the largest hole");
    }

    void within_limit(const std::vector<space>& spaces) const {
        const number held = held_in(spaces);
        law(held <= s_.limit(), "the held bytes do not exceed the growth's limit");
        if (c_.grows) law(held == s_.held_from_device(), "the arena holds all regions of the device");
    }

    subject& s_;
    const contract c_;
    std::vector<entry> entries_;  // in the order of allocation
    std::size_t live_ = 0, served_ = 0;
    std::vector<remembered> marks_;
    number ring_from_ = 0;  // start of the oldest block, including the bytes that alignment skipped before it
    std::vector<call> calls_;
};

}  // namespace laws
