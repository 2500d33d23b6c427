// SPDX-License-Identifier: BSL-1.0
// observed: an allocator that calls an observer after or before each call.
//
//     struct logger {
//         void on_refusal(allot::layout wanted, allot::diagnosis reason) noexcept { log(wanted.size, reason.what()); }
//     };
//     allot::observed memory{allot::arena{allot::host::heap{}, 1_MiB}, logger{}};
//
// An observer has any of these functions. A missing one is skipped:
//
//     function                         call
//     on_allocate(block, layout)       after a block was allocated; the alignment is 1 for `allocate_at`
//     on_refusal(layout, diagnosis)    after a request failed; the diagnosis is not computed for any other observer
//     on_deallocate(block)             before a block is freed
//     on_resize(before, after)         after a block was resized: two blocks
//     on_trim(bytes)                   after a trim that released this number of bytes
//     on_reset()                       before all blocks are freed
//     on_rollback()                    before the blocks since a mark are freed
//
// A function with one of these names and other parameters does not compile. The functions must not call the allocator,
// and an exception ends the program. A resize that fails calls nothing. With a hardened allocator, a block that is not
// live calls nothing. A live block that the allocator then refuses to free calls `on_deallocate` each time: it is out
// of order, or a record next to it is damaged. A rollback to a mark that the allocator reports calls `on_rollback`.
//
// When to use: to connect a logger, a profiler or a test with an allocator.
// When not to use: to count (use `counted`), to keep a name for each block (`tagged`), or to write a file (`recorded`).
//
// Every ability of the allocator is passed on. An lvalue, allocator or observer, is stored as a reference and must
// outlive this object.
//
// Complexity: that of the allocator and the observer. An observer without functions adds no instruction.
// Memory: the observer; none if its type is empty.
// Thread safety: requires external synchronization.
#pragma once

#include <allot/compose/detail/forwarding.hpp>
#include <allot/core/detail/compiler.hpp>

#include <type_traits>

