// Devices for tests. All of them are deterministic and need no hardware.
//
//     pages<…>      Pages of this machine. Every region is between pages that must not be accessed. Its base is at any
//                   distance from a page boundary. A region without host access is protected as a whole; a machine
//                   that cannot protect pages detects only writes, when the region is released.
//     handles<…>    Buffers that are only a number, with bases of a given alignment.
//     steady<D>     Any device, without alignments that are available only by chance.
//     watched<D>    Any device, with a journal of its regions, and with an acquisition that fails.
#pragma once

#include <allot/address/handle_offset.hpp>
#include <allot/address/raw_pointer.hpp>
#include <allot/core/device.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#elif defined(_WIN32)
#include <allot/windows/detail/kernel.hpp>
#endif

namespace laws {

#if defined(__linux__)
/// Pages that must not be accessed, except those that were opened.
class guarded_bytes {
public:
    static constexpr bool faults = true;  // an access faults

    explicit guarded_bytes(std::size_t size) : size_{size} {
        void* const fresh = ::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (fresh != MAP_FAILED) base_ = static_cast<std::byte*>(fresh);
    }
    guarded_bytes(const guarded_bytes&) = delete;
    guarded_bytes& operator=(const guarded_bytes&) = delete;
    ~guarded_bytes() {
        if (base_ != nullptr) ::munmap(base_, size_);
    }

    [[nodiscard]] std::byte* base() const { return base_; }  // null if there was no memory
    static void open(std::byte* first, std::size_t size) { ::mprotect(first, size, PROT_READ | PROT_WRITE); }
    static void close(std::byte* first, std::size_t size) {
        ::madvise(first, size, MADV_DONTNEED);
        ::mprotect(first, size, PROT_NONE);
    }

private:
    std::byte* base_ = nullptr;
    std::size_t size_;
};
#elif defined(_WIN32)
/// The same on Windows.
class guarded_bytes {
public:
    static constexpr bool faults = true;

    explicit guarded_bytes(std::size_t size) : base_{static_cast<std::byte*>(allot::windows::detail::reserve(size))} {}
    guarded_bytes(const guarded_bytes&) = delete;
    guarded_bytes& operator=(const guarded_bytes&) = delete;
    ~guarded_bytes() {
        if (base_ != nullptr) allot::windows::detail::release(base_);
    }

    [[nodiscard]] std::byte* base() const { return base_; }
    static void open(std::byte* first, std::size_t size) {
        static_cast<void>(allot::windows::detail::commit(first, size));
    }
    static void close(std::byte* first, std::size_t size) {
        static_cast<void>(allot::windows::detail::decommit(first, size));
    }

private:
    std::byte* base_;
};
#else
/// For machines that cannot protect memory: plain bytes.
class guarded_bytes {
public:
    static constexpr bool faults = false;

    explicit guarded_bytes(std::size_t size) : bytes_{new(std::nothrow) std::byte[size]} {}

    [[nodiscard]] std::byte* base() const { return bytes_.get(); }
    static void open(std::byte*, std::size_t) {}
    static void close(std::byte*, std::size_t) {}

private:
    std::unique_ptr<std::byte[]> bytes_;
};
#endif

struct page_options {
    bool accessible = true;
    std::size_t phase[2] = {0, 0};  // bytes between a page boundary and the base, in turn
    std::size_t min_align = 1;
    std::size_t granularity = 1;
};

/// Regions in separate pages. Where the host may write, the bytes around a region are filled with a pattern and checked
/// at its release; where it may not, any access is a fault. With `from_above`, later regions have lower addresses
/// instead of higher ones.
template <page_options Options>
class pages {
    static constexpr std::size_t page = 4096, slot_bytes = std::size_t{1} << 16, slot_count = 16;
    static constexpr std::size_t canary = 64;
    static constexpr auto untouched = static_cast<unsigned char>(0xA5);

    struct reservation {
        guarded_bytes bytes{slot_bytes * (slot_count + 1)};
        bool taken[slot_count]{};
        std::size_t acquired = 0;
        bool damaged = false;

