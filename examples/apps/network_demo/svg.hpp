// SPDX-License-Identifier: BSL-1.0
// svg: a picture of a network's memory. Steps go across and addresses go up. Each tensor is a rectangle as wide as its
// lifetime and as high as its size. A tensor in rows is one shape with a rectangle for each of its pieces.
#pragma once

#include "network.hpp"
#include "svg_elements.hpp"

#include <allot/core/extent.hpp>

#include <algorithm>

namespace demo {

/// The place of a tensor in a memory.
struct drawn_tensor {
    std::size_t tensor = 0;
    std::vector<allot::extent> pieces;
};

/// One memory, with its own address axis.
struct panel {
    std::string title;
    bool fast = false;
    std::vector<drawn_tensor> tensors;
    std::size_t height = 0;  // bytes up to the solid line
    std::string height_label;
    std::size_t lower_bound = 0;  // bytes up to the dashed line; 0 without one
};

class picture {
public:
    picture(const network& net, std::vector<panel> panels) : net_{net}, panels_{std::move(panels)} {
        double bytes = 0;
        for (const panel& p : panels_) bytes += static_cast<double>(p.height);
        per_byte_ = bytes > 0 ? 660.0 / bytes : 0;
        per_step_ = plot_width / static_cast<double>(net_.duration());
    }

    void write(std::ostream& out) const {
        double height = top;
        for (const panel& p : panels_) height += title_room + plot_height(p) + gap;
        height += 34;
        out << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << width << "\" height=\"" << height
            << "\" viewBox=\"0 0 " << width << ' ' << height << "\">\n"
            << style << "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";
        text(out, left, 40, "name", net_.name);
        text(out, left, 62, "note",
             std::to_string(net_.tensors.size()) + " tensors, " + std::to_string(net_.steps.size()) + " steps; " +
                 mebibytes(net_.sum()) + " MiB in total, at most " + mebibytes(net_.lower_bound()) +
                 " MiB live at once");
        legend(out);
        double y = top;
        for (const panel& p : panels_) {
            y += title_room;
            draw(out, p, y, &p == &panels_.back());
            y += plot_height(p) + gap;
        }
        out << "</svg>\n";
    }

private:
    static constexpr double width = 1200, left = 84, plot_width = 946, top = 84, title_room = 32, gap = 26;
    static constexpr double mebibyte = 1048576;
    static constexpr const char* style =
        "<style>line{shape-rendering:crispEdges}"
        "text{font-family:'DejaVu Sans',Verdana,Helvetica,Arial,sans-serif;font-size:12px;fill:#4a5560}"
        ".name{font-size:22px;font-weight:bold;fill:#1f2a33}.note{font-size:13px}"
        ".title{font-size:13px;font-weight:bold;fill:#1f2a33}.tag{font-size:10px;fill:#fff}.dark{fill:#1f2a33}"
        ".grid{stroke:#e6e9ec;stroke-width:1}.axis{stroke:#9aa5ae;stroke-width:1}"
        ".top{stroke:#1f2a33;stroke-width:1}.bound{stroke:#c2502e;stroke-width:2;stroke-dasharray:7 5}"
        ".bound-text{fill:#c2502e}g.t text{stroke:none}g.t:hover rect{stroke:#1f2a33;stroke-width:1.5}</style>\n";

    [[nodiscard]] static std::string mebibytes(std::size_t bytes) {
        return number(static_cast<double>(bytes) / mebibyte);
    }

    [[nodiscard]] double plot_height(const panel& p) const {
        return std::max(30.0, static_cast<double>(p.height) * per_byte_ + 8);
    }
    [[nodiscard]] static const char* colour(bool fast, std::size_t tensor) {
        static constexpr const char* tints[2][5] = {{"#4f7ca8", "#6a93bb", "#86a9cb", "#3f6a94", "#9dbad6"},
                                                    {"#d08b2c", "#dca04d", "#e6b670", "#bd7a1e", "#ecc68d"}};
        return tints[fast ? 1 : 0][tensor % 5];
    }
    [[nodiscard]] static bool is_light(std::size_t tensor) { return tensor % 5 != 0 && tensor % 5 != 3; }