namespace allot {
inline namespace v1 {

namespace detail {

/// One function of each name. A class with this base and an observer as bases has an ambiguous name where the observer
/// has a function of that name, with any parameters.
struct observer_names {
    void on_allocate();
    void on_refusal();
    void on_deallocate();
    void on_resize();
    void on_trim();
    void on_reset();
    void on_rollback();
};
template <class Observer>
struct named_observer : Observer, observer_names {};
/// Stands for an observer that is missing.
struct no_observer;

/// Returns true if each function of an observer accepts the arguments that it gets. Otherwise it does not compile.
template <class Observer, class Block>
consteval bool observer_requirements() {
    const auto check = []<bool Named, bool Callable>(std::bool_constant<Named>, std::bool_constant<Callable>) {
        static_assert(!Named || Callable,
                      "allot: a function of this observer has other parameters: on_allocate(const Block&, layout), "
                      "on_refusal(layout, diagnosis), on_deallocate(const Block&), on_resize(const Block&, const "
                      "Block&), on_trim(std::size_t), on_reset() and on_rollback() are called");
    };
    constexpr auto is = []<bool Value>() { return std::bool_constant<Value>{}; };
    const auto check_all = [&]<class Names, bool IsBase>(std::type_identity<Names>, std::bool_constant<IsBase>) {
        check(is.template operator()<IsBase != requires { &Names::on_allocate; }>(),
              is.template operator()<requires(Observer& to, const Block& held) { to.on_allocate(held, layout{}); }>());
        check(is.template operator()<IsBase != requires { &Names::on_refusal; }>(),
              is.template operator()<requires(Observer& to) { to.on_refusal(layout{}, diagnosis{}); }>());
        check(is.template operator()<IsBase != requires { &Names::on_deallocate; }>(),
              is.template operator()<requires(Observer& to, const Block& held) { to.on_deallocate(held); }>());
        check(is.template operator()<IsBase != requires { &Names::on_resize; }>(),
              is.template operator()<requires(Observer& to, const Block& held) { to.on_resize(held, held); }>());
        check(is.template operator()<IsBase != requires { &Names::on_trim; }>(),
              is.template operator()<requires(Observer& to) { to.on_trim(std::size_t{}); }>());
        check(is.template operator()<IsBase != requires { &Names::on_reset; }>(),
              is.template operator()<requires(Observer& to) { to.on_reset(); }>());
        check(is.template operator()<IsBase != requires { &Names::on_rollback; }>(),
              is.template operator()<requires(Observer& to) { to.on_rollback(); }>());
    };
    if constexpr (std::is_same_v<Observer, no_observer> || !std::is_class_v<Observer>)
        static_assert(
            !std::is_void_v<Block> && !sizeof(Block),
            "allot: the second argument of observed is an observer, an object of a class: observed{allocator, "
            "logger}, and *logger for a pointer to one");
    else if constexpr (std::is_final_v<Observer>)  // cannot be a base: an overloaded function is not found by its name
        check_all(std::type_identity<Observer>{}, std::false_type{});
    else check_all(std::type_identity<named_observer<Observer>>{}, std::true_type{});
    return true;
}

}  // namespace detail

/// An allocator and an observer of its calls.
template <class Allocator, class Observer>
class observed : public detail::forwarding<Allocator> {
    using base = detail::forwarding<Allocator>;
    using base::inner_;
    using typename base::allocator_type;

public:
    using typename base::block_type;
    using observer_type = std::remove_reference_t<Observer>;  ///< The type of the observer.
    static_assert(detail::observer_requirements<observer_type, block_type>());

    /// Constructs the allocator and the observer with their default constructors.
    observed() noexcept
        requires(std::default_initializable<Allocator> && std::default_initializable<Observer>)
    = default;
    /// Stores references to the allocator and the observer, or moves them into this object.
    observed(Allocator&& allocator, Observer&& observer) noexcept
        : base{std::forward<Allocator>(allocator)}, observer_{std::forward<Observer>(observer)} {}

    /// Allocates a block. Returns an empty block on failure.
    [[nodiscard]] block_type allocate(layout wanted) noexcept {
        const block_type fresh = inner_.allocate(wanted);
        if (fresh) tell_allocated(fresh, wanted);
        else if constexpr (hears_refusals) observer_.on_refusal(wanted, inner_.diagnose(wanted));
        return fresh;
    }
    /// Allocates exactly these bytes. Returns an empty block if they are not free.
    [[nodiscard]] block_type allocate_at(extent wanted) noexcept
        requires positional_allocator<allocator_type>
    {
        const block_type fresh = inner_.allocate_at(wanted);
        if (fresh) tell_allocated(fresh, {wanted.size, 1});
        else if constexpr (hears_refusals) observer_.on_refusal({wanted.size, 1}, inner_.diagnose_at(wanted));
        return fresh;
    }
    /// Deallocates an unchanged block. Does nothing for an empty block.
    void deallocate(block_type held) noexcept {
        if constexpr (requires { observer_.on_deallocate(held); }) {
            if (!this->is_freeable(held)) return;  // a misuse is reported once
            observer_.on_deallocate(std::as_const(held));
        }
        inner_.deallocate(held);
    }
    /// Resizes a block in place and updates `held`. Returns false and changes nothing on failure.
    [[nodiscard]] bool resize(block_type& held, std::size_t size) noexcept
        requires resizable_allocator<allocator_type>
    {
        [[maybe_unused]] const block_type before = held;
        if (!inner_.resize(held, size)) return false;
        if constexpr (requires { observer_.on_resize(before, before); })
            observer_.on_resize(before, std::as_const(held));
        return true;
    }
    /// Releases memory without live blocks. Returns the number of released bytes.
    std::size_t trim() noexcept
        requires trimmable_allocator<allocator_type>
    {
        const std::size_t released = inner_.trim();
        if constexpr (requires { observer_.on_trim(released); }) observer_.on_trim(released);
        return released;
    }
    /// Frees every block.
    void reset() noexcept
        requires resettable_allocator<allocator_type>
    {
        if constexpr (requires { observer_.on_reset(); }) observer_.on_reset();
        inner_.reset();
    }
    /// Frees every block that was allocated since the mark. Precondition: the mark is from this allocator and is valid.
    /// Returns false and changes nothing if a hardened allocator reports the mark.
    template <class Mark>
        requires markable_allocator<allocator_type>
    bool rollback(Mark mark) noexcept {
        if constexpr (requires { observer_.on_rollback(); }) observer_.on_rollback();
        return this->roll_back(mark);
    }

    /// Returns the observer.
    [[nodiscard]] observer_type& observer() noexcept { return observer_; }
    /// Returns the observer.
    [[nodiscard]] const observer_type& observer() const noexcept { return observer_; }

private:
    static constexpr bool hears_refusals = requires(observer_type& to) { to.on_refusal(layout{}, diagnosis{}); };

    void tell_allocated([[maybe_unused]] const block_type& fresh, [[maybe_unused]] layout wanted) noexcept {
        if constexpr (requires { observer_.on_allocate(fresh, wanted); }) observer_.on_allocate(fresh, wanted);
    }

    ALLOT_NO_UNIQUE_ADDRESS Observer observer_;
};

/// Deduces references for lvalues and values for rvalues.
template <class Allocator, class Observer>
observed(Allocator&&, Observer&&) -> observed<Allocator, Observer>;
/// Reports a missing observer at compile time.
template <class Allocator>
    requires(allocator<Allocator> && !requires(Allocator& of) { of.observer(); })
observed(Allocator&&) -> observed<Allocator, detail::no_observer&>;

}  // namespace v1
}  // namespace allot
