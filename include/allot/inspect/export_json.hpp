// SPDX-License-Identifier: BSL-1.0
// export_json: writes an event log or a snapshot as JSON. The schema is
// examples/apps/memory_viewer/memory.schema.json.
//
//     std::string text;
//     allot::export_json(allot::event_log{}, [&](std::string_view part) { text += part; });
//
//     {"format":"allot events","version":1,"time_unit":"ns","tags":["weights"],"events":[
//     {"time":5,"action":"allocate","address":4096,"size":100,"tag":1}, …]}
//     {"format":"allot snapshot","version":1,"allocator":"name","tags":[],"statistics":{"used":0, …},
//     "regions":[{"address":0,"size":64}],"blocks":[],"holes":[]}
//
// A member of an event that is 0 is omitted, except the time. Tags are numbered from 1. Texts are UTF-8; a byte of a
// name that is not UTF-8 becomes U+FFFD.
//
// When to use: to process a log with a script.
// When not to use: for files that allot reads again. Use the formats of event_log.hpp and snapshot.hpp, which take a
// tenth of the bytes.
//
// Complexity: O(events) or O(blocks).
// Memory: 64 KiB.
// Thread safety: requires external synchronization.
#pragma once

#include <allot/inspect/detail/output.hpp>
#include <allot/inspect/event_log.hpp>
#include <allot/inspect/snapshot.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

template <class Out>
void json_tags(Out& out, const std::vector<std::string>& tags) {
    out.text("\"tags\":[");
    for (std::size_t i = 0; i != tags.size(); ++i) {
        if (i != 0) out.byte(',');
        out.text(as_json(tags[i]));
    }
    out.byte(']');
}

template <class Out>
void json_member(Out& out, std::string_view name, std::uint64_t value) {
    if (value == 0) return;
    out.text(name);
    out.number(value);
}

template <class Out, class Range>
void json_ranges(Out& out, std::string_view name, const std::vector<Range>& ranges) {
    out.text(",\n\"");
    out.text(name);
    out.text("\":[");
    for (std::size_t i = 0; i != ranges.size(); ++i) {
        out.text(i == 0 ? "\n{\"address\":" : ",\n{\"address\":");
        out.number(ranges[i].address);
        out.text(",\"size\":");
        out.number(ranges[i].size);
        if constexpr (requires { ranges[i].tag; }) json_member(out, ",\"tag\":", ranges[i].tag);
        out.byte('}');
    }
    out.byte(']');
}

}  // namespace detail

/// Writes an event log. `write(std::string_view)` receives the parts of the text in their order.
template <class Write>
void export_json(const event_log& log, Write&& write) {
    detail::output out{write};
    out.text("{\"format\":\"allot events\",\"version\":1,\"time_unit\":");
    out.text(log.unit == time_unit::nanoseconds ? "\"ns\"," : "\"count\",");
    detail::json_tags(out, log.tags);
    out.text(",\"events\":[");
    bool first = true;
    for (const memory_event& each : log.events) {
        out.text(first ? "\n{\"time\":" : ",\n{\"time\":");
        first = false;
        out.number(each.time);
        out.text(",\"action\":\"");
        out.text(to_string(each.action));
        out.byte('"');
        detail::json_member(out, ",\"address\":", each.address);
        detail::json_member(out, ",\"size\":", each.size);
        detail::json_member(out, ",\"tag\":", each.tag);
        detail::json_member(out, ",\"align_log2\":", each.align_log2);
        out.byte('}');
    }
    out.text("]}\n");
    out.flush();
}

/// Writes a snapshot. `write(std::string_view)` receives the parts of the text in their order.
template <class Write>
void export_json(const snapshot& from, Write&& write) {
    constexpr const char* names[] = {"used", "count", "peak", "requests", "refusals", "free", "largest_hole", "holes"};
    detail::output out{write};
    out.text("{\"format\":\"allot snapshot\",\"version\":1,\"allocator\":");
    out.text(detail::as_json(from.allocator));
    out.byte(',');
    detail::json_tags(out, from.tags);
    out.text(",\n\"statistics\":{");
    for (std::size_t i = 0; i != std::size(names); ++i) {
        out.text(i == 0 ? "\"" : ",\"");
        out.text(names[i]);
        out.text("\":");
        out.number(from.statistics.*detail::snapshot_format::counters[i]);
    }
    out.byte('}');
    detail::json_ranges(out, "regions", from.regions);
    detail::json_ranges(out, "blocks", from.blocks);
    detail::json_ranges(out, "holes", from.holes);
    out.text("}\n");
    out.flush();
}

}  // namespace v1
}  // namespace allot
