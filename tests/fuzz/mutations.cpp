// Runs a fuzz target without libFuzzer: first each given file unchanged, then COUNT mutations of the files. The
// mutations are the same on every machine.
//
//     fuzz_program_mutations COUNT FILE...
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size);

namespace {

/// Generates mutations of a set of files.
class mutator {
public:
    explicit mutator(const std::vector<std::string>& files) : files_{files} {}

    [[nodiscard]] std::string next() {
        std::string text = files_[below(files_.size())];
        for (std::size_t left = 1 + below(4); left != 0; --left) mutate(text);
        return text;
    }

private:
    /// Returns a random number below `end`, or 0. std::uniform_int_distribution would differ between libraries.
    [[nodiscard]] std::size_t below(std::size_t end) {
        return end == 0 ? 0 : static_cast<std::size_t>(random_() % end);
    }
    [[nodiscard]] static std::vector<std::string> lines_of(const std::string& text) {
        std::vector<std::string> lines{""};
        for (const char c : text) {
            lines.back() += c;
            if (c == '\n') lines.emplace_back();
        }
        return lines;
    }
    [[nodiscard]] std::string any_line() {
        const std::vector<std::string> lines = lines_of(files_[below(files_.size())]);
        return lines[below(lines.size())];
    }

    void mutate(std::string& text) {
        const std::size_t at = below(text.size());
        switch (below(8)) {
            case 0: return text.insert(at, 1, static_cast<char>(below(256))), void();
            case 1: return text.erase(at, 1 + below(8)), void();
            case 2: return text.resize(at);
            case 3: return change_number(text, at);
            case 4: return change_number(text, at);
            default: return change_lines(text);
        }
    }
    /// Replaces the first number after a position.
    void change_number(std::string& text, std::size_t at) {
        static constexpr const char* odd[] = {"0",
                                              "-1",
                                              "1",
                                              "3",
                                              "4",
                                              "64",
                                              "65",
                                              "256",
                                              "1024",
                                              "4096",
                                              "2147483648",
                                              "4294967296",
                                              "9223372036854775807",
                                              "18446744073709551615",
                                              "1e308",
                                              "99999999999999999999"};
        const std::size_t begin = text.find_first_of("0123456789", at);
        if (begin == std::string::npos) return;
        const std::size_t end = std::min(text.find_first_not_of("0123456789", begin), text.size());
        text.replace(begin, end - begin, odd[below(std::size(odd))]);
    }
    /// Clears, joins, swaps or replaces a line.
    void change_lines(std::string& text) {
        std::vector<std::string> lines = lines_of(text);
        const std::size_t one = below(lines.size()), other = below(lines.size());
        switch (below(4)) {
            case 0: lines[one].clear(); break;
            case 1: lines[one] += lines[other]; break;
            case 2: std::swap(lines[one], lines[other]); break;
            default: lines[one] = any_line(); break;
        }
        text.clear();
        for (const std::string& line : lines) text += line;
    }

    const std::vector<std::string>& files_;
    std::mt19937_64 random_{20240229};
};

void run(const std::string& text) {
    static_cast<void>(LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
}

}  // namespace

int main(int argc, char** argv) {
    std::vector<std::string> files;
    for (int i = 2; i < argc; ++i) {
        std::ifstream file{argv[i], std::ios::binary};
        files.emplace_back(std::istreambuf_iterator<char>{file}, std::istreambuf_iterator<char>{});
        if (files.back().empty()) {
            std::cerr << argv[i] << " is empty or cannot be read\n";
            return 2;
        }
    }
    if (files.empty()) {
        std::cerr << "usage: " << argv[0] << " COUNT FILE...\n";
        return 2;
    }
    for (const std::string& text : files) run(text);
    mutator mutations{files};
    for (long left = std::strtol(argv[1], nullptr, 10); left > 0; --left) run(mutations.next());
}
