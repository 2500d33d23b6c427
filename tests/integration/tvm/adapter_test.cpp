// Tests of the adapter of bindings/tvm through TVM's interface, here a stand-in of it.
#include "adapter.hpp"
#include "interface.hpp"

#include <allot/allot.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace allot::literals;
using allot_tvm::adapter;
using tvm::runtime::memory::Allocator;
using tvm::runtime::memory::Buffer;
using tvm::runtime::memory::kPooled;

constexpr DLDevice cpu{kDLCPU, 3};
constexpr DLDataType float32{2, 32, 1};

/// A heap that counts the bytes in use and fails above a limit.
struct watched_heap : allot::host::heap {
    std::size_t* held = nullptr;
    std::size_t limit = 16_MiB;
    [[nodiscard]] allot::acquired<watched_heap> acquire(allot::layout wanted) noexcept {
        if (wanted.size > limit) return allot::acquired<watched_heap>::failure(error::no_memory);
        const auto answer = heap::acquire(wanted);
        if (answer) *held += answer->size;
        return answer;
    }
    void release(allot::region<void*> back) noexcept {
        *held -= back.size;
        heap::release(back);
    }
};

/// A heap that counts concurrent calls, and yields to provoke them.
struct lonely_heap : allot::host::heap {
    std::atomic<bool>* busy = nullptr;
    std::atomic<int>* meetings = nullptr;
    [[nodiscard]] allot::acquired<lonely_heap> acquire(allot::layout wanted) noexcept {
        enter();
        return heap::acquire(wanted);
    }
    void release(allot::region<void*> back) noexcept {
        enter();
        heap::release(back);
    }

private:
    void enter() noexcept {
        if (busy->exchange(true)) ++*meetings;
        std::this_thread::yield();
        *busy = false;
    }
};

using arena = allot::arena<allot::host::heap, allot::best_fit<>>;
using one_region = adapter<arena>;
using growing = adapter<allot::arena<watched_heap, allot::best_fit<>, allot::growth::fixed<>>>;
using with_metadata = adapter<allot::naive<watched_heap>>;

Buffer ask(Allocator& from, std::size_t size, std::size_t align = 64) { return from.Alloc(cpu, size, align, float32); }

std::string refusal_of(Allocator& from, std::size_t size, std::size_t align = 64) {
    try {
        ask(from, size, align);
    } catch (const tvm::ffi::Error& error) {
        return error.kind() + ": " + error.what();
    }
    return "none";
}

bool holds(const Buffer& buffer, unsigned char value) {
    const auto* const bytes = static_cast<const unsigned char*>(buffer.data);
    return bytes[0] == value && std::memcmp(bytes, bytes + 1, buffer.size - 1) == 0;
}

}  // namespace

TEST_CASE("tvm adapter: a buffer has its allocator and device") {
    one_region memory{kPooled, allot::host::heap{}, 64_KiB};
    for (const std::size_t align : {1u, 64u, 4096u}) {
        const Buffer buffer = ask(memory, 1000, align);
        CHECK(buffer.size == 1000);
        CHECK(buffer.device.device_id == cpu.device_id);
        CHECK(buffer.alloc_type == kPooled);
        CHECK(allot::raw_pointer::position(buffer.data) % align == 0);
        memory.Free(buffer);
    }
}

TEST_CASE("tvm adapter: a buffer of size 0 is allocated and freed") {
    one_region memory{kPooled, allot::host::heap{}, 64_KiB};
    const Buffer first = ask(memory, 0), second = ask(memory, 0);
    CHECK(first.data != nullptr);
    CHECK(first.data != second.data);
    memory.Free(first);
    memory.Free(second);
    CHECK(memory.UsedMemory() == 0);
}

