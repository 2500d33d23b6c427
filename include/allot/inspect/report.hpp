// SPDX-License-Identifier: BSL-1.0
// report: describes a memory and a request that it refused, as text for people or as JSON.
//
//     if (const auto block = memory.allocate(wanted); !block)
//         std::fputs(allot::report(memory, wanted).c_str(), stderr);
//
//     request of 4096 bytes aligned to 64: refused, enough bytes are free, but no hole fits the size and alignment
//     memory of 65536 bytes in 1 region
//       40000 bytes in 12 blocks, 50000 bytes at the peak, 3 of 120 requests refused
//       25536 bytes free in 9 holes, the largest has 3000 bytes, 88% of the free bytes are outside it
//       after compaction, the largest hole has 25536 bytes: enough for the request
//       30000 bytes in 3 blocks: weights (32000 bytes at the peak)
//       10000 bytes in 9 blocks: src/decode.cpp:45 (18000 bytes at the peak)
//       region at 0x10000: 65536 bytes, 25536 bytes free in 9 holes, the largest has 3000 bytes
//
// Regions of memory with handles are numbered from 1, because their addresses are offsets.
//
// A report has the parts that the allocator supports. `counted` adds the counters and `tagged` adds the tags. A
// composition with `for_each_part` (`fallback`, `segregated`, `paged`) adds a description of each of its allocators,
// and its reason, except for `paged`, whose allocators receive other requests.
//
// The bytes after compaction are stated for an arena of `best_fit` or `deferred`, with or without wrappers. They are a
// lower bound for records in band and for guards, because a merged hole needs fewer. A report says "enough" only if the
// request is certain to be served after compaction, in spite of the alignment and of the limits of the wrappers.
//
// The text goes to a buffer of the caller, to a sink (a function that accepts a std::string_view), or to a std::string.
// With a buffer or a sink, a report allocates nothing. A std::string is on the heap: use a buffer if the heap is
// exhausted. A report calls `diagnose`, which changes only these allocators:
// - `paged` allocates and frees the block, which its parts count.
// - `quarantined` and `block_cache` free the kept blocks if the request would fail with them.
// - `tagged` and `indexed` can add room to a table of records on the heap.
//
// When to use: to log why a request failed, and to show the state of a memory to a person or a tool.
// When not to use: to decide on a remedy in a program. Use `diagnose` and `statistics`.
//
// Complexity: O(regions * holes + blocks + options.tags * tags).
// Memory: none, except for the result of the function that returns a std::string.
// Thread safety: that of the allocator. A report of a `synchronized` allocator holds its lock, so the sink must not use
// the allocator.
#pragma once

#include <allot/inspect/detail/memory_facts.hpp>
#include <allot/inspect/detail/report_writer.hpp>

#include <span>
#include <string>

