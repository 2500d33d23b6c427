// SPDX-License-Identifier: BSL-1.0
// typed_pool: storage for exactly `Count` objects of one type, without a heap.
//
//     struct packet {
//         std::uint8_t bytes[120];
//         std::uint16_t length = 0;
//     };
//     static allot::typed_pool<packet, 64> packets;                // 64 packets in static storage
//     auto received = packets.make();                              // an owner; null if all 64 are in use
//     if (received) received->length = 20;
//     packet* const given_away = received.release();               // to a driver, for example
//     packets.destroy(given_away);
//
//     typed_pool │ pool: head of the free list │ packet │ free │ packet │ packet │ free │ …
//
// A pool object contains its memory: declare it `static`, or as a member of an object that is. It cannot be copied or
// moved, and it must outlive its objects. If a constructor throws, the slot is freed and the exception propagates.
//
// When to use: for a fixed number of equal objects, such as packets, messages, and tasks, on microcontrollers too. With
// `pool_store::atomic_bitmap`, threads, cores, and interrupts may call `make` and `destroy` concurrently.
// When not to use: for objects of several types or sizes, or without an upper bound. Use make_unique over an arena.
// Complexity: O(1) and the constructor. Memory: `Count * sizeof(T)`, and the free list: inside free slots if a slot can
// hold a pointer, otherwise an index of 1 to 8 bytes for each slot. An owner is two pointers.
// Thread safety: not synchronized, except with `pool_store::atomic_bitmap`.
#pragma once

#include <allot/arena/arena.hpp>
#include <allot/host/static_storage.hpp>
#include <allot/object/make.hpp>
#include <allot/strategy/pool.hpp>

namespace allot {
inline namespace v1 {

/// Storage for `Count` objects of type `T`. `Store` selects where the pool records its free slots.
template <class T, std::size_t Count, pool_store Store = pool_store::automatic>
class typed_pool {
    static_assert(std::is_object_v<T> && !std::is_array_v<T> && !std::is_const_v<T>,
                  "allot: a typed_pool holds objects of a type that is neither const, nor an array, nor a reference");
    static_assert(Count > 0 && Count <= std::numeric_limits<std::size_t>::max() / sizeof(T),
                  "allot: a typed_pool holds at least one object, and no more than memory can hold");

    using memory_type =
        arena<host::static_storage<Count * sizeof(T), alignof(T)>,
              pool<pool_options{.slot = sizeof(T), .count = Count, .align = alignof(T), .store = Store}>>;

public:
    using element_type = T;  ///< Type of the objects.

    /// Deleter of the owners: returns an object to its pool.
    class deleter {
    public:
        /// Belongs to no pool.
        constexpr deleter() noexcept = default;
        /// Returns objects to a pool.
        constexpr explicit deleter(typed_pool& of) noexcept : pool_{&of} {}
        /// Destroys the object and frees its slot.
        void operator()(T* object) const noexcept { pool_->destroy(object); }

    private:
        typed_pool* pool_ = nullptr;
    };
    /// Owner of one object: one pointer to the object and one to the pool.
    using owner = std::unique_ptr<T, deleter>;

    /// All slots are free.
    typed_pool() noexcept = default;
    typed_pool(const typed_pool&) = delete;
    typed_pool& operator=(const typed_pool&) = delete;

    /// Returns the number of objects that the pool can hold.
    [[nodiscard]] static constexpr std::size_t capacity() noexcept { return Count; }

    /// Makes an object and returns its owner, which is null if all slots are in use.
    template <class... Arguments>
    [[nodiscard]] owner make(Arguments&&... arguments) {
        return owner{allot::make<T>(memory_, std::forward<Arguments>(arguments)...), deleter{*this}};
    }
    /// Destroys an object that was released from its owner, and frees its slot. A null pointer has no effect.
    void destroy(T* object) noexcept { allot::destroy(memory_, object); }

    /// Returns true if the object is in the storage of this pool.
    [[nodiscard]] bool owns(const T* object) const noexcept {
        return memory_.owns({const_cast<T*>(object), sizeof(T), {}});
    }
    /// Returns the reason why `make` would return null now. The reason is `refusal::none` if a slot is free.
    [[nodiscard]] allot::diagnosis diagnose() const noexcept { return memory_.diagnose(layout_of<T>); }

private:
    memory_type memory_;
};

}  // namespace v1
}  // namespace allot
