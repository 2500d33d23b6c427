// SPDX-License-Identifier: BSL-1.0
// tagged: an allocator that keeps a tag and user data for each block, and counters for each tag.
//
//     allot::tagged<allot::arena<allot::host::heap, allot::best_fit<>>> memory{{{}, 16_MiB}};
//     auto weights = memory.allocate({.size = 4096}, "weights");      // a name
//     auto scratch = memory.allocate({.size = 256});                  // the file and the line of this call
//     memory.for_each_tag([](allot::block_tag tag, const allot::allocator_statistics& now) {
//         print(tag.name, tag.line, now.used, now.peak, now.refusals);
//     });
//     memory.for_each_block([](const auto& block) { print(block.address, block.size, block.tag.name, block.number); });
//
//     block ──► index of a record ──► tag, user data, number, address, size
//                                      └──► name, line, counters (one entry for each distinct tag)
//
// The location of a call is known only where the program calls this object directly. A container, a tensor or a
// composition calls `allocate` from its own file. Set a tag for these calls: `memory.set_current_tag("decode")`.
//
// When to use: to find the part of a program that holds the memory, or the allocation of a leaked block.
// When not to use: for the sum of all blocks. Use `counted`, which stores nothing for each block.
//
// A tagged allocator has every ability of its allocator. `tagged<hardened>` leaves a misused block that the allocator
// reports without effect.
//
// Complexity: O(length of the name) for `allocate`, and O(1) for `deallocate`, in addition to those of the allocator.
// `for_each_block`, `reset` and `rollback` are O(records at the peak), `for_each_tag` is O(tags).
// Memory: about 350 bytes, and about 48 bytes for each block and 90 bytes for each tag, on the heap, or inside the
// object if `tagged_options` set fixed numbers. If a table is full and cannot grow, a request fails with
// `refusal::out_of_records`. A block has an index of 4 bytes in its metadata.
// Thread safety: requires external synchronization.
#pragma once

#include <allot/compose/detail/block_records.hpp>
#include <allot/compose/detail/forwarding.hpp>
#include <allot/compose/detail/tag_table.hpp>
#include <allot/core/detail/compiler.hpp>

#include <version>
#ifdef __cpp_lib_source_location
#include <source_location>
#endif

