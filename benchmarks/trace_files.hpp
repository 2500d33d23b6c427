// SPDX-License-Identifier: BSL-1.0
// Traces by name: files, plain or compressed with xz, and synthetic traces from the default seed or, as logn1k:7, from
// another one.
#pragma once

#include "synthetic_traces.hpp"

#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

namespace benchmarks {

inline constexpr std::uint64_t seed = 20261121;

inline std::uint64_t seed_of(const std::string& text) {
    std::uint64_t value = 0;
    const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (wrong != std::errc{} || end != text.data() + text.size())
        throw std::runtime_error{text + ": the seed is not a number"};
    return value;
}

/// The bytes of a file, or those before an error.
struct file_bytes {
    std::vector<std::byte> bytes{};
    std::string error{};  // empty: none
};

/// A small file can decompress to more bytes than fit into memory.
inline constexpr std::size_t most_bytes = std::size_t{1} << 32;

inline file_bytes unpacked(const std::string& path) {
    std::string quoted = "xz -dc -- '";
    for (const char letter : path) quoted += letter == '\'' ? std::string{"'\\''"} : std::string{letter};
    std::FILE* const pipe = ::popen((quoted + "'").c_str(), "r");
    if (pipe == nullptr) throw std::runtime_error{path + ": cannot start xz"};
    file_bytes read;
    std::byte some[65'536];
    std::size_t count = 0;
    while (read.bytes.size() < most_bytes && (count = std::fread(some, 1, sizeof some, pipe)) != 0)
        read.bytes.insert(read.bytes.end(), some, some + count);
    const bool ends = ::pclose(pipe) == 0;
    if (read.bytes.size() >= most_bytes) throw std::runtime_error{path + ": decompresses to more than 4 GiB"};
    if (!ends) read.error = "xz cannot decompress all of it";
    return read;
}

inline file_bytes contents(const std::string& path) {
    if (std::filesystem::is_directory(path)) throw std::runtime_error{path + ": is a directory, not a trace"};
    if (path.ends_with(".xz")) return unpacked(path);
    std::ifstream file{path, std::ios::binary};
    if (!file) throw std::runtime_error{path + ": no such file or synthetic trace, or the file cannot be opened"};
    std::vector<std::byte> all;
    char some[65'536];
    while (file) {
        file.read(some, sizeof some);
        const auto* const read = reinterpret_cast<const std::byte*>(some);
        all.insert(all.end(), read, read + file.gcount());
    }
    if (file.bad()) throw std::runtime_error{path + ": cannot be read"};
    return {std::move(all), ""};
}

struct named_trace {
    allot::trace trace{};
    std::string warning{};  // why the file has more events than the trace; empty: it has not
};

/// Returns the reason for which a trace cannot be replayed, or an empty text.
inline std::string limit_of(const allot::trace& read) {
    if (read.slots == 0) return "it has no allocations";
    if (read.peak >> 56 != 0) return "more than 64 PiB are live, which no allocator here can count";
    if (read.most_align >> 30 > 1) return "an alignment exceeds 1 GiB, which no allocator here supports";
    return "";
}

/// Reads a file or, if there is no such file, makes a synthetic trace. Keeps the events before an error.
inline named_trace trace_of(const std::string& name) {
    const std::size_t colon = name.find(':');
    allot::trace_writer made;
    const bool synthetic = !std::filesystem::exists(name) &&
                           write_synthetic(made, name.substr(0, colon),
                                           colon == std::string::npos ? seed : seed_of(name.substr(colon + 1)));
    const file_bytes file = synthetic ? file_bytes{made.bytes(), ""} : contents(name);
    allot::format_reading<allot::trace> read = allot::read_trace(file.bytes);
    std::string problem = file.error;
    if (!read)
        problem += (problem.empty() ? "" : "; ") + std::string{read.error.what()} + ", at byte " +
                   std::to_string(read.error.position);
    if (!read && read.value.operations.empty()) throw std::runtime_error{name + ": " + problem};
    if (const std::string limit = limit_of(read.value); !limit.empty()) throw std::runtime_error{name + ": " + limit};
    if (problem.empty()) return {std::move(read.value), ""};
    const std::size_t kept = read.value.operations.size();
    return {std::move(read.value),
            name + ": " + problem + "; only the " + std::to_string(kept) + " operations before it are replayed"};
}

}  // namespace benchmarks