        /// Slots start at multiples of their size, so that every alignment up to it is the same everywhere.
        [[nodiscard]] std::byte* slot(std::size_t index) const {
            const std::size_t from = allot::raw_pointer::position(bytes.base());
            return bytes.base() + (allot::align_up(from, slot_bytes) - from) + index * slot_bytes;
        }
    };

public:
    using address_model = allot::raw_pointer;
    using error = int;
    static constexpr bool host_accessible = Options.accessible;
    static constexpr auto offsets = allot::offset_use::arithmetic;
    static constexpr std::size_t min_align = Options.min_align;
    static constexpr std::size_t granularity = Options.granularity;
    static constexpr allot::dl_device_type dl_device = allot::dl_device_type::cpu;
    static constexpr error too_large = 7, no_slot = 8;

    explicit pages(bool from_above, bool aligned = false) : from_above_{from_above}, aligned_{aligned} {}

    [[nodiscard]] allot::acquired<pages> acquire(allot::layout wanted) noexcept {
        reservation& all = *all_;
        // The base follows the slot's first page by `phase` bytes, rounded up to the alignment.
        const std::size_t phase = aligned_ ? 0 : Options.phase[all.acquired % 2];
        const std::size_t from = allot::align_up(page + phase, wanted.align);
        if (!wanted.is_valid() || all.bytes.base() == nullptr || wanted.align > slot_bytes / 4 ||
            wanted.size > slot_bytes / 2)
            return allot::acquired<pages>::failure(too_large);
        std::size_t slot = 0;
        while (slot != slot_count && all.taken[place(slot)]) ++slot;
        if (slot == slot_count) return allot::acquired<pages>::failure(no_slot);
        all.taken[place(slot)] = true;
        ++all.acquired;
        std::byte* const base = all.slot(place(slot)) + from;
        if constexpr (host_accessible) {
            guarded_bytes::open(first_page(base), pages_of(base, wanted.size));
            around(base, wanted.size, [](std::byte* at, std::size_t n) { std::memset(at, untouched, n); });
        } else if constexpr (!guarded_bytes::faults) {
            std::memset(base, untouched, wanted.size);
        }
        return allot::region<void*>{base, wanted.size, std::min(allot::alignment_of(from), page)};
    }

    void release(allot::region<void*> held) noexcept {
        auto* const base = static_cast<std::byte*>(held.base);
        if constexpr (host_accessible) {
            around(base, held.size, [this](std::byte* at, std::size_t n) { look_at(at, n); });
            guarded_bytes::close(first_page(base), pages_of(base, held.size));
        } else if constexpr (!guarded_bytes::faults) {
            look_at(base, held.size);
        }
        all_->taken[static_cast<std::size_t>(base - all_->slot(0)) / slot_bytes] = false;
    }

    /// Returns true if no byte outside of a region was written.
    [[nodiscard]] std::shared_ptr<const bool> damage() const { return {all_, &all_->damaged}; }

private:
    [[nodiscard]] std::size_t place(std::size_t slot) const { return from_above_ ? slot_count - 1 - slot : slot; }
    [[nodiscard]] static std::byte* first_page(std::byte* base) {
        return base - allot::raw_pointer::position(base) % page;
    }
    [[nodiscard]] static std::size_t pages_of(std::byte* base, std::size_t size) {
        return allot::align_up(allot::raw_pointer::position(base) % page + size, page);
    }
    void look_at(std::byte* at, std::size_t size) {
        for (std::size_t i = 0; i != size; ++i) all_->damaged |= static_cast<unsigned char>(at[i]) != untouched;
    }
    template <class Function>
    static void around(std::byte* base, std::size_t size, Function&& call) {
        const std::size_t before = std::min(canary, static_cast<std::size_t>(base - first_page(base)));
        const std::size_t behind = pages_of(base, size) - static_cast<std::size_t>(base - first_page(base)) - size;
        call(base - before, before);
        call(base + size, std::min(canary, behind));
    }

