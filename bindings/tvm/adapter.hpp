// adapter: TVM's allocator interface over an allot allocator whose blocks are pointers, with scopes.
//
//     using growing = allot::arena<allot::host::heap, allot::best_fit<>, allot::growth::fixed<>>;
//     auto* storages = new allot_tvm::adapter<growing>{tvm::runtime::memory::kPooled};
//     storages->serve_scopes([](DLDevice, const std::string& scope) -> allot_tvm::memory& { … });
//
//     Relax VM ──► MemoryManager ──► adapter ──► "", "global" ──► the allocator
//                                       └──────► other scopes ──► the memory that the function returns
//
// A buffer of TVM has no space for a scope, so the adapter keeps the memory of each buffer outside `global` in a hash
// table. Scopes reach `Alloc` with the shape as the program states it, and `CreateView` with the shape of the tensor.
//
// Complexity: that of the memory (memory.hpp), and one look-up for each buffer that is freed. Memory: that of the
// memory, and a node of the table for each live buffer outside `global`. Thread safety: all functions may be called
// from any thread; `serve_scopes` comes first.
#pragma once

#include "memory.hpp"
#include "types.hpp"

#include <allot/tensor/scope.hpp>

#include <tvm/ffi/error.h>
#include <tvm/runtime/memory/memory_manager.h>

#include <atomic>
#include <functional>
#include <unordered_set>

namespace allot_tvm {

using tvm::runtime::memory::AllocatorType;
using tvm::runtime::memory::Buffer;

/// The function that finds the memory of a scope. It throws tvm::ffi::Error for a scope without a memory.
using scope_finder = std::function<memory&(DLDevice, const std::string& scope)>;

/// Returns the shape for a message: "(4, 64)".
[[nodiscard]] inline std::string text_of(const allot::shape& of) {
    if (of.rank() > allot::max_rank) return "with more than " + std::to_string(allot::max_rank) + " axes";
    std::string text;
    for (const std::int64_t n : of) text += (text.empty() ? "" : ", ") + std::to_string(n);
    return "(" + text + (of.rank() == 1 ? ",)" : ")");
}

/// Returns a name for a message: its first 80 characters.
[[nodiscard]] inline std::string shortened(const std::string& name) {
    return name.size() <= 80 ? name : name.substr(0, 80) + "...";
}

/// What to do when a memory is full.
inline constexpr const char* remedy_when_full =
    "Kill storages that are not needed, or choose a larger memory with allot_tvm.use. A virtual machine keeps its last "
    "result until the next call ends.";

/// Returns whether a scope is the default memory.
[[nodiscard]] inline bool is_global(std::string_view scope) noexcept {
    return allot::is_named<allot::scope::global>(scope);
}

/// Throws a ValueError of Python, or a MemoryError if memory is missing.
[[noreturn]] inline void refuse(const allot::tensor_error& why, const std::string& text) {
    const bool is_memory =
        why.reason == allot::tensor_refusal::no_memory || why.reason == allot::tensor_refusal::no_host_memory;
    throw tvm::ffi::Error{is_memory ? "MemoryError" : "ValueError", text, ""};
}

/// The buffers outside `global`, with their memories. Allocators of TVM share it. Any thread may call.
class scoped_buffers {
public:
    void serve(scope_finder find) { find_ = std::move(find); }

    /// Allocates a buffer for a tensor in a scope, for the allocator of this type.
    [[nodiscard]] Buffer allocate(DLDevice device, const tvm::ffi::Shape& of, DLDataType type, const std::string& scope,
                                  AllocatorType by) {
        if (!find_)
            throw tvm::ffi::Error{"ValueError", "allot: this adapter has only the scope global; it has no " + scope,
                                  ""};
        memory& from = find_(device, scope);
        const allot::shape shape = shape_of(of);
        const auto fresh = from.allocate(shape, dtype_of(type));
        if (!fresh) refuse_buffer(fresh.error(), shape, scope);
        try {
            const std::lock_guard lock{mutex_};
            served_.insert(&from);
            memories_.emplace(fresh->base, &from);
        } catch (...) {
            from.deallocate(fresh->base, fresh->size);
            throw;
        }
        used_ += fresh->size;
        return {fresh->base, fresh->size, device, by};
    }
    /// Returns the memory of a buffer, or null for a buffer of `global`.
    [[nodiscard]] memory* find(const Buffer& buffer) {
        const std::lock_guard lock{mutex_};
        const auto found = memories_.find(buffer.data);
        return found == memories_.end() ? nullptr : found->second;
    }
    /// Frees a buffer. Returns false for a buffer of `global`.
    bool deallocate(const Buffer& buffer) {
        memory* const from = find(buffer);
        if (from == nullptr) return false;
        {
            const std::lock_guard lock{mutex_};
            memories_.erase(buffer.data);
        }
        from->deallocate(buffer.data, buffer.size);
        used_ -= buffer.size;
        return true;
    }
    void trim() {
        const std::lock_guard lock{mutex_};
        for (memory* const each : served_) each->trim();
    }
    /// Returns the bytes of all buffers.
    [[nodiscard]] std::size_t used() const noexcept { return used_; }

private:
    [[noreturn]] static void refuse_buffer(const allot::tensor_error& why, const allot::shape& of,
                                           const std::string& scope) {
        const bool is_full = why.reason == allot::tensor_refusal::no_memory;
        refuse(why, "allot: no buffer of shape " + text_of(of) + " in " + scope + ": " + why.what() +
                        details_of(why.memory) + (is_full ? std::string{". "} + remedy_when_full : ""));
    }