namespace allot {
inline namespace v1 {

/// The options of `tagged`.
struct tagged_options {
    /// The maximum number of live blocks. 0: the table is on the heap and grows.
    std::size_t records = 0;
    /// The maximum number of distinct tags. 0: the table is on the heap and grows.
    std::size_t tags = 0;
};

/// A name, or a line of a file. Two tags are equal if their texts and lines are.
struct block_tag {
    const char* name = nullptr;  ///< A name or the path of a file. It must outlive the allocator. Null: no tag.
    std::uint32_t line = 0;      ///< The line in the file, or 0 for a name.

    /// Constructs a tag without a name.
    constexpr block_tag() noexcept = default;
    /// Constructs a tag from a name or a file.
    constexpr block_tag(const char* of, std::uint32_t at_line = 0) noexcept : name{of}, line{at_line} {}
#ifdef __cpp_lib_source_location
    /// Constructs a tag from a location.
    constexpr block_tag(const std::source_location& at) noexcept : name{at.file_name()}, line{at.line()} {}
#endif
    /// Returns true if there is a name.
    [[nodiscard]] constexpr explicit operator bool() const noexcept { return name != nullptr; }
    /// Compares the texts and the lines.
    friend bool operator==(const block_tag& a, const block_tag& b) noexcept {
        if (a.line != b.line) return false;
        return a.name == b.name || (a.name != nullptr && b.name != nullptr && std::strcmp(a.name, b.name) == 0);
    }
};

namespace detail {
/// The location of a call. Its constructor has three parameters, so that `{"file", 7}` is a tag.
struct call_site {
    constexpr call_site(std::nullptr_t, const char* in, int at) noexcept
        : file{in}, line{static_cast<std::uint32_t>(at)} {}
    const char* file;
    std::uint32_t line;
};
}  // namespace detail

/// A live block as `tagged` describes it.
template <class Address>
struct tagged_block {
    Address address{};             ///< The first byte.
    std::size_t size = 0;          ///< The requested size.
    block_tag tag{};               ///< The tag.
    std::uintptr_t user_data = 0;  ///< The value that the program stored.
    std::uint64_t number = 0;      ///< The number of the allocation, counted from 1.
};

/// The mark of a tagged allocator: the mark of the allocator, and the number of the newest block.
template <class Mark>
struct tagged_mark {
    Mark inner;                ///< The mark of the allocator.
    std::uint64_t newest = 0;  ///< The number of the newest block.
};

/// An allocator and the tags of its blocks.
template <class Allocator, tagged_options Options = tagged_options{}>
class tagged : public detail::forwarding<Allocator> {
    using base = detail::forwarding<Allocator>;
    using base::inner_;
    using typename base::allocator_type;
    using conversion = detail::block_with_record<block_of<Allocator>>;

public:
    using base::base;
    using block_type = typename conversion::type;                     ///< The type of blocks.
    using metadata_type = decltype(block_type::metadata);             ///< The metadata of a block.
    using description = tagged_block<decltype(block_type::address)>;  ///< The description of a block.

    /// Allocates a block with the current tag, or with the location of the call without one. Returns an empty block on
    /// failure.
    [[nodiscard]] block_type allocate(layout wanted, detail::call_site at = {nullptr, ALLOT_CALLER_FILE(),
                                                                             ALLOT_CALLER_LINE()}) noexcept {
        return allocate(wanted, current_ ? current_ : block_tag{at.file, at.line});
    }
    /// Allocates a block with a tag. Returns an empty block on failure.
    [[nodiscard]] block_type allocate(layout wanted, block_tag tag, std::uintptr_t user_data = 0) noexcept {
        return note(tag, user_data, [&] { return inner_.allocate(wanted); });
    }
    /// Reports a name that does not outlive the call at compile time.
    template <class Text>
        requires(requires(const Text& of) { of.data(); } && !std::convertible_to<const Text&, block_tag>)
    block_type allocate(layout, const Text&, std::uintptr_t = 0) noexcept {
        static_assert(
            !sizeof(Text),
            "allot: a tag refers to the letters of its name and does not copy them: pass a string literal, or "
            "a const char* to a text that outlives the allocator");
        return {};
    }
    /// Allocates exactly these bytes, with a tag or the current tag. Returns an empty block if they are not free.
    [[nodiscard]] block_type allocate_at(extent wanted, block_tag tag = {}, std::uintptr_t user_data = 0) noexcept
        requires positional_allocator<allocator_type>
    {
        return note(tag ? tag : current_, user_data, [&] { return inner_.allocate_at(wanted); });
    }
    /// Deallocates an unchanged block. Does nothing for an empty block.
    void deallocate(block_type held) noexcept {
        if (!this->is_freeable(conversion::inner(held))) return;
        const detail::record_index at = held.metadata.record;
        if (!this->give_back(conversion::inner(held)) || !records_.contains(at)) return;
        leave(records_[at]);
        records_.remove(at);
    }
    /// Resizes a block in place and updates `held`. Returns false and changes nothing on failure.
    [[nodiscard]] bool resize(block_type& held, std::size_t size) noexcept
        requires resizable_allocator<allocator_type>
    {
        auto own = conversion::inner(held);
        if (!inner_.resize(own, size)) return false;
        held.size = own.size;
        held.metadata.inner = own.metadata;
        record& known = records_[held.metadata.record];
        tags_[known.tag].counters.used -= known.size;
        known.size = own.size;
        use(tags_[known.tag].counters, own.size);
        return true;
    }
    /// Frees every block. The tags keep their peaks.
    void reset() noexcept
        requires resettable_allocator<allocator_type>
    {
        inner_.reset();
        forget_since(0);
    }
    /// Returns a mark for `rollback`.
    [[nodiscard]] auto mark() noexcept
        requires markable_allocator<allocator_type>
    {
        return tagged_mark<decltype(inner_.mark())>{inner_.mark(), records_.last()};
    }
    /// Frees every block that was allocated since the mark. Precondition: the mark is from this allocator and is valid.
    /// Returns false and changes nothing if a hardened allocator reports the mark.
    template <class Mark>
        requires markable_allocator<allocator_type>
    bool rollback(tagged_mark<Mark> mark) noexcept {
        if (!this->roll_back(mark.inner)) return false;
        forget_since(mark.newest);
        return true;
    }

    /// Returns the usable bytes of a block, or 0 for an empty block.
    [[nodiscard]] std::size_t capacity(block_type held) const noexcept
        requires measuring_allocator<allocator_type>
    {
        return inner_.capacity(conversion::inner(held));
    }
    /// Returns true if the block is in the allocator's memory, live or not.
    [[nodiscard]] bool owns(block_type held) const noexcept
        requires owning<allocator_type>
    {
        return inner_.owns(conversion::inner(held));
    }
    /// Returns whether this block is live. Misuse is reported. Only for a hardened allocator.
    [[nodiscard]] bool check(block_type held) const noexcept
        requires requires(const allocator_type& of) { of.check(conversion::inner(held)); }
    {
        return inner_.check(conversion::inner(held));
    }
    /// Returns true if exactly this block is live. Reports nothing. Only for a hardened allocator.
    [[nodiscard]] bool is_live(block_type held) const noexcept
        requires requires(const allocator_type& of) { of.is_live(conversion::inner(held)); }
    {
        return inner_.is_live(conversion::inner(held));
    }
    /// Returns the reason for which `allocate` would fail with the current tag. Without one, with a tag that is new.
    [[nodiscard]] diagnosis diagnose(layout wanted) noexcept { return diagnose(wanted, current_); }
    /// Returns the reason for which `allocate` would fail with a tag.
    [[nodiscard]] diagnosis diagnose(layout wanted, block_tag tag) noexcept {
        return with_records(inner_.diagnose(wanted), tag && tags_.find(tag) != detail::no_record);
    }
    /// Returns the reason for which `allocate_at` would fail with a tag or the current tag.
    [[nodiscard]] diagnosis diagnose_at(extent wanted, block_tag tag = {}) noexcept
        requires positional_allocator<allocator_type>
    {
        return with_records(inner_.diagnose_at(wanted), tags_.find(tag ? tag : current_) != detail::no_record);
    }

    /// Sets the tag of requests without a tag, until the next call. Returns the tag before.
    block_tag set_current_tag(block_tag tag) noexcept { return std::exchange(current_, tag); }
    /// Changes the tag of a live block. Returns false and changes nothing if the table of tags is full.
    bool set_tag(const block_type& held, block_tag tag) noexcept {
        const detail::record_index now = tags_.find_or_add(tag);
        if (now == detail::no_record) return false;
        record& known = records_[held.metadata.record];
        leave(known);
        known.tag = now;
        ++tags_[now].counters.count;
        use(tags_[now].counters, known.size);
        return true;
    }
    /// Changes the user data of a live block.
    void set_user_data(const block_type& held, std::uintptr_t user_data) noexcept {
        records_[held.metadata.record].user_data = user_data;
    }
    /// Returns the description of a live block.
    [[nodiscard]] description describe(const block_type& held) const noexcept {
        return described(records_[held.metadata.record], records_.number(held.metadata.record));
    }

    /// Calls `f(description)` for every live block if `f` accepts it, and `f(address, size)` otherwise. The blocks have
    /// no particular order: compare their numbers.
    template <class Function>
    void for_each_block(Function f) const noexcept {
        records_.for_each([&](const record& known, std::uint64_t number) {
            if constexpr (std::is_invocable_v<Function&, const description&>) {
                const description block = described(known, number);
                f(block);
            } else {
                f(known.address, known.size);
            }
        });
    }
    /// Calls `f(tag, counters)` for every tag that was ever used, in the order of the first use. The counters are
    /// `used`, `count`, `peak`, `requests` and `refusals`.
    template <class Function>
    void for_each_tag(Function f) const noexcept {
        tags_.for_each(f);
    }
    /// Returns the number of requests that failed because the table of tags was full. No tag counts them.
    [[nodiscard]] std::size_t untagged_refusals() const noexcept { return untagged_.value; }
    /// Returns the counters of one tag. They are 0 for a tag that was never used.
    [[nodiscard]] allocator_statistics statistics_of(block_tag tag) const noexcept {
        allocator_statistics found;
        tags_.for_each([&](const block_tag& each, const allocator_statistics& counters) {
            if (each == tag) found = counters;
        });
        return found;
    }

    /// Returns the layout that `allocate` asks of the allocator, or an empty layout if a table is full.
    [[nodiscard]] friend layout inner_request(tagged& of, layout wanted) noexcept {
        const bool is_known_tag = of.current_ && of.tags_.find(of.current_) != detail::no_record;
        return of.with_records({}, is_known_tag).reason == refusal::none ? wanted : layout{.size = 0};
    }

private:
    struct record {
        decltype(block_type::address) address{};
        std::size_t size = 0;
        std::uintptr_t user_data = 0;
        detail::record_index tag = detail::no_record;
    };

    [[nodiscard]] description described(const record& known, std::uint64_t number) const noexcept {
        return {known.address, known.size, tags_[known.tag].tag, known.user_data, number};
    }
    [[nodiscard]] diagnosis with_records(diagnosis found, bool is_known_tag) noexcept {
        const auto has_room = [&] { return records_.room() && (is_known_tag || tags_.room()); };
        if (found.reason == refusal::none && !has_room()) found.reason = refusal::out_of_records;
        return found;
    }
    template <class Request>
    [[nodiscard]] block_type note(block_tag tag, std::uintptr_t user_data, Request request) noexcept {
        const detail::record_index index = tags_.find_or_add(tag);
        if (index == detail::no_record) {
            ++untagged_.value;
            return {};
        }
        allocator_statistics& counters = tags_[index].counters;
        ++counters.requests;
        if (records_.room()) {
            if (const auto given = request()) {
                ++counters.count;
                use(counters, given.size);
                return conversion::from(given, records_.add({given.address, given.size, user_data, index}));
            }
        }
        ++counters.refusals;
        return {};
    }
    static void use(allocator_statistics& counters, std::size_t more) noexcept {
        counters.used += more;
        if (counters.used > counters.peak) counters.peak = counters.used;
    }
    void leave(const record& known) noexcept {
        tags_[known.tag].counters.used -= known.size;
        --tags_[known.tag].counters.count;
    }
    void forget_since(std::uint64_t number) noexcept {
        records_.remove_since(number, [this](const record& known) { leave(known); });
    }

    detail::block_records<record, Options.records> records_;
    detail::tag_table<block_tag, Options.tags> tags_;
    block_tag current_;
    detail::moved_value<std::size_t> untagged_;
};

/// Deduces a reference for an lvalue and a value for an rvalue.
template <class Allocator>
tagged(Allocator&&) -> tagged<Allocator>;

}  // namespace v1
}  // namespace allot
