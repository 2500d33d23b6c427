// SPDX-License-Identifier: BSL-1.0
// picture: a plan as SVG, with memories side by side. In each memory, steps go across and addresses go up. Each buffer
// is a rectangle as wide as its lifetime and as high as its size, with a description as its title.
//
//     Vec                          Mat
//     MiB ┌────────── peak         KiB ┌────────── capacity, if not far above the peak
//         │▐██▌ ▐█▌                    │ ▐██▌
//         │- - - - - - bound           │▐██▌▐█▌
//         └──────────► step            └──────────► step
//
// In pages, a buffer is a single shape with one rectangle for each run of pages.
//
// A buffer of less than a pixel has no outline, so that thousands of them keep their color.
#pragma once

#include "../network_demo/svg_elements.hpp"
#include "report.hpp"

#include <algorithm>

namespace planner {

class picture {
public:
    /// `highest`: the least height of each memory, in bytes. Memories of one height have the same scale.
    /// `for_page`: shapes have the number of their buffer, and a line shows the step with the most live bytes.
    picture(const input& given, const outcome& made, std::uint64_t highest = 1, bool for_page = false)
        : given_{given}, made_{made}, highest_{highest}, for_page_{for_page} {
        for (std::size_t m = 0; m != given.memories.size(); ++m)
            if (!made.memories[m].buffers.empty() || given.memories.size() == 1) shown_.push_back(m);
        plot_width_ = shown_.size() <= 1 ? 1080 : shown_.size() == 2 ? 560 : 380;
        if (given.buffers.empty()) return;
        earliest_ = given.buffers[0].live.from;
        std::int64_t latest = given.buffers[0].live.until;
        each_life([&](std::size_t, allot::lifetime live) {
            earliest_ = std::min(earliest_, live.from);
            latest = std::max(latest, live.until);
        });
        length_ = since_begin(latest);
    }

    static constexpr double height = 776;

    void write(std::ostream& out) const {
        const double width =
            std::max(minimum_width, side + (panel_side + plot_width_) * static_cast<double>(shown_.size()));
        out << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << width << "\" height=\"" << height
            << "\" viewBox=\"0 0 " << width << ' ' << height << "\">\n"
            << style << "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";
        demo::text(out, panel_side, 34, "name", given_.path.substr(given_.path.find_last_of('/') + 1));
        demo::text(out, panel_side, 56, "note",
                   std::string{to_string(made_.status())} + ": " + count_of(given_, made_) + ", " +
                       demo::fixed(made_.seconds, 2) + " s");
        legend(out, width - side);
        write_panels(out);
        out << "</svg>\n";
    }

    /// Writes the memories without the heading and the frame.
    void write_panels(std::ostream& out) const {
        for (std::size_t i = 0; i != shown_.size(); ++i)
            panel(out, shown_[i], panel_side + (panel_side + plot_width_) * static_cast<double>(i));
    }

    static constexpr const char* style =
        "<style>line{shape-rendering:crispEdges}"
        "text{font-family:'DejaVu Sans',Verdana,Helvetica,Arial,sans-serif;font-size:12px;fill:#4a5560}"
        ".name{font-size:20px;font-weight:bold;fill:#1f2a33}.note{font-size:13px}"
        ".title{font-size:14px;font-weight:bold;fill:#1f2a33}.tag{font-size:10px;fill:#1f2a33;pointer-events:none}"
        ".grid{stroke:#e6e9ec;stroke-width:1}.axis{stroke:#9aa5ae;stroke-width:1}"
        ".peak{stroke:#1f2a33;stroke-width:1}.capacity{stroke:#1f2a33;stroke-width:3}"
        ".bound{stroke:#c2502e;stroke-width:2;stroke-dasharray:7 5}"
        ".reserved{fill:#d5d9dd}.outlined{stroke:#fff;stroke-width:.6}"
        ".c0{fill:#6a93bb}.c1{fill:#86a9cb}.c2{fill:#9dbad6}.c3{fill:#78a8a4}.c4{fill:#b4c6de}.c5{fill:#93bdb5}.c6{"
        "fill:#5f86b3}"
        "rect[class]:hover,path:hover{stroke:#1f2a33;stroke-width:1.5}</style>\n";

private:
    static constexpr double minimum_width = 620, side = 24, panel_side = 76, top = 128, plot_height = 600;
    static constexpr std::size_t tints = 7;
    static_assert(height == top + plot_height + 48);

    /// Calls `use(buffer, lifetime)` for every lifetime of every buffer.
    template <class Use>
    void each_life(Use use) const {
        for (std::size_t i = 0; i != given_.buffers.size(); ++i) use(i, given_.buffers[i].live);
        for (const allot::plan_revival& each : given_.revivals) use(each.buffer, each.live);
    }

