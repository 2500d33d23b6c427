// SPDX-License-Identifier: BSL-1.0
// Tensors in a storage whose offsets are given: allocate one, make it visible to other code, read its pointer, kill it.
// An operation is the sequence.
#include "instructions.hpp"

#include <allot/strategy/bump.hpp>
#include <allot/tensor.hpp>

namespace {

using namespace counting;

/// Stands for code that reads and writes an object that the compiler then must have in memory.
template <class Object>
void show(Object& object) {
    asm volatile("" : : "r"(&object) : "memory");
}

/// The same checks and the same contents as in allot: storage, address, dtype, shape.
struct tensor_by_hand {
    const void* storage;
    std::byte* data;
    allot::dtype type;
    std::uint32_t rank;
    std::int64_t extents[4];

    void kill() { *this = {}; }
};

struct count_by_hand {
    std::size_t count = 1;
    [[gnu::noinline]] static void destroy(count_by_hand* gone) { delete gone; }
};
/// The same with a count of the references to the storage.
struct counted_tensor_by_hand {
    count_by_hand* storage;
    std::byte* data;
    allot::dtype type;
    std::uint32_t rank;
    std::int64_t extents[4];

    ~counted_tensor_by_hand() { drop(); }
    void drop() {
        if (storage != nullptr && --storage->count == 0) count_by_hand::destroy(storage);
    }
    void kill() {
        drop();
        storage = nullptr;
        data = nullptr;
        rank = 0;
    }
};

struct storage_by_hand {
    alignas(64) std::byte bytes[capacity];
    std::byte* base = bytes;
    std::size_t size = capacity, align = 64;
    std::int64_t rows = 4, columns = 64, offset = 1024;
    allot::dtype type = allot::int32;
    count_by_hand* references = new count_by_hand;

    /// Returns the reference of a new tensor.
    template <class Tensor>
    auto refer() {
        if constexpr (requires(Tensor tensor) { tensor.drop(); }) {
            ++references->count;
            return references;
        } else {
            return this;
        }
    }
};

template <bool Known, class Tensor = tensor_by_hand>
struct tensors_by_hand : storage_by_hand {
    void* allocate(std::size_t) {
        if constexpr (Known) {
            constexpr std::size_t needed = 4 * 64 * 4;
            if (needed > size || 1024 > size - needed || (1024 & (align - 1)) != 0) return nullptr;
            return use({refer<Tensor>(), base + 1024, allot::int32, 2, {4, 64}});
        } else {
            const auto at = static_cast<std::size_t>(offset);
            std::size_t needed = 0;
            if (rows < 0 || columns < 0 || __builtin_mul_overflow(rows, columns, &needed) ||
                __builtin_mul_overflow(needed, type.bits / 8U * type.lanes, &needed) || needed > size ||
                at > size - needed || (at & (align - 1)) != 0)
                return nullptr;
            return use({refer<Tensor>(), base + at, type, 2, {rows, columns}});
        }
    }
    static void* use(Tensor fresh) {
        show(fresh);
        void* const at = fresh.data;
        fresh.kill();
        show(fresh);
        return at;
    }
};

template <class Policies>
struct tensors_of_allot {
    using memory = allot::arena<storage, allot::bump<>>;
    using body = allot::storage_body<memory, Policies>;
    memory arena;
    std::conditional_t<Policies::references::counted, char, body> own{};
    allot::storage<memory, Policies> data = in();
    std::int64_t rows = 4, columns = 64, offset = 1024;
    allot::dtype type = allot::int32;

    allot::storage<memory, Policies> in() {
        constexpr allot::layout wanted{capacity / 2, 64};
        if constexpr (Policies::references::counted) return allot::alloc_storage<Policies>(arena, wanted).value();
        else return allot::alloc_storage(own, arena, wanted).value();
    }
};

template <class Policies>
struct known_of_allot : tensors_of_allot<Policies> {
    void* allocate(std::size_t) {
        auto fresh = allot::alloc_tensor(this->data, 1024, {4, 64}, allot::int32);
        if (!fresh) return nullptr;
        show(*fresh);
        void* const at = fresh->data();
        fresh->kill();
        show(*fresh);
        return at;
    }
};

template <class Policies>
struct run_time_of_allot : tensors_of_allot<Policies> {
    void* allocate(std::size_t) {
        auto fresh = allot::alloc_tensor(this->data, this->offset, {this->rows, this->columns}, this->type);
        if (!fresh) return nullptr;
        show(*fresh);
        void* const at = fresh->data();
        fresh->kill();
        show(*fresh);
        return at;
    }
};

using given = allot::storage_policies<allot::as_given, allot::references::none>;
using given_counted = allot::storage_policies<allot::as_given>;
/// Recorded without the heap, whose instructions depend on the C library.
using recorded =
    allot::storage_policies<allot::best_fit<allot::best_fit_options{.records = 16}>, allot::references::none>;

}  // namespace

std::vector<instructions_case> tensor_cases() {
    return {
        {"tensor_known/by_hand", frame<tensors_by_hand<true>>},
        {"tensor_known/allot", frame<known_of_allot<given>>},
        {"tensor_known/by_hand_counted", frame<tensors_by_hand<true, counted_tensor_by_hand>>},
        {"tensor_known/allot_counted", frame<known_of_allot<given_counted>>},
        {"tensor_known/allot_best_fit", frame<known_of_allot<recorded>>},
        {"tensor_at_run_time/by_hand", frame<tensors_by_hand<false>>},
        {"tensor_at_run_time/allot", frame<run_time_of_allot<given>>},
        {"tensor_at_run_time/by_hand_counted", frame<tensors_by_hand<false, counted_tensor_by_hand>>},
        {"tensor_at_run_time/allot_counted", frame<run_time_of_allot<given_counted>>},
        {"tensor_at_run_time/allot_best_fit", frame<run_time_of_allot<recorded>>},
    };
}
