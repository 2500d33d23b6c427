// SPDX-License-Identifier: BSL-1.0
// Converts a recording of the recorder to a trace (ALTR1), and prints a summary in JSON.
//
//     recording_to_trace RECORDING TRACE
//
// Exits with 0 if all events were read, with 1 if the rest was kept, and with 2 if the file is not a recording.
#include "events.hpp"

#include <allot/inspect/trace.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <unordered_map>

namespace {

using namespace recording;

struct block {
    std::uint64_t number = 0, size = 0;
    std::uint8_t align_log2 = 4;
};

/// Gives numbers to the blocks of addresses, and writes the calls to a trace.
class heap_model {
public:
    explicit heap_model(bool writes) : writes_{writes} {}

    void apply(const event& each) {
        switch (each.what) {
            case long_kind::allocate: return allocate(each.address, each.size, each.align_log2);
            case long_kind::deallocate: return deallocate(each.address);
            case long_kind::resize_begin: return begin_resize(each);
            case long_kind::resize_end: return end_resize(each);
            case long_kind::thread: return;
        }
    }
    /// Starts with the blocks of a parent. They keep their order.
    void inherit(const std::unordered_map<word, block>& from) {
        std::vector<std::pair<std::uint64_t, word>> order;
        for (const auto& [address, each] : from) order.emplace_back(each.number, address);
        std::ranges::sort(order);
        for (const auto& [number, address] : order) {
            const block& each = from.at(address);
            allocate(address, each.size, each.align_log2);
        }
        inherited = std::exchange(allocations, 0);
        bytes = 0;
    }
    [[nodiscard]] const std::unordered_map<word, block>& live() const noexcept { return live_; }
    [[nodiscard]] std::vector<std::byte> trace() const { return to_.bytes(); }

    std::uint64_t inherited = 0, allocations = 0, deallocations = 0, resizes = 0, bytes = 0, peak = 0;
    std::uint64_t unknown = 0;    // deallocations and resizes of blocks that were not seen
    std::uint64_t conflicts = 0;  // allocations at the address of a live block

private:
    void add(word address, block made) {
        const auto [at, fresh] = live_.try_emplace(address, made);
        if (!fresh) {
            ++conflicts;
            drop(at->second);
            at->second = made;
        }
        used_ += made.size;
        bytes += made.size;
        peak = std::max(peak, used_);
    }
    void drop(const block& of) {
        if (writes_) to_.deallocate(of.number);
        used_ -= of.size;
    }
    void allocate(word address, std::uint64_t size, std::uint8_t align_log2) {
        ++allocations;
        const std::uint64_t number = count_++;
        if (writes_) to_.allocate(size, std::uint64_t{1} << align_log2);
        add(address, {number, size, align_log2});
    }
    void deallocate(word address) {
        const auto at = live_.find(address);
        if (at == live_.end()) {
            ++unknown;
            return;
        }
        ++deallocations;
        drop(at->second);
        live_.erase(at);
    }
    /// Until the call returns, the block is live and its address can already be that of another one.
    void begin_resize(const event& each) {
        auto& waits = resizing_[each.thread];
        waits.reset();
        const auto at = live_.find(each.address);
        if (at == live_.end()) {
            ++unknown;
            return;
        }
        waits = {at->first, at->second};
        live_.erase(at);
    }
    void end_resize(const event& each) {
        const auto waits = std::exchange(resizing_[each.thread], std::nullopt);
        if (each.address == 0) {
            if (!waits) return;
            if (each.size != 0) {
                live_.insert(*waits);  // it failed
            } else {
                ++deallocations;
                drop(waits->second);
            }
            return;
        }
        if (!waits) return allocate(each.address, each.size, 4);
        ++resizes;
        const std::uint64_t number = count_++;
        if (writes_) to_.resize(waits->second.number, each.size);
        used_ -= waits->second.size;
        add(each.address, {number, each.size, 4});
    }

    bool writes_;
    allot::trace_writer to_{};
    std::uint64_t count_ = 0, used_ = 0;
    std::unordered_map<word, block> live_{};
    std::unordered_map<word, std::optional<std::pair<word, block>>> resizing_{};  // by thread
};

/// A recording in memory.
class mapped {
public:
    explicit mapped(const std::string& path) : path_{path} {
        const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
        struct stat about {};
        if (descriptor < 0 || ::fstat(descriptor, &about) != 0) throw std::runtime_error{path + ": cannot be opened"};
        const auto size = static_cast<std::size_t>(about.st_size);
        void* const at = size == 0 ? MAP_FAILED : ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
        ::close(descriptor);
        if (at != MAP_FAILED) bytes_ = {static_cast<const std::byte*>(at), size};
        check();
    }
    ~mapped() {
        if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
    }
    mapped(const mapped&) = delete;
    mapped& operator=(const mapped&) = delete;