    static void legend(std::ostream& out, double right) {
        const auto entry = [&](const char* kind, const char* what, double from_right) {
            demo::line(out, right - from_right, 51.5, right - from_right + 22, 51.5, kind);
            demo::text(out, right - from_right + 28, 56, "note", what);
        };
        entry("peak", "peak", 300);
        entry("bound", "lower bound", 226);
        entry("capacity", "capacity", 92);
    }

    void panel(std::ostream& out, std::size_t m, double x) const {
        const memory& where = given_.memories[m];
        const allot::plan_summary& plan = made_.memories[m].plan;
        const double floor = top + plot_height;
        double highest = static_cast<double>(std::max({plan.peak, plan.bound, highest_}));
        const bool shows_capacity = where.capacity != unlimited && static_cast<double>(where.capacity) <= 1.5 * highest;
        if (shows_capacity) highest = std::max(highest, static_cast<double>(where.capacity));
        const double per_byte = (plot_height - 6) / highest;
        const auto up = [&](std::uint64_t offset) { return floor - static_cast<double>(offset) * per_byte; };
        const auto across = [&](std::int64_t step) {
            return x + static_cast<double>(since_begin(step)) / static_cast<double>(length_) * plot_width_;
        };

        if (for_page_)
            out << "<g data-memory=\"" << m << "\" data-x=\"" << demo::number(x) << "\" data-wide=\""
                << demo::number(plot_width_) << "\" data-from=\"" << earliest_ << "\" data-steps=\"" << length_
                << "\">\n";
        demo::text(out, x, top - 40, "title", where.name);
        const std::string pages =
            made_.pages ? ", " + bytes(made_.pages->count) + " pages of " + bytes(made_.pages->page_size) : "";
        const std::string of = where.capacity == unlimited ? " bytes" : " of " + bytes(where.capacity) + " bytes";
        demo::text(out, x, top - 22, "", bytes(plan.peak) + of + pages);
        if (!made_.cost)
            demo::text(out, x, top - 6, "", "lower bound " + bytes(plan.bound) + gap_text(plan.peak, plan.bound));
        addresses(out, x, highest, per_byte, floor);
        steps(out, x, floor);

        for (const allot::plan_reserved& range : where.reserved) {
            const double begin = std::max(up(range.offset + range.size), top), end = std::max(up(range.offset), top);
            rectangle(out, "reserved", x, begin, plot_width_, end - begin,
                      "reserved: " + bytes(range.size) + " bytes at " + bytes(range.offset));
        }
        each_life([&](std::size_t buffer, allot::lifetime live) {
            if (given_.memory_of[buffer] != m) return;
            if (made_.is_paged(buffer))
                draw_pages(out, buffer, live, across(live.from), across(live.until), floor, per_byte);
            else draw(out, buffer, live, across(live.from), across(live.until), up(made_.offsets[buffer]), per_byte);
        });
        demo::line(out, x, up(plan.peak), x + plot_width_, up(plan.peak), "peak");
        if (shows_capacity) demo::line(out, x, up(where.capacity), x + plot_width_, up(where.capacity), "capacity");
        demo::line(out, x, up(plan.bound), x + plot_width_, up(plan.bound), "bound");
        if (for_page_) {
            const double critical =
                x + (static_cast<double>(since_begin(plan.step)) + 0.5) / static_cast<double>(length_) * plot_width_;
            demo::line(out, critical, top, critical, floor, "critical");
            out << "</g>\n";
        }
    }

