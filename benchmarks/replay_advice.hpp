// SPDX-License-Identifier: BSL-1.0
// Advice after a replay: the fastest allocator of a trace, the tightest one, those in between that no other one beats
// in both, their types to copy, and their costs. The text follows from the numbers of the table alone.
#pragma once

#include "replay_table.hpp"

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

namespace benchmarks {

/// A workload, as far as the advice states it.
struct advised_workload {
    std::string name;
    std::size_t operations = 0;
    std::uint64_t peak = 0;
};

class advisor {
public:
    advisor(advised_workload of, std::vector<row> all) : of_{std::move(of)}, rows_{std::move(all)} {
        std::ranges::stable_sort(rows_, {}, [](const row& each) { return shown_time(each); });
    }

    /// Returns the advice in lines, or an empty text if no allocator completed the trace.
    [[nodiscard]] std::string text() {
        const auto in_memory = [](const row& of) {
            return of.group == subject_group::bump || of.group == subject_group::pool ||
                   of.group == subject_group::best_fit;
        };
        const auto beside = [](const row& of) {
            return of.group == subject_group::pool_beside || of.group == subject_group::best_fit_beside;
        };
        advise("memory that the host can access", chosen(in_memory));
        advise("offsets only, for memory that the host cannot access", chosen(beside));
        if (made_.empty()) return "";
        exclusions();
        return "\nAdvice for " + of_.name + ":\n" + made_ +
               "- Not in these numbers: the replay makes the calls of all threads on one thread, in their order. It "
               "does not "
               "access\n  the blocks. Measure the program again with the chosen allocator.\n";
    }

private:
    using rows = std::vector<const row*>;

    /// As in the table: smaller times are noise.
    static double shown_time(const row& of) { return std::max(of.least, 0.1); }
    static std::string format(const char* how, double value) {
        char text[64];
        std::snprintf(text, sizeof text, how, value);
        return text;
    }
    static std::string ns(const row& of) { return format("%.2f ns an operation", shown_time(of)); }
    std::string overhead(const row& of) const {
        return format("%.1f %% over the peak of live bytes", (of.extent - 1) * 100) +
               format(" (%.0f bytes more)", (of.extent - 1) * static_cast<double>(of_.peak));
    }

    /// Returns the usable rows, the fastest first.
    template <class Where>
    rows chosen(Where where) const {
        rows all;
        for (const row& each : rows_)
            if (where(each) && each.seen.complete && each.seen.misaligned == 0) all.push_back(&each);
        return all;
    }

    /// Returns the rows that no other row beats in both time and extent, the fastest first.
    static rows front(const rows& all) {
        rows best;
        for (const row* each : all)
            if (each->extent != 0 && (best.empty() || each->extent < best.back()->extent)) best.push_back(each);
        return best;
    }

    void line(const std::string& text) { made_ += "- " + text + "\n"; }
    void advise(const char* title, const rows& all) {
        if (all.empty()) return;
        made_ += std::string{"  "} + title + "\n";
        fastest(all);
        const rows best = front(all);
        if (best.empty()) return line("No allocator here has a measured extent.");
        const row& tightest = *best.back();
        line("Tightest: " + tightest.name + ", " + overhead(tightest) + ", " + ns(tightest) +
             format(", %.2fx the fastest.", ratio(tightest.least, all.front()->least)));
        line("The choice is between these: each other one with a measured extent is slower and not tighter.");
        for (const row* each : best) {
            made_ += "    " + each->name + ": " + ns(*each) + ", " + overhead(*each) + "\n";
            if (!each->type.empty()) made_ += "        " + each->type + "\n";
        }
    }
    void fastest(const rows& all) {
        const row& first = *all.front();
        std::string close;
        for (const row* each : all)
            if (each != &first && ratio(each->least, first.least) <= 1.05)
                close += (close.empty() ? "" : ", ") + each->name;
        line("Fastest: " + first.name + ", " + ns(first) +
             format(", %.3g ms for the trace.", shown_time(first) * static_cast<double>(of_.operations) / 1e6) +
             (close.empty() ? "" : " Within 5 %: " + close + "."));
        if (!first.type.empty()) made_ += "        " + first.type + "\n";
        for (const row* each : all)
            if (each->name == "glibc_malloc" && each != &first)
                line("malloc of glibc: " + ns(*each) +
                     format(", %.2fx the time of the fastest;", ratio(each->least, first.least)) +
                     format(" a change saves %.3g ms for the trace.",
                            (shown_time(*each) - shown_time(first)) * static_cast<double>(of_.operations) / 1e6));
    }
    void exclusions() {
        std::string failed, misaligned;
        for (const row& each : rows_) {
            if (!each.seen.complete) failed += (failed.empty() ? "" : ", ") + each.name;
            else if (each.seen.misaligned != 0) misaligned += (misaligned.empty() ? "" : ", ") + each.name;
        }
        if (!failed.empty()) line("Not considered, because an allocation failed: " + failed + ".");
        if (!misaligned.empty()) line("Not considered, because blocks were misaligned: " + misaligned + ".");
    }

    advised_workload of_;
    std::vector<row> rows_;
    std::string made_{};
};

}  // namespace benchmarks