    [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }
    [[nodiscard]] const header& start() const noexcept { return *reinterpret_cast<const header*>(bytes_.data()); }
    /// The recordings of a program are in one folder.
    [[nodiscard]] std::string parent_file() const {
        const std::filesystem::path parent = text(start().parent_file);
        return std::filesystem::path{path_}.replace_filename(parent.filename()).string();
    }
    [[nodiscard]] std::string program() const { return text(start().program); }

private:
    template <std::size_t Size>
    static std::string text(const char (&of)[Size]) {
        return {of, ::strnlen(of, Size)};
    }
    void check() const {
        if (bytes_.size() < unit_bytes) throw std::runtime_error{path_ + ": byte 0: the header is cut off"};
        if (start().magic != file_magic) throw std::runtime_error{path_ + ": byte 0: not a recording"};
        if (start().version != version)
            throw std::runtime_error{path_ + ": byte 8: a recording of version " + std::to_string(start().version) +
                                     "; this converter reads version " + std::to_string(version)};
    }

    std::string path_;
    std::span<const std::byte> bytes_{};
};

/// Recordings whose parents are each other do not end.
constexpr int most_generations = 100;

/// Applies the events before a time. A child of fork starts with the blocks of its parent at the time of the fork.
void apply_until(heap_model& to, const mapped& file, word time, damage& wrong, int generation = 0) {
    if (file.start().parent != 0) {
        heap_model before{false};
        damage elsewhere;
        try {
            if (generation == most_generations) throw std::runtime_error{"the recordings name each other as parents"};
            const mapped parent{file.parent_file()};
            apply_until(before, parent, file.start().forked_at, elsewhere, generation + 1);
        } catch (const std::runtime_error& error) {
            elsewhere.reason = error.what();
        }
        if (!elsewhere.reason.empty())
            wrong = {offsetof(header, parent_file), "names no whole recording of a parent process"};
        to.inherit(before.live());
    }
    for_each_event(file.bytes(), wrong, [&](const event& each) {
        if (each.time < time) to.apply(each);
    });
}

std::string quoted(const std::string& text) {
    std::string made = "\"";
    for (const char letter : text) {
        const auto code = static_cast<unsigned char>(letter);
        char escape[8];
        std::snprintf(escape, sizeof escape, "\\u%04x", code);
        made += letter == '"' || letter == '\\' || code < 32 || code > 126 ? escape : std::string{letter};
    }
    return made + "\"";
}

int run(const std::string& from, const std::string& to) {
    const mapped file{from};
    const header& start = file.start();
    heap_model model{true};
    damage wrong;
    apply_until(model, file, ~word{0}, wrong);
    const auto bytes = model.trace();
    std::ofstream out{to, std::ios::binary};
    out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    out.close();
    if (!out) throw std::runtime_error{to + ": cannot be written"};
    const auto number = [](const char* name, word value) {
        std::printf("\"%s\": %llu, ", name, static_cast<unsigned long long>(value));
    };
    std::printf("{");
    number("pid", start.pid);
    number("forked", start.parent);
    number("threads", start.threads);
    number("inherited", model.inherited);
    number("allocations", model.allocations);
    number("deallocations", model.deallocations);
    number("resizes", model.resizes);
    number("failed", start.failed);
    number("lost", start.lost);
    number("unknown", model.unknown);
    number("conflicts", model.conflicts);
    number("live", model.live().size());
    number("bytes", model.bytes);
    number("peak", model.peak);
    std::printf(
        "\"program\": %s, \"damage\": %s}\n", quoted(file.program()).c_str(),
        quoted(wrong.reason.empty() ? "" : "byte " + std::to_string(wrong.offset) + " " + wrong.reason).c_str());
    return wrong.reason.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc == 3 && std::filesystem::is_regular_file(argv[1])) return run(argv[1], argv[2]);
    if (argc == 3) throw std::runtime_error{std::string{argv[1]} + ": is not a file"};
    std::fprintf(stderr, "usage: recording_to_trace RECORDING TRACE\n");
    return 2;
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
}
