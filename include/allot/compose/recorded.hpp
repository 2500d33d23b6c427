// SPDX-License-Identifier: BSL-1.0
// recorded: an allocator that writes its calls to a sink, such as a trace or an event log.
//
//     heap_arena arena{{}, 1_MiB};
//     allot::trace_writer trace;                      // inspect/trace.hpp
//     allot::recorded memory{arena, trace};
//     auto block = memory.allocate({.size = 256});
//     memory.deallocate(block);
//     const auto file = trace.bytes();                // for ./dev replay, and read_trace
//
// A sink numbers the blocks. It has these functions, of which `trace_writer` has the first four:
//
//     allocate(size, align)            returns the number of the block. Or allocate(size, align, address), with the
//                                      address model's position: the value of a pointer, or the offset behind a handle
//     deallocate(number)               the block is freed
//     resize(number, size)             returns the new number of the block, which may be the same
//     reset()                          all blocks are freed
//     refuse(size, align)              optional: a request failed
//     trim(bytes)                      optional: this number of bytes was released
//
//     call        as recorded
//     allocate_at allocate, aligned to 1
//     rollback    deallocate for each block since the mark, newest first
//     a failed resize, an empty block, and a block that was allocated before the recording: nothing
//
// A replay of a trace on an arena of the same type and size returns the same offsets under two conditions. The program
// called only `allocate`, `deallocate` and `reset`, or `rollback` of a stack. No alignment exceeds that of the regions
// (`arena_options::align`), because where addresses are pointers, the place of such a block depends on the address of
// its region. ALTR1 has no resize in place, no position, no mark and no refusal. The missing refusals change a replay
// of `deferred`, where a request that fails merges free blocks, and so does `diagnose`.
//
// When to use: to replay a program with other allocators, or to draw its memory over time.
// When not to use: to handle the calls in the program itself. Use `observed`, which stores nothing for each block.
//
// Every ability of the allocator is passed on, and blocks are unchanged. With a hardened allocator, a misused block
// that the allocator reports is not recorded. An lvalue, allocator or sink, is stored as a reference and must outlive
// this object. If a sink throws, the program ends.
//
// The records are in a tree and a list of Boost.Intrusive. A program that includes this header needs the headers of
// Boost, and <allot/allot.hpp> does not include it.
//
// Complexity: O(log live blocks) for each call, in addition to those of the allocator and the sink.
// Memory: a record of about 80 bytes on the heap for each live block. If the heap has no memory for it, the request
// fails and is recorded as refused.
// Thread safety: requires external synchronization.
#pragma once

#if !__has_include(<boost/intrusive/set.hpp>)
#error "allot: <allot/compose/recorded.hpp> needs headers of Boost.Intrusive; in CMake, link allot::boost"
#endif

#include <allot/compose/detail/forwarding.hpp>

#include <boost/intrusive/list.hpp>
#include <boost/intrusive/set.hpp>

#include <concepts>
#include <new>

