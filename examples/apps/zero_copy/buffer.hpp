// SPDX-License-Identifier: BSL-1.0
// What the two processes agree on: where things lie in the buffer, and how one tells the other.
//
//     buffer │ frame 0 │ sums of its rows │ frame 1 │ sums │ …        a frame is known by its offset, not by a pointer
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

/// A pixel has 24 bits of colour, and spare ones in which the two sides of a step show each other that they are there.
constexpr std::uint32_t colour = 0x00FF'FFFF, from_camera = 1 << 24, from_host = 2 << 24;
constexpr std::uint32_t kernel_runs = 4 << 24, kernel_saw_host = 8 << 24;
constexpr std::int64_t rows = 256, columns = 256, frame_count = 3;
constexpr std::int64_t sums_behind = rows * columns * 4, slot = sums_behind + 4096;
constexpr std::size_t buffer_size = 2_MiB, buffer_align = 64;
static_assert(static_cast<std::size_t>(frame_count * slot) <= buffer_size);

/// The value, or an exception with allot's reason.
template <class Result>
auto must(Result made, const char* what) {
    if (!made) throw std::runtime_error{std::string{what} + ": " + made.error().what()};
    return *std::move(made);
}

/// The buffer, in whatever memory one sees it through.
template <class Allocator>
auto buffer_in(Allocator& memory) {
    return must(allot::alloc_storage(memory, buffer_size, buffer_align), "the buffer");
}

/// A frame of the buffer, as tensors in whatever memory one sees it through.
template <class Storage>
struct frame_in {
    allot::tensor_in<Storage> pixels, sums;

    frame_in(const Storage& buffer, std::int64_t offset)
        : pixels{must(allot::alloc_tensor(buffer, offset, {rows, columns}, allot::uint32), "a frame")},
          sums{must(allot::alloc_tensor(buffer, offset + sums_behind, {rows}, allot::uint64), "its sums")} {}
};

/// A pixel that somebody else may be writing at this moment.
template <class Tensor>
std::atomic_ref<std::uint32_t> pixel(const Tensor& pixels, int index) {
    return std::atomic_ref{static_cast<std::uint32_t*>(pixels.data())[index]};
}

/// One end of a connection between the processes. Numbers go over it, and no pixels.
class line {
public:
    explicit line(int end) : end_{end} {}
    line(line&& other) noexcept : end_{std::exchange(other.end_, -1)} {}
    line& operator=(line&&) = delete;
    ~line() {
        if (end_ >= 0) ::close(end_);
    }

    /// Whether the other side is there, one knows when one hears it.
    void tell(std::int64_t number) { static_cast<void>(::send(end_, &number, sizeof number, MSG_NOSIGNAL)); }
    /// False when the other side is gone.
    bool hear(std::int64_t& number) { return ::recv(end_, &number, sizeof number, 0) == sizeof number; }

private:
    int end_;
};