    std::shared_ptr<reservation> all_ = std::make_shared<reservation>();
    bool from_above_, aligned_;
};

/// Regions that grow and shrink in place in units of 64 bytes, each in its own range of bytes. Bytes after the end of a
/// region are filled with a pattern and checked before they become part of the region.
class stretching {
    static constexpr std::size_t range = std::size_t{1} << 16;
    static constexpr auto untouched = static_cast<unsigned char>(0xA5);

    struct ranges {
        std::vector<std::unique_ptr<std::byte[]>> all;
        bool damaged = false;
    };

public:
    using address_model = allot::raw_pointer;
    using error = int;
    static constexpr bool host_accessible = true;
    static constexpr auto offsets = allot::offset_use::arithmetic;
    static constexpr std::size_t min_align = 64;
    static constexpr std::size_t granularity = 64;
    static constexpr auto dl_device = allot::dl_device_type::cpu;
    static constexpr error too_large = 7, no_such_align = 9;

    explicit stretching(bool, bool = false) {}

    [[nodiscard]] allot::acquired<stretching> acquire(allot::layout wanted) noexcept {
        if (!wanted.is_valid() || wanted.size > range / 2) return allot::acquired<stretching>::failure(too_large);
        if (wanted.align > 4096) return allot::acquired<stretching>::failure(no_such_align);
        auto& fresh = ranges_->all.emplace_back(std::make_unique<std::byte[]>(range + 4096));
        std::memset(fresh.get(), untouched, range + 4096);
        const std::size_t from = allot::raw_pointer::position(fresh.get());
        return allot::region<void*>{fresh.get() + (allot::align_up(from, std::size_t{4096}) - from), wanted.size, 4096};
    }
    [[nodiscard]] allot::acquired<stretching> resize(allot::region<void*> held, std::size_t size) noexcept {
        if (size > range / 2 || size % granularity != 0) return allot::acquired<stretching>::failure(too_large);
        look_behind(held);
        auto* const base = static_cast<unsigned char*>(held.base);
        if (size < held.size) std::memset(base + size, untouched, held.size - size);
        held.size = size;
        return held;
    }
    void release(allot::region<void*> held) noexcept { look_behind(held); }

    /// Returns true if a byte after a region was written.
    [[nodiscard]] std::shared_ptr<const bool> damage() const { return {ranges_, &ranges_->damaged}; }

private:
    void look_behind(allot::region<void*> held) noexcept {
        const auto* const base = static_cast<const unsigned char*>(held.base);
        for (std::size_t i = held.size; i != range / 2; ++i) ranges_->damaged |= base[i] != untouched;
    }

    std::shared_ptr<ranges> ranges_ = std::make_shared<ranges>();
};

struct handle_options {
    std::size_t align[2] = {4096, 4096};  // of the bases, in turn
    std::size_t min_align = 16;
};

/// Buffers without memory: an address is a number and an offset.
template <handle_options Options>
class handles {
public:
    using address_model = allot::handle_offset<int>;
    using error = int;
    static constexpr bool host_accessible = false;
    static constexpr auto offsets = allot::offset_use::carried;
    static constexpr std::size_t min_align = Options.min_align;
    static constexpr std::size_t granularity = 1;
    static constexpr allot::dl_device_type dl_device = allot::dl_device_type::opencl;
    static constexpr error too_large = 7, no_such_align = 9;

    explicit handles(bool from_above, bool aligned = false) : step_{from_above ? -1 : 1}, aligned_{aligned} {}