    void legend(std::ostream& out) const {
        double x = left + plot_width;
        const auto entry = [&](const char* what, double room, auto&& sign) {
            x -= room;
            sign(x);
            text(out, x + 26, 62, "note", what);
        };
        const auto patch = [&](bool fast) {
            return [&out, fast](double at) {
                for (int i = 0; i != 2; ++i)
                    out << "<rect x=\"" << number(at + 10 * i) << "\" y=\"52\" width=\"10\" height=\"11\" fill=\""
                        << colour(fast, static_cast<std::size_t>(i)) << "\"/>\n";
            };
        };
        x += 150;
        entry("lower bound", 116, [&](double at) { line(out, at, 57.5, at + 20, 57.5, "bound"); });
        entry("host memory", 126, patch(false));
        if (std::any_of(panels_.begin(), panels_.end(), [](const panel& p) { return p.fast; }))
            entry("fast memory", 122, patch(true));
    }

    void draw(std::ostream& out, const panel& p, double y, bool with_steps) const {
        const double high = plot_height(p), floor = y + high, right = left + plot_width;
        const auto up = [&](double bytes) { return floor - bytes * per_byte_; };
        text(out, left, y - 8, "title", p.title);

        const double part = std::max(round_part(high / per_byte_ / mebibyte, high / 36), 0.01);
        for (int i = 0; i * part * mebibyte * per_byte_ <= high && per_byte_ > 0; ++i) {
            const double at = up(i * part * mebibyte);
            line(out, left, at, right, at, i == 0 ? "axis" : "grid");
            char shown[32];
            std::snprintf(shown, sizeof shown, "%g", i * part);
            text(out, left - 8, at + 4, "", shown, "end");
        }
        text(out, left - 44, y - 8, "", "MiB", "start");

        for (const drawn_tensor& t : p.tensors) draw(out, p, t, floor);

        const double solid = up(static_cast<double>(p.height));
        double bound = up(static_cast<double>(p.lower_bound));
        line(out, left, solid, right, solid, "top");
        double label = solid + 4;
        if (p.lower_bound != 0) {
            line(out, left, bound, right, bound, "bound");
            double bound_label = bound + 4;
            if (bound_label - label < 15) {  // keep the labels apart
                label -= 2;
                bound_label = label + 15;
            }
            text(out, right + 8, bound_label, "bound-text", mebibytes(p.lower_bound) + " MiB lower bound");
        }
        text(out, right + 8, label, "", p.height_label);
        if (with_steps) steps(out, floor);
    }

    void draw(std::ostream& out, const panel& p, const drawn_tensor& t, double floor) const {
        const tensor& what = net_.tensors[t.tensor];
        const double x = left + static_cast<double>(what.first) * per_step_;
        const double wide = static_cast<double>(what.last - what.first + 1) * per_step_;
        const double thin = wide > 3 ? 0.6 : 0.2;
        out << "<g class=\"t\" fill=\"" << colour(p.fast, t.tensor) << "\" stroke=\"#fff\" stroke-width=\"" << thin
            << "\"><title>" << escaped(what.name) << ": " << what.size << " bytes, steps " << what.first << " to "
            << what.last;
        if (t.pieces.size() > 1) out << ", in " << t.pieces.size() << " pieces";
        out << "</title>\n";
        for (const allot::extent& piece : t.pieces) {
            const double high = static_cast<double>(piece.size) * per_byte_;
            const double y = floor - static_cast<double>(piece.end()) * per_byte_;
            out << "<rect x=\"" << number(x) << "\" y=\"" << number(y) << "\" width=\"" << number(wide)
                << "\" height=\"" << number(high) << "\"/>\n";
        }
        const allot::extent& largest =
            *std::max_element(t.pieces.begin(), t.pieces.end(), [](auto a, auto b) { return a.size < b.size; });
        const double high = static_cast<double>(largest.size) * per_byte_;
        const double middle = floor - static_cast<double>(largest.offset) * per_byte_ - high / 2;
        if (high >= 14 && wide >= 6.6 * static_cast<double>(what.name.size()) + 8)
            text(out, x + wide / 2, middle + 3.5, is_light(t.tensor) ? "tag dark" : "tag", what.name, "middle");
        out << "</g>\n";
    }

    void steps(std::ostream& out, double floor) const {
        const auto part = static_cast<std::size_t>(std::max(1.0, round_part(static_cast<double>(net_.duration()), 14)));
        for (std::size_t now = 0; now < net_.duration(); now += part) {
            const double x = left + (static_cast<double>(now) + 0.5) * per_step_;
            line(out, x, floor, x, floor + 5, "axis");
            text(out, x, floor + 19, "", std::to_string(now), "middle");
        }
        text(out, left + plot_width + 8, floor + 19, "", "step");
    }

    const network& net_;
    std::vector<panel> panels_;
    double per_byte_ = 0, per_step_ = 0;
};

}  // namespace demo