namespace allot {
inline namespace v1 {

/// A type that numbers blocks and takes the calls of an allocator.
template <class Sink>
concept recording_sink = requires(Sink& to, std::uint64_t number) {
    requires requires {
        { to.allocate(number, number) } -> std::convertible_to<std::uint64_t>;
    } || requires {
        { to.allocate(number, number, number) } -> std::convertible_to<std::uint64_t>;
    };
    to.deallocate(number);
    { to.resize(number, number) } -> std::convertible_to<std::uint64_t>;
    to.reset();
};

/// The mark of a recorded allocator: the mark of the allocator, and the number of allocations before the mark.
template <class Mark>
struct recorded_mark {
    Mark inner;               ///< The mark of the allocator.
    std::uint64_t count = 0;  ///< The number of allocations before the mark.
};

namespace detail {

/// The live blocks by position, and in the order of their allocation.
template <class Address>
class recorded_blocks {
    using unsafe = boost::intrusive::link_mode<boost::intrusive::normal_link>;

public:
    struct record : boost::intrusive::set_base_hook<unsafe>, boost::intrusive::list_base_hook<unsafe> {
        Address address{};
        std::size_t position = 0;
        std::uint64_t number = 0;  // of the sink
        std::uint64_t count = 0;   // the number of allocations before this one
    };

    recorded_blocks() noexcept = default;
    recorded_blocks(recorded_blocks&& other) noexcept = default;  // both containers are empty after a move
    recorded_blocks& operator=(recorded_blocks&&) = delete;
    ~recorded_blocks() { clear(); }

    void add(record& fresh) noexcept {
        fresh.count = count_++;
        by_position_.insert(fresh);
        in_order_.push_back(fresh);
    }
    /// Returns the record of the live block at an address, or nullptr.
    [[nodiscard]] record* find(const Address& address, std::size_t position) noexcept {
        auto [first, last] = by_position_.equal_range(position);
        while (first != last && !(first->address == address)) ++first;
        return first == last ? nullptr : &*first;
    }
    void remove(record& gone) noexcept {
        by_position_.erase(by_position_.iterator_to(gone));
        in_order_.erase(in_order_.iterator_to(gone));
        delete &gone;
    }
    /// Calls `f(record)` for every block since a number of allocations, newest first, and removes it.
    template <class Function>
    void remove_since(std::uint64_t count, Function f) noexcept {
        while (!in_order_.empty() && in_order_.back().count >= count) {
            f(in_order_.back());
            remove(in_order_.back());
        }
    }
    void clear() noexcept {
        remove_since(0, [](const record&) {});
    }
    [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

private:
    struct position_of {
        using type = std::size_t;
        type operator()(const record& of) const noexcept { return of.position; }
    };
    boost::intrusive::multiset<record, boost::intrusive::key_of_value<position_of>> by_position_;
    boost::intrusive::list<record> in_order_;
    std::uint64_t count_ = 0;
};

}  // namespace detail

/// An allocator whose calls are written to a sink.
template <class Allocator, class Sink>
class recorded : public detail::forwarding<Allocator> {
    static_assert(recording_sink<std::remove_reference_t<Sink>>,
                  "allot: the second argument of recorded is a sink: trace_writer, event_sink, or a type with "
                  "allocate(size, align), deallocate(number), resize(number, size) and reset()");
    static_assert(linear_address_model<typename std::remove_reference_t<Allocator>::address_model>,
                  "allot: recorded finds blocks by their position, which a table of rows does not have: record the "
                  "parts of a paged allocator, as in paged{recorded, recorded}");
    using base = detail::forwarding<Allocator>;
    using base::inner_;
    using typename base::allocator_type;

public:
    using typename base::block_type;
    using sink_type = std::remove_reference_t<Sink>;  ///< The type of the sink.

    /// Constructs the allocator and the sink with their default constructors.
    recorded() noexcept
        requires(std::default_initializable<Allocator> && std::default_initializable<Sink>)
    = default;
    /// Stores references to the allocator and the sink, or moves them into this object.
    recorded(Allocator&& allocator, Sink&& sink) noexcept
        : base{std::forward<Allocator>(allocator)}, sink_{std::forward<Sink>(sink)} {}

    /// Allocates a block. Returns an empty block on failure.
    [[nodiscard]] block_type allocate(layout wanted) noexcept {
        return note(wanted, [&] { return inner_.allocate(wanted); });
    }
    /// Allocates exactly these bytes. Returns an empty block if they are not free.
    [[nodiscard]] block_type allocate_at(extent wanted) noexcept
        requires positional_allocator<allocator_type>
    {
        return note({wanted.size, 1}, [&] { return inner_.allocate_at(wanted); });
    }
    /// Deallocates an unchanged block. Does nothing for an empty block.
    void deallocate(block_type held) noexcept {
        if (!this->is_freeable(held)) return;  // a misuse is reported once
        if (!this->give_back(held)) return;
        if (record* const known = find(held)) {
            sink_.deallocate(known->number);
            blocks_.remove(*known);
        }
    }
    /// Resizes a block in place and updates `held`. Returns false and changes nothing on failure.
    [[nodiscard]] bool resize(block_type& held, std::size_t size) noexcept
        requires resizable_allocator<allocator_type>
    {
        if (!inner_.resize(held, size)) return false;
        if (record* const known = find(held)) known->number = sink_.resize(known->number, held.size);
        return true;
    }
    /// Releases memory without live blocks. Returns the number of released bytes.
    std::size_t trim() noexcept
        requires trimmable_allocator<allocator_type>
    {
        const std::size_t released = inner_.trim();
        if constexpr (requires { sink_.trim(released); }) sink_.trim(released);
        return released;
    }
    /// Frees every block.
    void reset() noexcept
        requires resettable_allocator<allocator_type>
    {
        sink_.reset();
        blocks_.clear();
        inner_.reset();
    }
    /// Returns a mark for `rollback`.
    [[nodiscard]] auto mark() noexcept
        requires markable_allocator<allocator_type>
    {
        return recorded_mark<decltype(inner_.mark())>{inner_.mark(), blocks_.count()};
    }
    /// Frees every block that was allocated since the mark. Precondition: the mark is from this allocator and is valid.
    /// Returns false and changes nothing if a hardened allocator reports the mark.
    template <class Mark>
        requires markable_allocator<allocator_type>
    bool rollback(recorded_mark<Mark> mark) noexcept {
        if (!this->roll_back(mark.inner)) return false;
        blocks_.remove_since(mark.count, [this](const record& gone) { sink_.deallocate(gone.number); });
        return true;
    }

    /// Returns the sink.
    [[nodiscard]] sink_type& sink() noexcept { return sink_; }
    /// Returns the sink.
    [[nodiscard]] const sink_type& sink() const noexcept { return sink_; }

private:
    using model = typename base::address_model;
    using blocks = detail::recorded_blocks<decltype(block_type::address)>;
    using record = typename blocks::record;

    [[nodiscard]] record* find(const block_type& held) noexcept {
        return blocks_.find(held.address, model::position(held.address));
    }
    template <class Request>
    [[nodiscard]] block_type note(layout wanted, Request request) noexcept {
        auto* const fresh = new (std::nothrow) record;
        const block_type given = fresh == nullptr ? block_type{} : request();
        if (!given) {
            delete fresh;
            if constexpr (requires { sink_.refuse(std::uint64_t{}, std::uint64_t{}); })
                sink_.refuse(wanted.size, wanted.align);
            return {};
        }
        fresh->address = given.address;
        fresh->position = model::position(given.address);
        if constexpr (requires { sink_.allocate(std::uint64_t{}, std::uint64_t{}, std::uint64_t{}); })
            fresh->number = sink_.allocate(given.size, wanted.align, fresh->position);
        else fresh->number = sink_.allocate(given.size, wanted.align);
        blocks_.add(*fresh);
        return given;
    }

    Sink sink_;
    blocks blocks_;
};

/// Deduces references for lvalues and values for rvalues.
template <class Allocator, class Sink>
recorded(Allocator&&, Sink&&) -> recorded<Allocator, Sink>;

}  // namespace v1
}  // namespace allot