namespace allot {
inline namespace v1 {

/// The form of a report.
enum class report_format : unsigned char {
    text,  ///< Lines for people.
    json,  ///< One JSON object.
};

/// The options of `report`.
struct report_options {
    report_format format = report_format::text;  ///< The form.
    std::size_t tags = 16;                       ///< The number of listed tags, of those with the most bytes in use.
    std::size_t regions = 16;                    ///< The number of listed regions.
};

namespace detail {

template <class Sink>
class reporter {
public:
    reporter(Sink& sink, layout wanted, const report_options& options) noexcept
        : to_{sink, options.format == report_format::json}, wanted_{wanted}, options_{options} {}

    template <class Allocator>
    void whole(Allocator& memory) {
        const bool asked = wanted_.size != 0;
        const diagnosis found = asked ? memory.diagnose(wanted_) : diagnosis{};
        const bool is_served = asked && found.reason == refusal::none;
        if (to_.json()) {
            to_.open("", "{");
            if (asked) {
                to_.open("request", "{");
                to_.field("size", wanted_.size);
                to_.field("align", wanted_.align);
                to_.close("}");
                reason(found);
            }
            to_.open("memory", "{");
            describe(memory, wanted_, is_served);
            to_.close("}");
            to_.close("}");
            to_.text("\n");
            return;
        }
        if (asked) {
            to_.text("request of ").number(wanted_.size).text(" bytes aligned to ").number(wanted_.align).text(": ");
            reason(found);
            to_.text("\n");
        }
        to_.text("memory");
        describe(memory, wanted_, is_served);
    }

private:
    void reason(const diagnosis& found) {
        if (to_.json()) {
            to_.field("reason", name_of(found.reason));
            to_.field("what", std::string_view{found.what()});
            if (found.reason == refusal::device_refused) to_.signed_field("device_error", found.device_error);
            return;
        }
        if (found.reason == refusal::none) {
            to_.text("would be served now");
            return;
        }
        to_.text("refused, ").text(found.what());
        if (found.reason == refusal::device_refused) to_.text(" (error ").signed_number(found.device_error).text(")");
    }

    template <class Allocator>
    void describe(Allocator& memory, layout wanted, bool is_served) {
        const memory_facts facts = facts_of(memory);
        if (to_.json()) json_totals(facts);
        else text_totals(facts);
        compacted(after_compaction(memory, wanted, is_served), wanted, is_served);
        if constexpr (has_tags<Allocator>()) tags(memory);
        if constexpr (with_regions<Allocator>) regions(memory);
        if constexpr (has_parts<Allocator>()) parts(memory);
        if (!to_.json()) to_.outdent();
    }

    void text_totals(const memory_facts& facts) {
        if (facts.has_size) bytes(" of ", facts.size, "");
        if (facts.regions != 0) count(" in ", facts.regions, "region");
        to_.text("\n");
        to_.indent();
        const allocator_statistics& now = facts.counters;
        if (facts.has_blocks) {
            to_.line();
            bytes("", now.used, " in ").number(now.count).text(now.count == 1 ? " block" : " blocks");
            if (facts.has_counters) {
                bytes(", ", now.peak, " at the peak");
                to_.text(", ").number(now.refusals).text(" of ").number(now.requests).text(" requests refused");
            }
            to_.text("\n");
        }
        if (!facts.has_holes) return;
        to_.line();
        holes(facts.holes);
        if (facts.holes.count > 1)
            to_.text(", ").number(percent_outside(facts.holes)).text("% of the free bytes are outside it");
        to_.text("\n");
    }
    void json_totals(const memory_facts& facts) {
        if (facts.has_size) to_.field("size", facts.size);
        if (facts.has_blocks) {
            to_.field("used", facts.counters.used);
            to_.field("blocks", facts.counters.count);
        }
        if (facts.has_counters) {
            to_.field("peak", facts.counters.peak);
            to_.field("requests", facts.counters.requests);
            to_.field("refusals", facts.counters.refusals);
        }
        if (facts.has_holes) json_holes(facts.holes);
    }
    void compacted(const compaction& found, layout wanted, bool is_served) {
        if (!found.known) return;
        const bool asked = wanted.size != 0;
        if (to_.json()) {
            to_.field("largest_hole_after_compaction", found.largest);
            if (asked) to_.flag("enough_after_compaction", found.enough);
            return;
        }
        to_.line();
        bytes("after compaction, the largest hole has ", found.largest, "");
        if (asked && !is_served) {
            if (found.enough) to_.text(": enough for the request");
            else if (found.largest < wanted.size) to_.text(": too few");
        }
        to_.text("\n");
    }
    [[nodiscard]] static std::uint64_t percent_outside(const hole_facts& found) noexcept {
        std::uint64_t free = found.free, outside = free - found.largest;
        if (free > ~std::uint64_t{0} / 100) {  // the product would overflow
            free >>= 7U;
            outside >>= 7U;
        }
        return 100 * outside / free;
    }
    void json_holes(const hole_facts& found) {
        to_.field("free", found.free);
        to_.field("holes", found.count);
        to_.field("largest_hole", found.largest);
    }
    void holes(const hole_facts& found) {
        bytes("", found.free, " free");
        if (found.count == 0) return;
        count(" in ", found.count, "hole");
        bytes(", the largest has ", found.largest, "");
    }
    report_writer<Sink>& bytes(std::string_view before, std::size_t n, std::string_view after) {
        return to_.text(before).number(n).text(n == 1 ? " byte" : " bytes").text(after);
    }
    report_writer<Sink>& count(std::string_view before, std::size_t n, std::string_view what) {
        return to_.text(before).number(n).text(" ").text(what).text(n == 1 ? "" : "s");
    }

    /// Lists the tags with live blocks or refusals, those with the most bytes first.
    template <class Allocator>
    void tags(const Allocator& memory) {
        if (to_.json()) to_.open("tags", "[");
        std::size_t below = ~std::size_t{0}, after = 0, listed = 0, all = 0;  // of the last one: its bytes, its place
        for_tags(memory, [&](const auto&, const allocator_statistics& now) { all += is_listed(now); });
        for (; listed < options_.tags && listed != all; ++listed) {
            std::size_t best = ~std::size_t{0}, most = 0, place = 0;
            for_tags(memory, [&](const auto&, const allocator_statistics& now) {
                const std::size_t here = place++;
                if (!is_listed(now) || now.used > below || (now.used == below && here < after)) return;
                if (best != ~std::size_t{0} && now.used <= most) return;
                best = here;
                most = now.used;
            });
            place = 0;
            for_tags(memory, [&](const auto& tag, const allocator_statistics& now) {
                if (place++ == best) one_tag(tag, now);
            });
            below = most;
            after = best + 1;
        }
        if (to_.json()) {
            to_.close("]");
        } else if (listed != all) {
            to_.line();
            count("and ", all - listed, "more tag");
            to_.text("\n");
        }
    }
    [[nodiscard]] static bool is_listed(const allocator_statistics& now) noexcept {
        return now.count != 0 || now.refusals != 0;
    }
    template <class Tag>
    void one_tag(const Tag& tag, const allocator_statistics& now) {
        const std::string_view name = tag.name == nullptr ? std::string_view{} : std::string_view{tag.name};
        if (to_.json()) {
            to_.open("", "{");
            to_.field("name", name);
            if (tag.line != 0) to_.field("line", tag.line);
            to_.field("used", now.used);
            to_.field("blocks", now.count);
            to_.field("peak", now.peak);
            to_.field("requests", now.requests);
            to_.field("refusals", now.refusals);
            to_.close("}");
            return;
        }
        to_.line();
        bytes("", now.used, " in ").number(now.count).text(now.count == 1 ? " block: " : " blocks: ");
        to_.text(name.empty() ? std::string_view{"(no tag)"} : name);
        if (tag.line != 0) to_.text(":").number(tag.line);
        bytes(" (", now.peak, " at the peak");
        if (now.refusals != 0) to_.text(", ").number(now.refusals).text(" of its requests refused");
        to_.text(")\n");
    }

    template <class Allocator>
    void regions(const Allocator& memory) {
        if (to_.json()) to_.open("regions", "[");
        std::size_t listed = 0, all = 0;
        for (const auto& region : memory.regions()) {
            if (!region || ++all > options_.regions) continue;
            ++listed;
            one_region(memory, region, all);
        }
        if (to_.json()) {
            to_.close("]");
        } else if (listed != all) {
            to_.line();
            count("and ", all - listed, "more region");
            to_.text("\n");
        }
    }
    template <class Allocator, class Region>
    void one_region(const Allocator& memory, const Region& region, std::size_t number) {
        using model = typename Allocator::address_model;
        const std::uint64_t at = model::position(region.base);
        if (to_.json()) {
            to_.open("", "{");
            to_.field("base", at);
            to_.field("size", region.size);
            to_.field("align", region.align);
            if constexpr (hole_walkable_allocator<Allocator>) json_holes(holes_in(memory, region));
            to_.close("}");
            return;
        }
        if constexpr (model::absolute) to_.line().text("region at 0x").number(at, 16);
        else to_.line().text("region ").number(number);
        bytes(": ", region.size, "");
        if constexpr (hole_walkable_allocator<Allocator>) {
            to_.text(", ");
            holes(holes_in(memory, region));
        }
        to_.text("\n");
    }

    template <class Allocator>
    void parts(Allocator& memory) {
        if (to_.json()) to_.open("parts", "[");
        std::size_t number = 0;
        with_its_parts(memory, [&](auto& part) {
            diagnosis found;
            const bool known = wanted_.size != 0 && diagnose_part(part, wanted_, found);
            const bool is_served = known && found.reason == refusal::none;
            if (to_.json()) {
                to_.open("", "{");
                if (known) reason(found);
                describe(part, known ? wanted_ : layout{.size = 0}, is_served);
                to_.close("}");
                return;
            }
            to_.line().text("part ").number(++number);
            if (known) {
                to_.text(" (request ");
                reason(found);
                to_.text(")");
            }
            describe(part, known ? wanted_ : layout{.size = 0}, is_served);
        });
        if (to_.json()) to_.close("]");
    }

    report_writer<Sink> to_;
    layout wanted_;
    report_options options_;
};

/// Returns true if an allocator can be reported. Otherwise it does not compile.
template <class Allocator>
consteval bool report_requirements() {
    static_assert(!std::is_const_v<Allocator>,
                  "allot: a report calls diagnose, which is not a constant function of every allocator: pass an "
                  "allocator that is not const");
    if constexpr (!std::is_const_v<Allocator>) static_assert(allocator_requirements<Allocator>());
    return allocator<Allocator>;
}

}  // namespace detail

/// Passes a report of `memory` and of a request to `sink`, in pieces. With an empty layout, the report has no request.
template <class Allocator, class Sink>
    requires std::is_invocable_v<Sink&, std::string_view>
void report(Allocator& memory, layout wanted, Sink&& sink, const report_options& options = {}) {
    if constexpr (!detail::report_requirements<Allocator>()) return;
    else if constexpr (requires { memory.locked([](auto&) {}); })
        memory.locked([&](auto& inside) { report(inside, wanted, sink, options); });
    else detail::reporter<std::remove_reference_t<Sink>>{sink, wanted, options}.whole(memory);
}

/// Writes a report to `buffer`, with a zero at its end. Returns the length of the whole report, which is cut off if it
/// exceeds the buffer.
template <class Allocator>
std::size_t report(Allocator& memory, layout wanted, std::span<char> buffer, const report_options& options = {}) {
    detail::buffer_sink sink{buffer.data(), buffer.size()};
    report(memory, wanted, sink, options);
    return sink.finish();
}

/// Returns a report. The string is on the heap.
template <class Allocator>
[[nodiscard]] std::string report(Allocator& memory, layout wanted = {}, const report_options& options = {}) {
    std::string text;
    report(memory, wanted, [&](std::string_view piece) { text += piece; }, options);
    return text;
}

}  // namespace v1
}  // namespace allot