TEST_CASE("tvm adapter: live buffers do not overlap, and freed bytes are reused") {
    std::size_t held = 0;
    const auto run = [&](Allocator& memory) {
        for (int round = 0; round != 3; ++round) {
            std::vector<Buffer> live;
            for (unsigned char i = 0; i != 40; ++i) {
                live.push_back(ask(memory, 1 + i * 997u));
                std::memset(live.back().data, i, live.back().size);
            }
            for (unsigned char i = 0; i != 40; ++i) CHECK(holds(live[i], i));
            for (const std::size_t start : {1u, 0u}) {  // every second buffer first, to create holes
                for (std::size_t i = start; i < live.size(); i += 2) memory.Free(live[i]);
            }
            CHECK(memory.UsedMemory() == 0);
        }
        memory.Clear();
        CHECK(held == 0);
    };
    growing cut{kPooled, watched_heap{{}, &held}};
    run(cut);
    with_metadata separate{kPooled, watched_heap{{}, &held}};
    run(separate);
}

TEST_CASE("tvm adapter: Clear releases only unused memory") {
    std::size_t held = 0;
    growing memory{kPooled, watched_heap{{}, &held}};
    const Buffer small = ask(memory, 1000), large = ask(memory, 3_MiB);
    const std::size_t both = held;
    std::memset(small.data, 7, small.size);
    memory.Free(large);
    CHECK(held == both);  // kept for the next run
    memory.Clear();
    CHECK(held == 1_MiB);
    CHECK(holds(small, 7));
    CHECK(memory.UsedMemory() == small.size);
    memory.Free(small);
    memory.Clear();
    CHECK(held == 0);
}

TEST_CASE("tvm adapter: a failure has a reason and changes nothing") {
    one_region small{kPooled, allot::host::heap{}, 4_KiB};
    CHECK(refusal_of(small, 8192)
              .starts_with("MemoryError: allot: no 8192 bytes aligned to 64 in global: fewer bytes are free than "
                           "were asked for; the largest hole has "));
    CHECK(refusal_of(small, 8, 3) ==
          "MemoryError: allot: no 8 bytes aligned to 3 in global: the alignment is not a power of two");
    CHECK(small.UsedMemory() == 0);
    CHECK(refusal_of(small, 2048) == "none");

    std::size_t held = 0;
    growing refused{kPooled, watched_heap{{}, &held, 2_MiB}};
    CHECK(refusal_of(refused, 3_MiB) ==
          "MemoryError: allot: no 3145728 bytes aligned to 64 in global: the device refused to give memory; the "
          "device's error is 1");
    CHECK(held == 0);
}

TEST_CASE("tvm adapter: a buffer is freed to its own allocator") {
    arena near{allot::host::heap{}, 4_KiB}, far{allot::host::heap{}, 64_KiB};
    adapter<allot::fallback<arena&, arena&>> both{kPooled, near, far};
    const Buffer first = ask(both, 3000), second = ask(both, 3000);  // two buffers do not fit `near`
    both.Free(first);
    both.Free(second);
    const allot::layout whole_near{3900, 8}, whole_far{65000, 8};
    CHECK(near.allocate(whole_near));
    CHECK(far.allocate(whole_far));
}

TEST_CASE("tvm adapter: threads enter one at a time") {
    std::atomic<bool> busy = false;
    std::atomic<int> meetings = 0;
    adapter<allot::naive<lonely_heap>> memory{kPooled, lonely_heap{{}, &busy, &meetings}};
    const auto work = [&] {
        for (std::size_t i = 0; i != 25; ++i) memory.Free(ask(memory, 100 + i));
    };
    std::vector<std::thread> threads;
    for (int i = 0; i != 4; ++i) threads.emplace_back(work);
    for (auto& thread : threads) thread.join();
    CHECK(meetings == 0);
    CHECK(memory.UsedMemory() == 0);
}

namespace {

/// A memory of images: shapes end with four channels.
struct picky : allot_tvm::memory_over<arena> {
    using allot_tvm::memory_over<arena>::memory_over;
    [[nodiscard]] allot::tensor_error check_view(const allot::shape& of, allot::dtype) const noexcept override {
        return {of[of.rank() - 1] == 4 ? allot::tensor_refusal::none : allot::tensor_refusal::bad_texture};
    }
};

/// An adapter of 4 KiB with the scopes global.vtcm and global.texture of 8 KiB each.
struct scoped {
    picky vtcm{128, allot::host::heap{}, 8_KiB}, texture{64, allot::host::heap{}, 8_KiB};
    one_region memory{kPooled, allot::host::heap{}, 4_KiB};

