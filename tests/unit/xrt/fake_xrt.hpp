// A fake of AMD's Xilinx Runtime: the functions of its C interface over bytes of the host, with the two views that a
// card has. It enforces the rules and records every violation.
//
//     host's mapping │ … │  xrtBOSync: to_device ──►  ◄── from_device  │ … │ payload: the card's memory, a DMA buffer
//
//     rule                                                     broken by
//     a buffer object is used until it is freed, once          unknown and freed handles
//     a transfer is inside its buffer object                   an offset or a size that is too large
//     an exported descriptor belongs to its buffer object      a close by the program
//     an imported descriptor stays with the program            (the test's count of open descriptors)
#pragma once

#include "../../fakes/payloads.hpp"

#include <allot/xrt/calls.hpp>

#include <doctest/doctest.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace fake_xrt {

/// The card's limits, and failures of the next calls.
struct settings {
    bool is_board = false;  // a board without copies: both views are the same bytes
    std::size_t memory = std::size_t{64} << 20;
    std::uint64_t address_of_first = std::uint64_t{4} << 32;
    int refuse_alloc = 0, refuse_sync = 0;  // `errno` of all such calls
    bool refuse_map = false, refuse_export = false;
    std::size_t missing = 0;  // bytes that a buffer object lacks
};

struct buffer_object {
    std::unique_ptr<fake::held_payload> payload;
    std::vector<std::byte> host;  // of a card
    std::size_t size = 0;
    std::uint64_t address = 0;
    int exported = -1;
};

struct card {
    fake_xrt::settings settings{};
    std::map<void*, buffer_object> objects{};
    std::uintptr_t names = 0x1000;
    std::size_t used = 0, to_device = 0, from_device = 0;  // bytes that were moved
    std::vector<std::string> violations{};
};
inline card now;
inline void* const board = &now;

inline buffer_object* find(void* handle) {
    const auto found = now.objects.find(handle);
    if (found != now.objects.end()) return &found->second;
    now.violations.emplace_back("an unknown or freed buffer object");
    return nullptr;
}
inline void* add(int descriptor, std::size_t size) {
    buffer_object fresh;
    fresh.payload = std::make_unique<fake::held_payload>(descriptor);
    // The vector's bytes begin at a page.
    if (!now.settings.is_board) fresh.host.resize(size + 4096);
    fresh.size = size;
    void* const name = reinterpret_cast<void*>(++now.names);
    fresh.address = now.settings.address_of_first + (now.names << 28);
    now.objects.emplace(name, std::move(fresh));
    now.used += size;
    return name;
}
inline std::byte* page_of(std::byte* at) { return at + (4096 - reinterpret_cast<std::uintptr_t>(at) % 4096) % 4096; }

inline void* alloc(void* device, std::size_t size, std::uint64_t flags, std::uint32_t group) {
    if (device != board || flags != 0 || group > 3 || size == 0) return errno = EINVAL, nullptr;
    if (now.settings.refuse_alloc != 0) return errno = now.settings.refuse_alloc, nullptr;
    if (size > now.settings.memory - now.used) return errno = ENOMEM, nullptr;
    const int payload = fake::make_payload(fake::dma_buffer, size);
    return payload < 0 ? (errno = ENOMEM, nullptr) : add(payload, size);
}
inline void* import_buffer(void* device, int descriptor) {
    if (device != board || !fake::is_of_kind(descriptor, fake::dma_buffer)) return errno = EBADF, nullptr;
    const int own = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);  // the handle of the driver
    return add(own, fake::size_of(descriptor));
}
inline int free(void* handle) {
    buffer_object* const gone = find(handle);
    if (gone == nullptr) return -EINVAL;
    if (gone->exported >= 0) {
        if (fake::identity_of(gone->exported) == gone->payload->identity()) ::close(gone->exported);
        else now.violations.emplace_back("the program closed a descriptor of a buffer object");
    }
    now.used -= gone->size;
    now.objects.erase(handle);
    return 0;
}
inline std::size_t size(void* handle) {
    const buffer_object* const object = find(handle);
    return object == nullptr ? 0 : object->size - now.settings.missing;
}
inline void* map(void* handle) {
    buffer_object* const object = find(handle);
    if (object == nullptr || now.settings.refuse_map) return nullptr;  // without `errno`
    return now.settings.is_board ? object->payload->data() : page_of(object->host.data());
}
inline std::uint64_t address(void* handle) {
    const buffer_object* const object = find(handle);
    return object == nullptr ? 0 : object->address;
}
inline int sync(void* handle, int direction, std::size_t bytes, std::size_t offset) {
    buffer_object* const object = find(handle);
    if (object == nullptr) return -EINVAL;
    if (offset > object->size || bytes > object->size - offset || (direction != 0 && direction != 1)) {
        now.violations.emplace_back("a transfer outside of its buffer object");
        return -EINVAL;
    }
    if (now.settings.refuse_sync != 0) return -now.settings.refuse_sync;
    (direction == 0 ? now.to_device : now.from_device) += bytes;
    if (now.settings.is_board) return 0;
    std::byte *const here = page_of(object->host.data()) + offset, *const there = object->payload->data() + offset;
    direction == 0 ? std::memcpy(there, here, bytes) : std::memcpy(here, there, bytes);
    return 0;
}
inline int export_buffer(void* handle) {
    buffer_object* const object = find(handle);
    if (object == nullptr || now.settings.refuse_export) return errno = EPERM, -1;
    if (object->exported < 0) object->exported = object->payload->share();
    return object->exported;
}

inline constexpr allot::xrt::calls calls{&alloc, &free, &size, &map, &address, &sync, &export_buffer, &import_buffer};

/// The bytes on the card.
[[nodiscard]] inline std::byte* on_card(void* handle) { return now.objects.at(handle).payload->data(); }

/// A fresh card for one test. At the end, checks that no rule is broken and nothing is held.
struct driven {
    driven() { now = {}; }
    driven(const driven&) = delete;
    driven& operator=(const driven&) = delete;
    ~driven() {
        CHECK(now.objects.empty());
        CHECK(fake::open_descriptors() == opened);
        CHECK(fake::lost_descriptors == 0);
        for (const std::string& each : now.violations) FAIL_CHECK(each);
    }
    const std::size_t opened = fake::open_descriptors();
};

}  // namespace fake_xrt
