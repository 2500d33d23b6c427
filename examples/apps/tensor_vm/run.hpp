// SPDX-License-Identifier: BSL-1.0
// run: runs the programs in files, each with a new memory of one kind.
#pragma once

#include "machine.hpp"

#include <fstream>
#include <iostream>

namespace vm {

struct usage_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Returns the text of a file. A text that is too long is cut after the limit, so that the reader rejects it.
[[nodiscard]] inline std::string text_of(const std::string& path) {
    std::ifstream file{path, std::ios::binary};
    if (!file) throw usage_error{path + " cannot be opened"};
    std::string text(most_text + 1, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (file.bad()) throw usage_error{path + " cannot be read"};
    text.resize(static_cast<std::size_t>(file.gcount()));
    return text;
}

/// Runs all programs and reports errors. Returns 1 if a program failed, otherwise 0.
template <class Memory>
[[nodiscard]] int run(const std::vector<std::string>& paths) {
    int result = 0;
    for (const std::string& path : paths) {
        const std::string text = text_of(path);
        const memory_sizes sizes;
        Memory memory{sizes};
        try {
            machine<Memory>{memory, sizes}.run(read_program(text), std::cout);
        } catch (const program_error& reason) {
            std::cout << std::flush;
            std::cerr << path << ':' << reason.line << ": " << reason.what() << '\n';
            result = 1;
        }
    }
    return result;
}

}  // namespace vm
