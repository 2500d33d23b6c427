// SPDX-License-Identifier: BSL-1.0
// formats: reads a file in any format that the planner knows. The content determines the format; if it does not, the
// extension does.
//
//     ALTR…, ALEV…                    a trace, an event log           {            JSON: a problem, or a capture
//     network NAME                    a network                       BufferAssignment:, HloLiveRange   XLA
//     memref.alloc, func.func, …      MLIR, also of IREE              otherwise    a table
//
// For one file of XLA's dump, the other one beside it is read too.
#pragma once

#include "csv.hpp"
#include "mlir.hpp"
#include "network_input.hpp"
#include "recorded.hpp"
#include "xla.hpp"
#ifdef ALLOT_PLAN_JSON
#include "problem.hpp"
#endif

namespace planner {

enum class file_format { table, network, trace, event_log, json, xla, mlir, binary, unknown };

/// Returns the first line with content, without comments of networks.
[[nodiscard]] inline std::string_view first_record(std::string_view text) {
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = trimmed(text.substr(0, end));
        if (!line.empty() && line[0] != '#' && line != "\r") return line;
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return {};
}

[[nodiscard]] inline file_format format_of(std::string_view text, std::string_view path) {
    text = without_mark(text);
    const auto has = [&](std::string_view part) { return text.find(part) != std::string_view::npos; };
    if (text.starts_with("ALTR")) return file_format::trace;
    if (text.starts_with("ALEV")) return file_format::event_log;
    if (has(std::string_view{"\0", 1})) return file_format::binary;
    const std::string_view first = first_record(text);
    if (first.starts_with("network ")) return file_format::network;
    if (first.starts_with('{') || first.starts_with('[')) return file_format::json;
    if (first.find(',') != std::string_view::npos && first.find_first_of(" {(%") == std::string_view::npos)
        return file_format::table;
    if (has("BufferAssignment:") || has("HloLiveRange") || has("BufferLiveRange:")) return file_format::xla;
    if (has("memref.alloc") || has("stream.resource.pack") || has("func.func") || has("IR Dump"))
        return file_format::mlir;
    if (path.ends_with(".network")) return file_format::network;
    if (path.ends_with(".json")) return file_format::json;
    if (path.ends_with(".mlir")) return file_format::mlir;
    return path.ends_with(".csv") ? file_format::table : file_format::unknown;
}

[[noreturn]] inline void refuse_binary(std::string_view text, const std::string& path) {
    const auto is = [&](std::string_view mark) { return text.size() >= 8 && text.substr(4, 4) == mark; };
    if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"))
        throw input_error{path + ":1: the text is in UTF-16; UTF-8 is supported"};
    if (text.starts_with("ALSN")) throw input_error{path + ": a snapshot of allot has no lifetimes, so it has no plan"};
    const char* const name = is("TFL3")                 ? "a TensorFlow Lite model"
                             : is("ET12")               ? "an ExecuTorch program"
                             : text.starts_with('\x80') ? "a Python pickle"
                                                        : "a binary file, perhaps ONNX,";
    throw input_error{path + ": " + name + " is not supported here; ./dev plan converts models and snapshots first"};
}

/// Reads the live ranges beside a buffer assignment, or the other way round.
inline void read_sibling(xla_reader& reader, std::string path) {
    constexpr std::string_view values = "-buffer-assignment.txt", ranges = "-live-range.txt";
    const auto other = [&](std::string_view from, std::string_view to) {
        if (!path.ends_with(from)) return;
        path.replace(path.size() - from.size(), from.size(), to);
        if (std::ifstream{path}) reader.add(demo::text_of(path), path);
    };
    if (reader.has_values() && !reader.has_ranges()) other(values, ranges);
    else if (reader.has_ranges() && !reader.has_values()) other(ranges, values);
}

template <class Reading>
[[nodiscard]] input recorded_input(const Reading& read, const std::string& path) {
    require(read, path);
    return blocks_of(read.value, path);
}

/// Reads `text`, the content of the file at `path`.
/// `symbols` are those of a table.
[[nodiscard]] inline input read_input(std::string_view text, const std::string& path,
                                      std::vector<symbol_range> symbols = {}) {
    text = without_mark(text);
    const file_format format = format_of(text, path);
    if (!symbols.empty() && format != file_format::table)
        throw input_error{path + " is not a table; --symbol is for tables, and other formats state their symbols"};
    switch (format) {
        case file_format::network: return input_of(demo::network_reader{path}.read(std::string{text}), path);
        case file_format::trace: return recorded_input(allot::read_trace(std::as_bytes(std::span{text})), path);
        case file_format::event_log: return recorded_input(allot::read_event_log(std::as_bytes(std::span{text})), path);
        case file_format::mlir: return mlir_reader{path}.read(text);
        case file_format::xla: {
            xla_reader reader{path};
            reader.add(text, path);
            read_sibling(reader, path);
            return reader.read();
        }
        case file_format::json:
#ifdef ALLOT_PLAN_JSON
            return read_json(text, path);
#else
            throw input_error{path +
                              ": this program was built without nlohmann's JSON library (Debian: nlohmann-json3-dev)"};
#endif
        case file_format::binary: refuse_binary(text, path);
        case file_format::table:
        case file_format::unknown: break;  // the message describes a table
    }
    return csv_reader{path, std::move(symbols)}.read(text);
}

}  // namespace planner