    [[nodiscard]] allot::acquired<handles> acquire(allot::layout wanted) noexcept {
        if (!wanted.is_valid() || wanted.size > std::numeric_limits<std::uint32_t>::max() / 2)
            return allot::acquired<handles>::failure(too_large);
        if (wanted.align > 4096) return allot::acquired<handles>::failure(no_such_align);
        const std::size_t turn = aligned_ ? 4096 : Options.align[acquired_++ % 2];
        next_ += step_;
        return allot::region<address_model::address>{{next_, 0}, wanted.size, std::max(turn, wanted.align)};
    }
    void release(allot::region<address_model::address>) noexcept {}

private:
    int next_ = 0, step_ = 1;
    std::size_t acquired_ = 0;
    bool aligned_ = false;
};

/// A device, with errno as its error, that rejects large alignments. With 32-bit addresses, the number of free aligned
/// ranges may differ between two arenas, and the laws expect equal results.
template <class Device>
struct steady : Device {
    explicit steady(Device device) noexcept : Device{std::move(device)} {}
    [[nodiscard]] allot::acquired<steady> acquire(allot::layout wanted) noexcept {
        constexpr std::size_t most = std::size_t{1} << 20;
        return wanted.align > most ? allot::acquired<steady>::failure(ENOMEM) : Device::acquire(wanted);
    }
};

/// Journal of a watched device.
struct journal {
    static constexpr int injected = 4711;  // the code of an injected failure

    std::size_t fail_on = 0;  // number of the acquisition that fails, counted from 1
    std::size_t attempts = 0, refusals = 0;
    std::size_t bytes_out = 0;
    long last_error = 0;
    bool wrong = false;  // a region was released that was not held
    std::shared_ptr<const bool> damage;
};

/// A device with a journal of its calls.
template <class Device>
class watched : public allot::traits_of<Device> {
    using region = allot::region_of<Device>;
    struct held_regions {
        std::vector<region> all;
    };

public:
    using error = long;

    watched(Device device, std::shared_ptr<laws::journal> journal)
        : device_{std::move(device)}, journal_{std::move(journal)} {
        if constexpr (requires { device_.damage(); }) journal_->damage = device_.damage();
    }

    [[nodiscard]] std::size_t capacity() const noexcept
        requires allot::bounded_device<Device>
    {
        return device_.capacity();
    }

    [[nodiscard]] allot::acquired<watched> acquire(allot::layout wanted) noexcept {
        laws::journal& book = *journal_;
        if (++book.attempts == book.fail_on) {
            ++book.refusals;
            book.last_error = laws::journal::injected;
            return allot::acquired<watched>::failure(book.last_error);
        }
        const auto answer = device_.acquire(wanted);
        if (!answer) {
            ++book.refusals;
            book.last_error = static_cast<long>(answer.error());
            return allot::acquired<watched>::failure(book.last_error);
        }
        held_->all.push_back(*answer);
        book.bytes_out += answer->size;
        return *answer;
    }

    [[nodiscard]] allot::acquired<watched> resize(region held, std::size_t size) noexcept
        requires allot::extensible_device<Device>
    {
        laws::journal& book = *journal_;
        const auto found = std::find(held_->all.begin(), held_->all.end(), held);
        if (found == held_->all.end()) book.wrong = true;
        if (++book.attempts == book.fail_on) {
            ++book.refusals;
            book.last_error = laws::journal::injected;
            return allot::acquired<watched>::failure(book.last_error);
        }
        const auto answer = device_.resize(held, size);
        if (!answer) {
            ++book.refusals;
            book.last_error = static_cast<long>(answer.error());
            return allot::acquired<watched>::failure(book.last_error);
        }
        *found = *answer;
        book.bytes_out += answer->size;
        book.bytes_out -= held.size;
        return *answer;
    }

    void release(region back) noexcept {
        const auto found = std::find(held_->all.begin(), held_->all.end(), back);
        if (found == held_->all.end()) {
            journal_->wrong = true;
            return;
        }
        held_->all.erase(found);
        journal_->bytes_out -= back.size;
        device_.release(back);
    }

private:
    Device device_;
    std::shared_ptr<laws::journal> journal_;
    std::shared_ptr<held_regions> held_ = std::make_shared<held_regions>();
};

static_assert(allot::extensible_device<stretching> && allot::extensible_device<watched<stretching>>);
static_assert(allot::device<pages<page_options{}>> && allot::device<handles<handle_options{}>>);
static_assert(allot::device<watched<handles<handle_options{}>>>);

}  // namespace laws
