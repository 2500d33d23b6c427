// SPDX-License-Identifier: BSL-1.0
// input: reads an event log, a snapshot, or a trace, which is replayed on an allocator.
#pragma once

#include "history.hpp"
#include "replayed.hpp"

#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>

namespace viewer {

/// The events of a file. A snapshot has one event for each region and block.
struct input {
    allot::event_log log{};
    std::optional<allot::snapshot> state{};  // of a file that is a snapshot
    bool complete = true;                    // false if the file was cut off or is damaged
};

[[nodiscard]] inline std::string contents(const std::string& path) {
    if (std::filesystem::is_directory(path)) throw std::runtime_error{path + ": is a directory"};
    std::ifstream file{path, std::ios::binary | std::ios::ate};
    if (!file) throw std::runtime_error{path + ": cannot be opened"};
    const std::streamoff size = file.tellg();
    std::string all(static_cast<std::size_t>(std::max<std::streamoff>(size, 0)), '\0');
    file.seekg(0);
    file.read(all.data(), static_cast<std::streamsize>(all.size()));
    if (!file) throw std::runtime_error{path + ": cannot be read"};
    return all;
}

/// Reports an error, with its offset. Throws if nothing was read before it.
inline void report(const std::string& path, const char* reason, std::size_t position, const std::string& read) {
    const std::string message = path + ": " + reason + ", at byte " + std::to_string(position);
    if (read.empty()) throw std::runtime_error{message};
    std::cerr << message << "; continuing with the " << read << " before it\n";
}

[[nodiscard]] inline input read_input(const std::string& path, const std::string& allocator) {
    const std::string text = contents(path);
    const auto bytes = std::as_bytes(std::span{text});
    input made;
    if (text.starts_with("ALSN")) {
        auto read = allot::read_snapshot(bytes);
        made.complete = static_cast<bool>(read);
        const std::size_t blocks = read.value.blocks.size();
        if (!read)
            report(path, read.error.what(), read.error.position, blocks == 0 ? "" : std::to_string(blocks) + " blocks");
        made.log = log_of(read.value);
        made.state = std::move(read.value);
    } else if (text.starts_with("ALTR")) {
        const auto read = allot::read_trace(bytes);
        made.complete = static_cast<bool>(read);
        const std::size_t operations = read.value.operations.size();
        if (!read)
            report(path, read.error.what(), read.error.position,
                   operations == 0 ? "" : std::to_string(operations) + " operations");
        made.log = replayed(read.value, allocator);
    } else {
        auto read = allot::read_event_log(bytes);
        made.complete = static_cast<bool>(read);
        const std::size_t events = read.value.events.size();
        if (!read)
            report(path, read.error.what(), read.error.position, events == 0 ? "" : std::to_string(events) + " events");
        made.log = std::move(read.value);
    }
    return made;
}

}  // namespace viewer