    scoped() {
        memory.serve_scopes([this](DLDevice device, const std::string& scope) -> allot_tvm::memory& {
            CHECK(device.device_id == cpu.device_id);
            if (scope == "global.vtcm") return vtcm;
            if (scope == "global.texture") return texture;
            throw tvm::ffi::Error{"ValueError", "no scope " + scope, ""};
        });
    }
};

std::string refusal_in(Allocator& from, tvm::ffi::Shape of, const std::string& scope) {
    try {
        from.Alloc(cpu, of, float32, scope);
    } catch (const tvm::ffi::Error& error) {
        return error.kind() + ": " + error.what();
    }
    return "none";
}

}  // namespace

TEST_CASE("tvm adapter: each scope has its memory, and a buffer returns there") {
    scoped all;
    Allocator& memory = all.memory;
    const tvm::ffi::Shape shape{{4, 64}};
    const Buffer near = memory.Alloc(cpu, shape, float32, "global.vtcm");
    const Buffer image = memory.Alloc(cpu, shape, float32, "global.texture");
    const Buffer plain = memory.Alloc(cpu, shape, float32, ""), named = memory.Alloc(cpu, shape, float32, "global");
    CHECK(near.size == 1024);
    CHECK(allot::raw_pointer::position(near.data) % 128 == 0);
    CHECK(near.device.device_id == cpu.device_id);
    CHECK(all.vtcm.served().live == 1024);
    CHECK(all.texture.served().live == 1024);
    CHECK(memory.UsedMemory() == 4 * 1024);
    for (const Buffer& each : {near, image, plain, named}) memory.Free(each);
    CHECK(all.vtcm.served().live == 0);
    CHECK(all.vtcm.served().most == 1024);
    CHECK(all.texture.served().live == 0);
    CHECK(memory.UsedMemory() == 0);
}

TEST_CASE("tvm adapter: a refusal in a scope names it and changes nothing") {
    scoped all;
    CHECK(refusal_in(all.memory, {{64, 64}}, "global.vtcm")
              .starts_with("MemoryError: allot: no buffer of shape (64, 64) in global.vtcm: fewer bytes are free than "
                           "were asked for; the largest hole has "));
    CHECK(refusal_in(all.memory, {{-1}}, "global.vtcm") ==
          "ValueError: allot: no buffer of shape (-1,) in global.vtcm: the shape has a negative dimension, or more "
          "dimensions than max_rank");
    CHECK(refusal_in(all.memory, {{1}}, "global.vtcm2") == "ValueError: no scope global.vtcm2");
    one_region alone{kPooled, allot::host::heap{}, 4_KiB};
    CHECK(refusal_in(alone, {{1}}, "global.vtcm") ==
          "ValueError: allot: this adapter has only the scope global; it has no global.vtcm");
    CHECK(all.memory.UsedMemory() == 0);
    CHECK(all.vtcm.served().requests == 0);
}

TEST_CASE("tvm adapter: a view starts at its buffer, fits it, and suits its memory") {
    scoped all;
    Allocator& memory = all.memory;
    const Buffer buffer = memory.Alloc(cpu, {{4, 64}}, float32, "global.texture");
    CHECK(memory.CreateView(buffer, {{16, 4, 4}}, float32, "global.texture") == buffer.data);
    for (const auto& [shape, reason] : {std::pair<tvm::ffi::Shape, std::string>{{{65, 4}}, "the bytes extend beyond"},
                                        {{{4, 64}}, "a texture needs at least three axes"}}) {
        std::string text;
        try {
            memory.CreateView(buffer, shape, float32, "global.texture");
        } catch (const tvm::ffi::Error& error) {
            text = error.what();
        }
        CHECK(text.find("in a storage of 1024 bytes in global.texture: " + reason) != std::string::npos);
    }
    memory.Free(buffer);
}
