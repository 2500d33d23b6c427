// Finds data sets that are not in the repository, in the folder of the environment variable ALLOT_DATA.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace tests {

/// Returns the path of a data set. Prints a line and returns an empty path without it.
[[nodiscard]] inline std::filesystem::path optional_data(const char* name) {
    const char* const folder = std::getenv("ALLOT_DATA");
    if (folder != nullptr && std::filesystem::exists(std::filesystem::path{folder} / name))
        return std::filesystem::path{folder} / name;
    std::printf("skipped: $ALLOT_DATA has no %s\n", name);
    return {};
}

}  // namespace tests