    std::mutex mutex_;
    scope_finder find_;
    std::unordered_map<void*, memory*> memories_;
    std::unordered_set<memory*> served_;
    std::atomic<std::size_t> used_ = 0;
};

/// Returns the address of a tensor at the start of a buffer. Throws a ValueError when the tensor is larger, or when the
/// memory of the scope has no such tensors.
[[nodiscard]] inline void* view_of(const Buffer& buffer, const memory& from, const tvm::ffi::Shape& of, DLDataType type,
                                   const std::string& scope) {
    const allot::shape shape = shape_of(of);
    const auto size = allot::byte_count(shape, dtype_of(type));
    allot::tensor_error why;
    if (!size) why = size.error();
    else if (*size > buffer.size) why = {allot::tensor_refusal::out_of_bounds};
    else why = from.check_view(shape, dtype_of(type));
    if (why.reason != allot::tensor_refusal::none) {
        refuse(why, "allot: no tensor of shape " + text_of(shape) + " in a storage of " + std::to_string(buffer.size) +
                        " bytes in " + scope + ": " + why.what());
    }
    return buffer.data;
}

template <allot::allocator Memory>
class adapter : public tvm::runtime::memory::Allocator {
public:
    /// MemoryManager keeps an allocator for each device and `type`. A buffer stores the type, so that it returns here.
    template <class... Arguments>
    explicit adapter(AllocatorType type, Arguments&&... arguments)
        : Allocator{type}, global_{1, std::forward<Arguments>(arguments)...} {}

    /// Serves the scopes other than `global` from the memories that `find` returns. They outlive the adapter.
    void serve_scopes(scope_finder find) { elsewhere_.serve(std::move(find)); }

    /// Allocates a buffer in `global`. Throws tvm::ffi::Error (in Python a MemoryError) with the reason when there is
    /// no memory.
    Buffer Alloc(DLDevice device, std::size_t size, std::size_t align, DLDataType) override {
        const allot::layout wanted{size != 0 ? size : 1, align};
        void* const fresh = global_.allocate(wanted);
        if (fresh == nullptr) {
            const allot::diagnosis found = global_.diagnose(wanted);
            throw tvm::ffi::Error{"MemoryError",
                                  "allot: no " + std::to_string(wanted.size) + " bytes aligned to " +
                                      std::to_string(align) + " in global: " + found.what() + details_of(found),
                                  ""};
        }
        used_ += wanted.size;
        return {fresh, wanted.size, device, type()};
    }

    /// Allocates a buffer for a tensor in a scope. Throws tvm::ffi::Error: in Python a MemoryError with the scope and
    /// the reason, or a ValueError for an unknown scope or an unsuitable shape.
    Buffer Alloc(DLDevice device, tvm::ffi::Shape of, DLDataType type, const std::string& scope) override {
        if (is_global(scope)) return Allocator::Alloc(device, of, type, scope);
        return elsewhere_.allocate(device, of, type, scope, this->type());
    }

    /// Returns the address of a tensor at the start of a buffer. Throws a ValueError when the tensor is larger, or when
    /// the memory of the scope has no such tensors.
    void* CreateView(const Buffer& buffer, tvm::ffi::Shape of, DLDataType type, const std::string& scope) override {
        const memory* const found = elsewhere_.find(buffer);
        return view_of(buffer, found != nullptr ? *found : global_, of, type, scope);
    }

    void Free(const Buffer& buffer) override {
        if (elsewhere_.deallocate(buffer)) return;
        global_.deallocate(buffer.data, buffer.size);
        used_ -= buffer.size;
    }

    /// Releases unused memory of all scopes to the device, if their allocators support it.
    void Clear() override {
        global_.trim();
        elsewhere_.trim();
    }

    /// Returns the number of bytes that TVM holds.
    std::size_t UsedMemory() const override { return used_ + elsewhere_.used(); }

private:
    memory_over<Memory> global_;
    scoped_buffers elsewhere_;
    std::atomic<std::size_t> used_ = 0;
};

}  // namespace allot_tvm
