// SPDX-License-Identifier: BSL-1.0
// page: one HTML file that shows a history. It contains the data, the script and the plotting library.
#pragma once

#include "history.hpp"
#include "page_parts.hpp"  // page_html and page_script, made by CMake

#include <allot/inspect/detail/output.hpp>

#include <bit>
#include <string>
#include <string_view>

namespace viewer {

/// Writes the bytes of numbers in base64.
template <class Out, class Number>
void write_base64(Out& out, const std::vector<Number>& numbers) {
    constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::uint32_t bits = 0;
    unsigned count = 0;
    for (const Number number : numbers) {
        for (std::size_t byte = 0; byte != sizeof(Number); ++byte) {
            bits = bits << 8 | static_cast<std::uint8_t>(number >> (8 * byte));
            if (++count != 3) continue;
            for (int shift = 18; shift >= 0; shift -= 6)
                out.byte(static_cast<unsigned char>(digits[bits >> shift & 63]));
            bits = count = 0;
        }
    }
    if (count == 0) return;
    bits <<= 8 * (3 - count);
    for (unsigned i = 0; i != 4; ++i)
        out.byte(static_cast<unsigned char>(i > count ? '=' : digits[bits >> (18 - 6 * i) & 63]));
}

/// Writes the page of a history.
template <class Write>
class page_writer {
public:
    /// `state` is the snapshot that the history shows, or null.
    page_writer(const history& of, const allot::snapshot* state, std::string_view title, Write& write)
        : of_{of}, state_{state}, title_{title}, out_{write} {}

    /// `library` is the text of plotly.min.js.
    void write(std::string_view library) {
        std::string_view rest = page_html;
        while (true) {
            const std::size_t at = rest.find("@@");
            out_.text(rest.substr(0, at));
            if (at == std::string_view::npos) break;
            const std::size_t end = rest.find("@@", at + 2);
            const std::string_view name = rest.substr(at + 2, end - at - 2);
            if (name == "library") out_.text(library);
            if (name == "script") out_.text(page_script);
            if (name == "data") data();
            rest.remove_prefix(end + 2);
        }
        out_.flush();
    }

private:
    static constexpr std::size_t most_blocks = 550'000;

    void member(std::string_view name) {
        out_.text(",\n\"");
        out_.text(name);
        out_.text("\":");
    }
    void number(std::string_view name, std::uint64_t value) {
        member(name);
        out_.number(value);
    }
    template <class Range, class Value>
    void list(std::string_view name, const Range& range, Value value) {
        member(name);
        out_.byte('[');
        bool first = true;
        for (const auto& each : range) {
            if (!first) out_.byte(',');
            first = false;
            value(each);
        }
        out_.byte(']');
    }
    template <class Range>
    void numbers(std::string_view name, const Range& range) {
        list(name, range, [&](std::uint64_t value) { out_.number(value); });
    }
    template <class Number>
    void array(std::string_view name, const std::vector<Number>& values) {
        member(name);
        out_.byte('"');
        write_base64(out_, values);
        out_.byte('"');
    }
    /// Writes a text so that it does not end the script element.
    void text(std::string_view value) {
        for (const char letter : allot::detail::as_json(value)) {
            if (letter == '<') out_.text("\\u003c");
            else out_.byte(static_cast<unsigned char>(letter));
        }
    }

    void data() {
        out_.text("{\"title\":");
        text(title_);
        member("unit");
        out_.text(of_.unit == allot::time_unit::nanoseconds ? "\"ns\"" : "\"count\"");
        number("start", of_.start);
        number("end", of_.end);
        number("events", of_.events);
        number("unknown", of_.unknown);
        number("refusals", of_.refusals);
        number("peak", of_.peak);
        number("allBlocks", of_.blocks.size());
        list("tags", of_.tags, [&](const std::string& tag) { text(tag); });
        list("axis", of_.axis, [&](const axis_part& part) {
            out_.byte('[');
            out_.number(part.address), out_.byte(',');
            out_.number(part.size), out_.byte(',');
            out_.number(part.at), out_.byte(']');
        });
        const auto of_samples = [](auto field) { return [field](const sample& each) { return each.*field; }; };
        const auto column = [&](std::string_view name, auto field) {
            list(name, of_.samples, [&](const sample& each) { out_.number(of_samples(field)(each)); });
        };
        column("sampleTimes", &sample::time);
        column("free", &sample::free);
        column("largestHole", &sample::largest_hole);
        column("holes", &sample::holes);
        numbers("times", of_.over_time.times);
        numbers("live", of_.over_time.live);
        numbers("held", of_.over_time.held);
        list("byTag", of_.over_time.by_tag, [&](const std::vector<std::uint64_t>& one) {
            out_.byte('[');
            for (std::size_t i = 0; i != one.size(); ++i) {
                if (i != 0) out_.byte(',');
                out_.number(one[i]);
            }
            out_.byte(']');
        });
        list("sizeClasses", size_classes(), [&](const std::string& name) { text(name); });
        state();
        blocks();
        out_.byte('}');
    }

