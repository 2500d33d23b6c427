// SPDX-License-Identifier: BSL-1.0
// allot_ggml::buffer_type: an allot allocator as a buffer type of ggml, the tensor library of llama.cpp.
//
//     allot::arena<allot::host::heap, allot::best_fit<>> memory{{}, 64_MiB};
//     allot_ggml::buffer_type type{memory};
//     ggml_backend_buffer_t weights = ggml_backend_alloc_ctx_tensors_from_buft(context, type.get());
//     ggml_gallocr_t graphs = ggml_gallocr_new(type.get());          // or allot_ggml::graph_allocator{type.get()}
//
//     arena   ├── weights ──┤├─── key/value cache ───┤├── graph ──┤ … ┤     one block for each buffer;
//                             ├ tensor ┤├ tensor ┤                        ggml places tensors inside it
//
// When to use: to place all buffers of ggml in one memory with a limit, counters and reports, or in memory of your own,
// such as huge pages, shared memory or a locked range.
// When not to use: for memory that the processor cannot access. The buffers of a GPU belong to its backend.
//
// The allocator must outlive the type, and the type must outlive its buffers. ggml receives no buffer if the allocator
// fails; `failure` has the reason.
//
// Needs ggml's folders include/ and src/, because the interface of buffer types is in src/ggml-backend-impl.h.
//
// Complexity: that of the allocator. Memory: one block of the allocator, and 120 bytes of the heap for each buffer.
// Thread safety: that of the allocator. ggml calls it from the thread that allocates or frees a buffer.
#pragma once

#include <allot/address/raw_pointer.hpp>
#include <allot/core/allocator.hpp>

#include <ggml-backend-impl.h>
#include <ggml-backend.h>
#include <ggml.h>

#include <cstring>
#include <limits>
#include <memory>
#include <new>

namespace allot_ggml {

/// Properties of a buffer type.
struct buffer_options {
    const char* name = "allot";  ///< Name of the buffer type. It must outlive the type.
    std::size_t align = 32;      ///< Alignment of buffers and tensors in bytes. ggml's processor backend needs 32.
    /// Maximum size of a buffer in bytes. ggml uses several buffers for more.
    std::size_t max_size = std::numeric_limits<std::size_t>::max();
    ggml_backend_dev_t device = nullptr;  ///< Device of the buffer type. ggml's own type of host memory has none.
};

/// A buffer type whose buffers are blocks of `memory`.
template <allot::allocator Memory>
class buffer_type {
    static_assert(std::same_as<typename Memory::address_model, allot::raw_pointer> && Memory::host_accessible,
                  "allot: ggml's processor backend reads and writes the bytes: use a device of host memory");

public:
    /// Constructs the type over an allocator, which must outlive it.
    explicit buffer_type(Memory& memory, const buffer_options& options = {}) noexcept
        : memory_{&memory}, options_{options}, interface_{functions(), options.device, this} {}
    buffer_type(const buffer_type&) = delete;
    buffer_type& operator=(const buffer_type&) = delete;

    /// Returns the type in the form of ggml.
    [[nodiscard]] ggml_backend_buffer_type_t get() noexcept { return &interface_; }
    /// Returns the reason of the last request that failed; `none` if all succeeded.
    [[nodiscard]] const allot::diagnosis& failure() const noexcept { return failure_; }

private:
    using block = allot::block_of<Memory>;
    struct held {
        buffer_type* from;
        block bytes;
    };

    [[nodiscard]] static buffer_type& of(ggml_backend_buffer_type_t type) noexcept {
        return *static_cast<buffer_type*>(type->context);
    }
    [[nodiscard]] static held& of(ggml_backend_buffer_t buffer) noexcept {
        return *static_cast<held*>(buffer->context);
    }
    [[nodiscard]] static std::byte* at(const ggml_tensor* tensor, std::size_t offset) noexcept {
        return static_cast<std::byte*>(tensor->data) + offset;
    }

    [[nodiscard]] ggml_backend_buffer_t make(std::size_t size) {
        const allot::layout wanted{size, options_.align};
        std::unique_ptr<held> made{new (std::nothrow) held{this, memory_->allocate(wanted)}};
        if (!made) return nullptr;
        if (!made->bytes) {
            failure_ = memory_->diagnose(wanted);
            return nullptr;
        }
        return ggml_backend_buffer_init(&interface_, functions_of_buffers(), made.release(), size);
    }

    [[nodiscard]] static ggml_backend_buffer_type_i functions() noexcept {
        ggml_backend_buffer_type_i made{};
        made.get_name = [](ggml_backend_buffer_type_t type) { return of(type).options_.name; };
        made.alloc_buffer = [](ggml_backend_buffer_type_t type, std::size_t size) { return of(type).make(size); };
        made.get_alignment = [](ggml_backend_buffer_type_t type) { return of(type).options_.align; };
        made.get_max_size = [](ggml_backend_buffer_type_t type) { return of(type).options_.max_size; };
        made.is_host = [](ggml_backend_buffer_type_t) { return true; };
        return made;  // the size of a tensor is ggml_nbytes
    }

    [[nodiscard]] static ggml_backend_buffer_i functions_of_buffers() noexcept {
        ggml_backend_buffer_i made{};
        made.free_buffer = [](ggml_backend_buffer_t buffer) {
            const std::unique_ptr<held> ended{&of(buffer)};
            ended->from->memory_->deallocate(ended->bytes);
        };
        made.get_base = [](ggml_backend_buffer_t buffer) -> void* { return of(buffer).bytes.address; };
        made.memset_tensor = [](ggml_backend_buffer_t, ggml_tensor* tensor, std::uint8_t value, std::size_t offset,
                                std::size_t size) { std::memset(at(tensor, offset), value, size); };
        made.set_tensor = [](ggml_backend_buffer_t, ggml_tensor* tensor, const void* data, std::size_t offset,
                             std::size_t size) { std::memcpy(at(tensor, offset), data, size); };
        made.get_tensor = [](ggml_backend_buffer_t, const ggml_tensor* tensor, void* data, std::size_t offset,
                             std::size_t size) { std::memcpy(data, at(tensor, offset), size); };
        made.cpy_tensor = [](ggml_backend_buffer_t, const ggml_tensor* from, ggml_tensor* to) {
            if (!ggml_backend_buffer_is_host(from->buffer)) return false;
            std::memcpy(to->data, from->data, ggml_nbytes(from));
            return true;
        };
        made.clear = [](ggml_backend_buffer_t buffer, std::uint8_t value) {
            std::memset(of(buffer).bytes.address, value, buffer->size);
        };
        return made;
    }

    Memory* memory_;
    buffer_options options_;
    ggml_backend_buffer_type interface_;
    allot::diagnosis failure_{};
};

}  // namespace allot_ggml