    void draw(std::ostream& out, std::size_t buffer, allot::lifetime live, double begin, double end, double low,
              double per_byte) const {
        const std::uint64_t size = given_.buffers[buffer].size;
        if (size == 0) return;
        const std::string& name = given_.names[buffer];
        const double high = static_cast<double>(size) * per_byte, wide = end - begin;
        rectangle(out, kind_of(buffer, wide, high) + number_of(buffer), begin, low - high, wide, high,
                  title_of(buffer, live, bytes(size) + " bytes at " + bytes(made_.offsets[buffer])));
        tag(out, name, begin, low, wide, high);
    }
    void draw_pages(std::ostream& out, std::size_t buffer, allot::lifetime live, double begin, double end, double floor,
                    double per_byte) const {
        const std::span<const std::uint32_t> pages = made_.pages->of(buffer);
        if (pages.empty()) return;
        std::vector<std::uint32_t> upwards(pages.begin(), pages.end());
        std::sort(upwards.begin(), upwards.end());
        const double page = static_cast<double>(made_.pages->page_size) * per_byte, wide = end - begin;
        std::string shape;
        double highest = 0, highest_low = 0;  // the highest run, and where it begins
        for (std::size_t at = 0; at != upwards.size();) {
            const std::size_t first = at++;
            while (at != upwards.size() && upwards[at] == upwards[at - 1] + 1) ++at;
            const double low = floor - upwards[first] * page, high = static_cast<double>(at - first) * page;
            shape += 'M' + demo::number(begin) + ' ' + demo::number(low) + 'h' + demo::number(wide) + 'v' +
                     demo::number(-high) + 'h' + demo::number(-wide) + 'z';
            if (high > highest) {
                highest = high;
                highest_low = low;
            }
        }
        out << "<path class=\"" << kind_of(buffer, wide, highest) << number_of(buffer) << "\" d=\"" << shape
            << "\"><title>"
            << demo::escaped(title_of(buffer, live,
                                      bytes(given_.buffers[buffer].size) + " bytes in " + bytes(pages.size()) +
                                          (pages.size() == 1 ? " page: " : " pages: ") + list_of(pages, 60)))
            << "</title></path>\n";
        tag(out, given_.names[buffer], begin, highest_low, wide, highest);
    }
    /// Parts of one buffer have one color.
    [[nodiscard]] std::string kind_of(std::size_t buffer, double wide, double high) const {
        return "c" + std::to_string(given_.whole_of(buffer) % tints) + (high > 2.5 && wide > 2.5 ? " outlined" : "");
    }
    [[nodiscard]] std::string title_of(std::size_t buffer, allot::lifetime live, const std::string& where) const {
        return given_.names[buffer] + ": " + where + ", steps " + std::to_string(live.from) + " to " +
               std::to_string(live.until);
    }
    static void tag(std::ostream& out, const std::string& name, double begin, double low, double wide, double high) {
        if (high >= 13 && wide >= 6.6 * static_cast<double>(name.size()) + 6)
            demo::text(out, begin + wide / 2, low - high / 2 + 3.5, "tag", name, "middle");
    }

    /// Returns the number of a buffer, as an attribute after the class.
    [[nodiscard]] std::string number_of(std::size_t buffer) const {
        return for_page_ ? "\" data-buffer=\"" + std::to_string(given_.whole_of(buffer)) : "";
    }
    static void rectangle(std::ostream& out, const std::string& kind, double x, double y, double wide, double high,
                          const std::string& title) {
        out << "<rect class=\"" << kind << "\" x=\"" << demo::number(x) << "\" y=\"" << demo::number(y) << "\" width=\""
            << demo::number(wide) << "\" height=\"" << demo::number(high) << "\"><title>" << demo::escaped(title)
            << "</title></rect>\n";
    }

    void addresses(std::ostream& out, double x, double highest, double per_byte, double floor) const {
        static constexpr const char* units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
        double unit = 1;
        std::size_t which = 0;
        for (; highest / unit >= 2048 && which + 1 != std::size(units); ++which) unit *= 1024;
        const double part = std::max(demo::round_part(highest / unit, 14), which == 0 ? 1.0 : 0.01);
        for (int i = 0; i * part * unit <= highest * 1.0001; ++i) {
            const double y = floor - i * part * unit * per_byte;
            demo::line(out, x, y, x + plot_width_, y, i == 0 ? "axis" : "grid");
            char shown[32];
            std::snprintf(shown, sizeof shown, "%g", i * part);
            demo::text(out, x - 8, y + 4, "", shown, "end");
        }
        demo::text(out, x - 8, top - 6, "", units[which], "end");
    }
    void steps(std::ostream& out, double x, double floor) const {
        const double about = demo::round_part(static_cast<double>(length_), plot_width_ / 75);
        const auto part = static_cast<std::int64_t>(std::clamp(about, 1.0, 0x1p62));
        const std::int64_t behind = earliest_ % part;  // the multiple of `part` towards zero
        for (auto at = static_cast<std::uint64_t>(behind > 0 ? part - behind : -behind); at <= length_;
             at += static_cast<std::uint64_t>(part)) {
            const double tick = x + static_cast<double>(at) / static_cast<double>(length_) * plot_width_;
            demo::line(out, tick, floor, tick, floor + 5, "axis");
            demo::text(out, tick, floor + 19, "",
                       std::to_string(static_cast<std::int64_t>(static_cast<std::uint64_t>(earliest_) + at)), "middle");
            if (length_ - at < static_cast<std::uint64_t>(part)) break;
        }
        demo::text(out, x + plot_width_, floor + 36, "", "step", "end");
    }
    /// The difference of any two steps fits 64 bits without a sign.
    [[nodiscard]] std::uint64_t since_begin(std::int64_t step) const {
        return static_cast<std::uint64_t>(step) - static_cast<std::uint64_t>(earliest_);
    }

    const input& given_;
    const outcome& made_;
    std::uint64_t highest_;
    bool for_page_;
    std::vector<std::size_t> shown_;  // memories
    double plot_width_ = 0;
    std::int64_t earliest_ = 0;
    std::uint64_t length_ = 1;  // steps
};

}  // namespace planner
