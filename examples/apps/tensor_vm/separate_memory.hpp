// SPDX-License-Identifier: BSL-1.0
// separate: scope global.vtcm is memory whose consumers take no offset, so every tensor and every row of a
// discontiguous tensor has a separate buffer. Addresses are 32-bit numbers, as on a coprocessor:
//
//     address   │ number of the buffer: 12 bits │ byte in it: 20 bits │
//
// An entry of a table is therefore the row's address. Copies may begin anywhere in a buffer; kernels reject an address
// that is not a buffer's first byte.
#pragma once

#include "host_memory.hpp"

namespace vm {

/// An address of 32 bits; 0 is the null address.
struct buffer_byte {
    using address = std::uint32_t;
    using base = address;
    static constexpr bool absolute = false;
    [[nodiscard]] static constexpr address locate(address from, std::size_t n) noexcept {
        return from + static_cast<address>(n);
    }
    [[nodiscard]] static constexpr std::size_t position(address at) noexcept { return at; }
};
static_assert(allot::linear_address_model<buffer_byte>);

/// The buffers of all devices by number, so that an address identifies one byte across all devices.
class buffer_space {
public:
    static constexpr std::uint32_t byte_bits = 20;
    static constexpr std::size_t largest = std::size_t{1} << byte_bits, most = 4096;

    /// Registers a buffer and returns its address, or 0 when all numbers are used.
    [[nodiscard]] std::uint32_t add(allot::region<void*> fresh) noexcept {
        const auto free = std::find(held_.begin() + 1, held_.end(), allot::region<void*>{});
        if (free == held_.end()) return 0;
        *free = fresh;
        return static_cast<std::uint32_t>(free - held_.begin()) << byte_bits;
    }
    [[nodiscard]] allot::region<void*> remove(std::uint32_t base) noexcept {
        return std::exchange(held_[base >> byte_bits], {});
    }
    /// Returns the host's pointer to the bytes, or null when one buffer does not contain them all.
    [[nodiscard]] std::byte* reach(std::uint32_t address, std::size_t bytes) const noexcept {
        const allot::region<void*>& in = held_[address >> byte_bits];
        const std::size_t at = address % largest;
        return at > in.size || bytes > in.size - at ? nullptr : static_cast<std::byte*>(in.base) + at;
    }

private:
    std::vector<allot::region<void*>> held_{most};
};

class buffers {
public:
    using address_model = buffer_byte;
    enum class error : unsigned char { none, too_large, too_aligned, no_memory, no_number };
    static constexpr bool host_accessible = false;  // the host cannot use these addresses
    static constexpr allot::offset_use offsets = allot::offset_use::none;
    static constexpr std::size_t min_align = 16;
    static constexpr std::size_t granularity = 1;
    static constexpr auto dl_device = allot::dl_device_type::ext_dev;

    buffers(buffer_space& in, std::size_t capacity) noexcept : in_{&in}, free_{capacity} {}

    [[nodiscard]] allot::acquired<buffers> acquire(allot::layout wanted) noexcept {
        const auto refuse = [](error reason) { return allot::acquired<buffers>::failure(reason); };
        if (wanted.size > buffer_space::largest || wanted.size > free_) return refuse(error::too_large);
        if (wanted.align > region_align) return refuse(error::too_aligned);
        const auto fresh = heap_.acquire(wanted);
        if (!fresh) return refuse(error::no_memory);
        const std::uint32_t base = in_->add(*fresh);
        if (base == 0) return heap_.release(*fresh), refuse(error::no_number);
        free_ -= fresh->size;
        return allot::region<std::uint32_t>{base, fresh->size, fresh->align};
    }
    void release(allot::region<std::uint32_t> gone) noexcept {
        heap_.release(in_->remove(gone.base));
        free_ += gone.size;
    }

private:
    buffer_space* in_;
    std::size_t free_;
    allot::host::heap heap_;
};

class separate_memory : public host_access {
    using buffer = operand<std::uint32_t>;
    buffer_space space_;

    [[nodiscard]] static long move(const void* from, void* to, std::size_t bytes) noexcept {
        return from == nullptr || to == nullptr ? -1 : host_access::copy(from, to, bytes);
    }

public:
    using vtcm_allocator = allot::naive<buffers>;

    explicit separate_memory(const memory_sizes& sizes)
        : global{arena_of<heap_arena>({}, sizes.global)},
          vtcm{vtcm_allocator{buffers{space_, sizes.vtcm}}, vtcm_allocator{buffers{space_, sizes.vtcm}}} {}

    using host_access::copy;
    [[nodiscard]] long copy(const void* from, std::uint32_t to, std::size_t bytes) const noexcept {
        return move(from, space_.reach(to, bytes), bytes);
    }
    [[nodiscard]] long copy(std::uint32_t from, void* to, std::size_t bytes) const noexcept {
        return move(space_.reach(from, bytes), to, bytes);
    }
    [[nodiscard]] long copy(std::uint32_t from, std::uint32_t to, std::size_t bytes) const noexcept {
        return move(space_.reach(from, bytes), space_.reach(to, bytes), bytes);
    }

    using host_access::run;
    [[nodiscard]] long run(operation what, allot::dtype type, std::size_t count, const buffer& a, const buffer& b,
                           const buffer& c) const {
        bool is_base = true;  // whether every address is the first byte of a buffer
        const auto rows_of = [&](const buffer& of) {
            return host_rows{buffer_byte{}, of, [&](std::uint32_t address) -> void* {
                                 is_base = is_base && address % buffer_space::largest == 0;
                                 return space_.reach(address, 0);
                             }};
        };
        const host_rows in_a = rows_of(a), in_b = rows_of(b), in_c = rows_of(c);
        return is_base ? run_on_host(what, type, count, in_a, in_b, in_c) : -1;
    }

    heap_arena global;
    vtcm_allocator vtcm[2];
};

}  // namespace vm
