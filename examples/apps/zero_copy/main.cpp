// SPDX-License-Identifier: BSL-1.0
// zero_copy: one process fills frames of a camera, and another process and an OpenCL kernel use them in place. The
// program counts the copies.
//
//     zero_copy [--memory contiguous|shared] [--copying camera|tensor|kernel]
//
//     camera (this process)             runtime (its child)                           OpenCL
//     alloc_storage, alloc_tensor       adopted ─► alloc_tensor ── at an offset ──►   imported ─► alloc_tensor
//         │ fills frames                    │ reads them                                  │ sums their rows
//         ▼                                 ▼                                             ▼
//     physical memory   │ frame 0 │ sums │ frame 1 │ sums │ …      one run of it, or the pages of shared memory
//
// Exits with 0 without copies, with 1 with copies (as with `--copying`), with 2 after an error, and with 77 without
// OpenCL. copies.hpp explains the counting.
#include "buffer.hpp"
#include "runtime.hpp"

#include <allot/host/contiguous_pages.hpp>
#include <allot/host/shared_memory.hpp>

#include <cstdlib>
#include <system_error>

#include <sys/wait.h>

namespace {

/// Fills frames, changes a pixel while the runtime uses them, and checks the sums of their rows.
template <class Storage>
void film(const Storage& buffer, line to_runtime, copying where) {
    std::int64_t answer = 0;
    for (std::uint64_t number = 0; number != frame_count; ++number) {
        const auto offset = static_cast<std::int64_t>(number) * slot;
        const frame_in frame{buffer, offset};
        const step into_buffer;
        std::vector<std::uint32_t> own(where == copying::camera ? frame.pixels.size() : 0);
        auto* const pixels = where == copying::camera ? own.data() : static_cast<std::uint32_t*>(frame.pixels.data());
        std::vector<std::uint64_t> expected(rows);
        for (std::size_t i = 0; i != frame.pixels.size(); ++i) {
            pixels[i] = static_cast<std::uint32_t>((i + 1) * (number + 1) * 2'654'435'761) & colour;
            expected[i / columns] += pixels[i];
        }
        if (where == copying::camera) std::memcpy(frame.pixels.data(), pixels, frame.pixels.size_bytes());
        to_runtime.tell(offset);
        to_runtime.tell(static_cast<std::int64_t>(into_buffer.copies()));
        if (!to_runtime.hear(answer)) return;  // the runtime reports the reason
        pixel(frame.pixels, 0) |= from_camera;
        to_runtime.tell(0);
        if (!to_runtime.hear(answer)) return;
        if (static_cast<std::uint64_t>(answer) != std::accumulate(expected.begin(), expected.end(), std::uint64_t{0}))
            throw std::runtime_error{"the runtime read other bytes than the camera wrote"};
        const step back;
        const auto* const sums = static_cast<const std::uint64_t*>(frame.sums.data());
        to_runtime.tell(static_cast<std::int64_t>(back.copies(std::equal(expected.begin(), expected.end(), sums))));
    }
}

int use(line to_camera, pid_t camera, void* mapped, copying where) try {
    const std::size_t copies = runtime{std::move(to_camera), camera, mapped, where}.run();
    std::cout << "copies: " << copies << std::endl;
    return copies == 0 ? 0 : 1;
} catch (const unavailable& reason) {
    std::cout << "skipped: " << reason.what() << std::endl;
    return 77;
} catch (const std::exception& reason) {
    std::cerr << "the runtime: " << reason.what() << '\n';
    return 2;
}

/// Runs the two processes. The fork keeps the mapping of the buffer.
template <class Storage>
int run(const Storage& buffer, copying where) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        throw std::system_error{errno, std::generic_category(), "connecting the processes"};
    std::cout << std::flush;
    const pid_t camera = ::getpid(), child = ::fork();
    if (child < 0) throw std::system_error{errno, std::generic_category(), "creating a process"};
    if (child == 0) {
        ::close(ends[0]);
        std::exit(use(line{ends[1]}, camera, buffer.base(), where));
    }
    ::close(ends[1]);
    film(buffer, line{ends[0]}, where);
    int status = 0;
    if (::waitpid(child, &status, 0) != child || !WIFEXITED(status)) throw std::runtime_error{"the runtime died"};
    return WEXITSTATUS(status);
}

constexpr const char* usage = "usage: zero_copy [--memory contiguous|shared] [--copying camera|tensor|kernel]";

/// The options.
struct options {
    bool contiguous = true;
    copying where = copying::nowhere;

    options(int argc, char** argv) {
        for (int i = 1; i < argc; i += 2) {
            const std::string option = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
            if (option == "--memory" && value == "contiguous") contiguous = true;
            else if (option == "--memory" && value == "shared") contiguous = false;
            else if (option == "--copying" && value == "camera") where = copying::camera;
            else if (option == "--copying" && value == "tensor") where = copying::tensor;
            else if (option == "--copying" && value == "kernel") where = copying::kernel;
            else throw std::runtime_error{usage};
        }
    }
};

}  // namespace

int main(int argc, char** argv) try {
    const options wanted{argc, argv};
    if (wanted.contiguous) {
        allot::naive<allot::host::contiguous_pages<>> memory;
        if (const auto buffer = allot::alloc_storage(memory, {.size = buffer_size, .align = buffer_align})) {
            const auto bus = memory.device().bus_address(buffer->base(), buffer_size);
            std::cout << "contiguous memory: " << buffer_size << " bytes at bus address 0x" << std::hex << *bus
                      << std::dec << '\n';
            return run(*buffer, wanted.where);
        } else {
            const auto code = static_cast<int>(buffer.error().memory.device_error);
            std::cout << "no contiguous memory: " << std::generic_category().message(code) << '\n';
        }
    }
    auto shared = allot::host::shared_memory::create(buffer_size);
    if (!shared) throw std::system_error{shared.error(), std::generic_category(), "shared memory"};
    allot::naive memory{*std::move(shared)};
    std::cout << "shared memory: " << buffer_size << " bytes of ordinary pages\n";
    return run(buffer_in(memory), wanted.where);
} catch (const std::exception& reason) {
    std::cerr << reason.what() << '\n';
    return 2;
}