    /// Writes the holes of a snapshot, or null.
    void state() {
        member("state");
        if (state_ == nullptr) return out_.text("null");
        std::vector<std::uint64_t> classes(size_classes().size());
        allot::allocator_statistics sums;
        for (const allot::snapshot_range& each : state_->holes) {
            ++classes[size_class(each.size)];
            sums.free += static_cast<std::size_t>(each.size);
            sums.largest_hole = std::max(sums.largest_hole, static_cast<std::size_t>(each.size));
        }
        out_.text("{\"holes\":");
        out_.number(state_->holes.size());
        number("free", sums.free);
        number("largestHole", sums.largest_hole);
        member("fragmentation");
        out_.text(std::to_string(sums.fragmentation()));
        numbers("holeClasses", classes);
        out_.byte('}');
    }

    /// Returns the indices of the blocks to show: those with the largest areas, in the order of the blocks.
    [[nodiscard]] std::vector<std::uint32_t> shown() const {
        std::vector<std::uint32_t> all(of_.blocks.size());
        std::iota(all.begin(), all.end(), 0u);
        if (all.size() <= most_blocks) return all;
        const auto area = [&](std::uint32_t i) {
            const lifetime& each = of_.blocks[i];
            return static_cast<double>(each.size) * static_cast<double>(each.end - each.start + 1);
        };
        std::ranges::nth_element(all, all.begin() + most_blocks, std::greater{}, area);
        all.resize(most_blocks);
        std::ranges::sort(all);
        return all;
    }

    [[nodiscard]] std::uint64_t position(std::uint64_t address) const {
        const auto next = std::ranges::upper_bound(of_.axis, address, {}, &axis_part::address);
        return next[-1].at + (address - next[-1].address);
    }

    /// Times are multiples of `timeUnit` after the start, and positions are multiples of `granule`, so that both fit 32
    /// bits. A size that does not fit is in `largeSizes`.
    void blocks() {
        const std::uint64_t extent = of_.axis.empty() ? 0 : of_.axis.back().at + of_.axis.back().size;
        const auto unit_of = [](std::uint64_t range) { return (range >> 32) + 1; };
        const std::uint64_t time_unit = unit_of(of_.end - of_.start), granule = std::bit_ceil(unit_of(extent));
        std::vector<std::uint32_t> starts, ends, positions, sizes;
        std::vector<std::uint8_t> tags;
        std::vector<std::uint64_t> large;
        for (const std::uint32_t i : shown()) {
            const lifetime& each = of_.blocks[i];
            starts.push_back(static_cast<std::uint32_t>((each.start - of_.start) / time_unit));
            ends.push_back(static_cast<std::uint32_t>((each.end - of_.start) / time_unit));
            positions.push_back(static_cast<std::uint32_t>(position(each.address) / granule));
            sizes.push_back(static_cast<std::uint32_t>(std::min<std::uint64_t>(each.size, 0xFFFF'FFFF)));
            if (sizes.back() == 0xFFFF'FFFF) large.push_back(each.size);
            tags.push_back(static_cast<std::uint8_t>(each.tag));
        }
        number("extent", extent);
        number("timeUnit", time_unit);
        number("granule", granule);
        numbers("largeSizes", large);
        array("starts", starts);
        array("ends", ends);
        array("positions", positions);
        array("sizes", sizes);
        array("blockTags", tags);
    }

    const history& of_;
    const allot::snapshot* state_;
    std::string_view title_;
    allot::detail::output<Write> out_;
};

}  // namespace viewer
