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

inline std::vector<std::byte> unpacked(const std::string& path) {
    std::string quoted = "xz -dc -- '";
    for (const char letter : path) quoted += letter == '\'' ? std::string{"'\\''"} : std::string{letter};
    std::FILE* const pipe = ::popen((quoted + "'").c_str(), "r");
    if (pipe == nullptr) throw std::runtime_error{path + ": cannot start xz"};
    std::vector<std::byte> all;
    std::byte some[65'536];
    for (std::size_t count = 0; (count = std::fread(some, 1, sizeof some, pipe)) != 0;)
        all.insert(all.end(), some, some + count);
    if (::pclose(pipe) != 0) throw std::runtime_error{path + ": xz cannot decompress it"};
    return all;
}

inline std::vector<std::byte> contents(const std::string& path) {
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
    return all;
}

/// Reads a file or, if there is no such file, makes a synthetic trace.
inline allot::trace trace_of(const std::string& name) {
    const std::size_t colon = name.find(':');
    allot::trace_writer made;
    const bool synthetic = !std::filesystem::exists(name) &&
                           write_synthetic(made, name.substr(0, colon),
                                           colon == std::string::npos ? seed : seed_of(name.substr(colon + 1)));
    auto read = allot::read_trace(synthetic ? made.bytes() : contents(name));
    if (!read)
        throw std::runtime_error{name + ": " + read.error().what() + ", at byte " +
                                 std::to_string(read.error().position)};
    return *std::move(read);
}

}  // namespace benchmarks
