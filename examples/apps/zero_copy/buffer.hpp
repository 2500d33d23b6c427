// SPDX-License-Identifier: BSL-1.0
// The definitions that the two processes share: the layout of the buffer, and the messages between them.
//
//     buffer │ frame 0 │ sums of its rows │ frame 1 │ sums │ …      a frame is identified by its offset, not a pointer
#pragma once

#include <allot/allot.hpp>
#include <allot/tensor.hpp>

#include <atomic>
#include <stdexcept>
#include <string>
#include <utility>

#include <sys/socket.h>
#include <unistd.h>

using namespace allot::literals;

/// A pixel has 24 bits of color. The two sides of a step use the other bits to signal each other.
constexpr std::uint32_t colour = 0x00FF'FFFF, from_camera = 1 << 24, from_host = 2 << 24;
constexpr std::uint32_t kernel_runs = 4 << 24, kernel_saw_host = 8 << 24;
constexpr std::int64_t rows = 256, columns = 256, frame_count = 3;
constexpr std::int64_t sums_behind = rows * columns * 4, slot = sums_behind + 4096;
constexpr std::size_t buffer_size = 2_MiB, buffer_align = 64;
static_assert(static_cast<std::size_t>(frame_count * slot) <= buffer_size);

/// Returns the value, or throws an exception with allot's description of the error.
template <class Result>
auto must(Result made, const char* what) {
    if (!made) throw std::runtime_error{std::string{what} + ": " + made.error().what()};
    return *std::move(made);
}

/// Returns the buffer as a storage in the party's own view of the memory.
template <class Allocator>
auto buffer_in(Allocator& memory) {
    return must(allot::alloc_storage(memory, {.size = buffer_size, .align = buffer_align}), "the buffer");
}

/// A frame of the buffer, as tensors in the party's own view of the memory.
template <class Storage>
struct frame_in {
    allot::tensor_in<Storage> pixels, sums;

    frame_in(const Storage& buffer, std::int64_t offset)
        : pixels{must(allot::alloc_tensor(buffer, offset, {rows, columns}, allot::uint32), "a frame")},
          sums{must(allot::alloc_tensor(buffer, offset + sums_behind, {rows}, allot::uint64), "its sums")} {}
};

/// Reads a pixel that another party may write concurrently.
template <class Tensor>
std::atomic_ref<std::uint32_t> pixel(const Tensor& pixels, int index) {
    return std::atomic_ref{static_cast<std::uint32_t*>(pixels.data())[index]};
}

/// One end of a connection between the processes. It carries numbers, never pixels.
class line {
public:
    explicit line(int end) : end_{end} {}
    line(line&& other) noexcept : end_{std::exchange(other.end_, -1)} {}
    line& operator=(line&&) = delete;
    ~line() {
        if (end_ >= 0) ::close(end_);
    }

    /// Sends a number. `hear` detects that the other side is gone; this function does not.
    void tell(std::int64_t number) { static_cast<void>(::send(end_, &number, sizeof number, MSG_NOSIGNAL)); }
    /// Receives a number. Returns false when the other side is gone.
    bool hear(std::int64_t& number) { return ::recv(end_, &number, sizeof number, 0) == sizeof number; }

private:
    int end_;
};
