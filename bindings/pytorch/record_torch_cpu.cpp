// SPDX-License-Identifier: BSL-1.0
// liballot_torch_record.so: records the requests of PyTorch's CPU tensors as an event log. record_torch_cpu.py uses it.
//
// The memory comes from the C++ library. The time of an event is the number of the program's step.
#include <allot/inspect/event_log.hpp>

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/alignment.h>

#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <string>

namespace {

constexpr std::align_val_t alignment{c10::gAlignment};

/// The log, its tags and the current step. Never destroyed: tensors live until the process ends.
struct recording {
    std::mutex calls;
    allot::event_log_writer log;
    std::map<std::string, std::uint32_t, std::less<>> tags;
    std::uint64_t step = 0;
    std::uint32_t tag = 0;

    void add(allot::memory_action action, const void* at, std::size_t size) {
        const std::lock_guard alone{calls};
        const bool fresh = action == allot::memory_action::allocate;
        log.add({.time = step,
                 .address = reinterpret_cast<std::uintptr_t>(at),
                 .size = size,
                 .tag = fresh ? tag : 0,
                 .action = action,
                 .align_log2 = static_cast<std::uint8_t>(fresh ? std::countr_zero(c10::gAlignment) : 0)});
    }
};
recording* const now = new recording;

class recording_allocator : public c10::Allocator {
public:
    // The two functions of PyTorch 1.13 and of 2.4: see cpu_allocator.hpp.
    c10::DataPtr allocate(std::size_t size) const { return give(size); }
    c10::DataPtr allocate(std::size_t size) { return give(size); }
    void copy_data(void* to, const void* from, std::size_t count) const { std::memcpy(to, from, count); }
    c10::DeleterFnPtr raw_deleter() const { return &take; }

private:
    static c10::DataPtr give(std::size_t size) {
        void* const data = size == 0 ? nullptr : ::operator new(size, alignment);
        if (data != nullptr) now->add(allot::memory_action::allocate, data, size);
        return {data, data, &take, c10::Device{c10::DeviceType::CPU}};
    }
    static void take(void* data) {
        if (data == nullptr) return;
        now->add(allot::memory_action::deallocate, data, 0);
        ::operator delete(data, alignment);
    }
};

}  // namespace

extern "C" {

void allot_torch_record_install() { c10::SetCPUAllocator(new recording_allocator); }

void allot_torch_record_step() {
    const std::lock_guard alone{now->calls};
    ++now->step;
}

void allot_torch_record_tag(const char* name) {
    const std::lock_guard alone{now->calls};
    const auto [found, is_new] = now->tags.try_emplace(name, 0);
    if (is_new) found->second = now->log.tag(name);
    now->tag = found->second;
}

int allot_torch_record_write(const char* path) {
    const std::lock_guard alone{now->calls};
    const auto bytes = now->log.bytes();
    std::FILE* const file = std::fopen(path, "wb");
    if (file == nullptr) return -1;
    const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
    return std::fclose(file) == 0 && written ? 0 : -1;
}

}  // extern "C"
