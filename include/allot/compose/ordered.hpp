// SPDX-License-Identifier: BSL-1.0
// ordered: an arena whose blocks are allocated and freed in the order of queues, such as CUDA streams.
//
//     using device_arena = allot::arena<allot::cuda::device_memory, allot::best_fit<>>;
//     allot::ordered<device_arena, allot::cuda::events> memory{allot::cuda::events{0},
//                                                              allot::cuda::device_memory{0}, 1_GiB};
//     const auto compute = memory.attach(stream), copies = memory.attach(other_stream);
//     auto block = memory.allocate({.size = 4096, .align = 256}, compute);
//     kernel<<<…, stream>>>(block.address);             // still runs when the block is freed
//     memory.deallocate(block, compute);
//     auto again = memory.allocate({.size = 4096}, compute);   // the same bytes, without a call of the driver
//     auto other = memory.allocate({.size = 4096}, copies);    // other bytes; the same ones only behind a wait
//
//     host      allocate  free       allocate
//     compute      ──kernel──●                      ● a point, recorded when `copies` first needs the bytes
//     copies                 └─wait──copy──►
//
// A block is freed when the host is done with it. Work of queues that was submitted before may still use its bytes:
// they are pending. A later request gets pending bytes
//   - at once, if it comes from the same queue, because its work runs later;
//   - at once, if the work is known to be done, or the requesting queue already waits for it (`follows`);
//   - behind a wait, which `ordered` inserts or hands out (`wait_policy`).
// A request prefers bytes without a wait. It is never refused while a wait would serve it, except with
// `wait_policy::never`. Adjacent holes join, also if they wait for different work. A block waits only for the uses of
// its own bytes.
//
// The strategy is best_fit, pool, page_tree, bump, stack or ring. The last three choose one place for a request, which
// waits for the bytes there: in a ring, those that were freed first. `reset` and `rollback` free bytes that work of the
// given queues may still use.
//
// When to use: for memory whose blocks several queues use: streams, command queues, threads with a timeline.
// When not to use: for one in-order queue, or blocks that are freed after the host waited for the work. Use an arena.
//
// Complexity: `allocate` and `deallocate` on one queue are those of best_fit, with some instructions more. A request
// that finds no bytes without a wait asks the driver for passed points. If one passed, it visits all holes or pages.
//
// Memory: the bins of best_fit, 36 bytes (40 with 64-bit offsets) for each block, hole and extent, and 24 bytes for
// each further segment of a hole, where bytes of different queues adjoin. For other strategies: 24 bytes for each slot
// or page, or 40 for each range of bytes that the same queues used. The object has one epoch for each pair of queues
// and recorded points.
//
// Thread safety: not synchronized. Protect it by a lock if several threads submit work.
// Sources: IREE's pools, whose free blocks carry a frontier (iree/hal/memory/tlsf.h), and RMM's stream-ordered pool.
#pragma once

#include <allot/compose/detail/ordered_refusals.hpp>
#include <allot/compose/detail/ordered_waits.hpp>
#include <allot/core/detail/compiler.hpp>

#include <initializer_list>

namespace allot {
inline namespace v1 {

/// Arena whose blocks are allocated and freed in the order of queues.
template <class Arena, class Timeline = detail::no_timeline, ordered_options Options = ordered_options{}>
class ordered : detail::ordered_refusals<Arena, Timeline, Options>, detail::ordered_waits<Arena, Timeline, Options> {
    using refusals = detail::ordered_refusals<Arena, Timeline, Options>;
    using base = detail::ordered_waits<Arena, Timeline, Options>;
    using base::clock_, base::arena_, base::error_;
    using base::cover_all, base::cover_passed_over, base::wait_for_place;
    using base::note, base::settle, base::wait_for_all, base::allocate_held, base::allocate_grown;
    using typename base::clock, typename base::access;

public:
    /// The arena, with a strategy that knows the pending uses.
    using arena_type = typename base::arena_type;
    using timeline_type = Timeline;                                       ///< The driver's queues and points.
    using native_queue = typename Timeline::queue_type;                   ///< The driver's handle of a queue.
    using point_type = typename Timeline::point_type;                     ///< A point on a queue.
    using error_type = typename Timeline::error_type;                     ///< The driver's error.
    using block_type = typename arena_type::block_type;                   ///< Result of an allocation.
    using address_model = typename arena_type::address_model;             ///< Address model of the device.
    static constexpr bool host_accessible = arena_type::host_accessible;  ///< Whether the host may access the memory.
    static constexpr offset_use offsets = arena_type::offsets;            ///< How consumers of the memory use offsets.
    static constexpr dl_device_type dl_device = arena_type::dl_device;    ///< Device type for DLPack.
    static constexpr wait_policy waits = Options.waits;                   ///< The handling of pending bytes.
    static constexpr unsigned max_queues = Options.queues;                ///< The maximum number of queues.
    /// The host as a queue: its requests get bytes whose work is done, and it waits for that work.
    static constexpr queue_id host{clock::host_row};

    /// Constructs the arena from `arguments`: a device, and a size if the arena needs one.
    template <class... Arguments>
        requires std::constructible_from<arena_type, Arguments...>
    explicit ordered(Timeline from, Arguments&&... arguments) noexcept
        : base{std::move(from), std::forward<Arguments>(arguments)...} {}
    // The following constructor and functions report wrong arguments at compile time.
    template <class First, class... Rest>
        requires detail::not_for_ordered<ordered, Timeline, First, Rest...>
    explicit ordered(First&&, Rest&&...) : ordered{refusals::refused()} {
        static_assert(!sizeof(First),
                      "allot: ordered makes its own arena: its arguments are a timeline, then those of the arena: "
                      "ordered<Arena, Timeline> memory{timeline, device, size}");
    }
    using refusals::allocate, refusals::attach, refusals::deallocate;
    ordered(ordered&&) = delete;
    ordered& operator=(ordered&&) = delete;
    /// Waits for all pending uses, then releases the memory.
    ~ordered() {
        static_cast<void>(synchronize());
        clock_.forget_all();
    }

    /// Adds a queue of the driver. Returns no queue if `ordered_options::queues` are attached already, or are detached
    /// with work that is not done. The driver's queue must outlive its attachment.
    [[nodiscard]] queue_id attach(native_queue queue) noexcept {
        unsigned at = clock_.attach(queue);
        if (at == Options.queues && poll()) at = clock_.attach(queue);
        return at == Options.queues ? queue_id{} : queue_id{at};
    }
    /// Removes a queue, before the driver's queue is destroyed. Bytes that its work still uses remain pending until
    /// that work is done. On failure, the queue remains attached.
    [[nodiscard]] error_type detach(queue_id queue) noexcept {
        if (clock_.attached(queue.index) == 0) return {};
        return note(clock_.detach(queue.index));
    }
    /// Gives the number of a queue to `next`, another queue of the driver. Later work of `next` waits for the earlier
    /// work of the first queue, which is no longer attached. On failure, the first queue remains attached.
    [[nodiscard]] error_type replace(queue_id queue, native_queue next) noexcept {
        if (clock_.attached(queue.index) == 0) return {};
        return clock_.replace(queue.index, next);
    }
    /// Records a point on each queue with pending uses, so that a later wait for them records nothing: one of the
    /// queues may capture a graph then.
    void cover() noexcept { cover_all(clock::host_row); }
    /// States that later work of a queue comes after the earlier work of `other`, because the program made it wait. For
    /// `host`, states that this work is done.
    void follows(queue_id queue, queue_id other) noexcept {
        if (!clock_.is_row(queue.index) || clock_.attached(other.index) == 0) return;
        clock_.follow(queue.index, other.index);
        if (queue == host) settle();
    }

    /// Allocates a block for work on a queue, or for the host. Inserts a wait for other queues if no other bytes fit.
    /// Returns an empty block on failure; `diagnose` returns the reason.
    [[nodiscard]] block_type allocate(layout wanted, queue_id queue) noexcept
        requires(waits != wait_policy::hand_out)
    {
        return allocate_for(wanted, queue, typename clock::no_hand{});
    }
    /// Allocates a block for work on a queue. Calls `wait_for(point)` for each point that the queue must wait for
    /// before it uses the block. A point is valid until the next call of this object.
    template <class Function>
    [[nodiscard]] block_type allocate(layout wanted, queue_id queue, Function wait_for) noexcept
        requires(waits == wait_policy::hand_out && std::invocable<Function&, const point_type&>)
    {
        return allocate_for(wanted, queue, wait_for);
    }

    /// Frees a block that work on a queue used. Work that was submitted to the queue before may still use it. For
    /// `host`, all work with the block is done; work that used its bytes before it was allocated remains pending.
    void deallocate(block_type held, queue_id queue) noexcept { free_after(held, users(queue), clock_.now()); }
    /// Frees a block that work on several queues used.
    void deallocate(block_type held, std::initializer_list<queue_id> queues) noexcept {
        free_after(held, users(queues), clock_.now());
    }
    /// Frees a block whose use ends at a point of another library, which it takes. The bytes remain pending until all
    /// such points so far have passed. Returns false and changes nothing if `ordered_options::external` points are
    /// pending.
    [[nodiscard]] bool deallocate(block_type held, point_type& until) noexcept {
        const detail::epoch use = clock_.add_external(until);
        if (use != 0) free_after(held, detail::queue_set{1} << clock::external, use);
        return use != 0;
    }
    /// Frees a block that the host still uses, until `end_host_use`. Returns false and changes nothing if the use is
    /// not one that `begin_host_use` started.
    [[nodiscard]] bool deallocate(block_type held, host_use until) noexcept {
        if (!clock_.is_host_use(until.epoch)) return false;
        // Work of the queues of `used_on` may be later than the start of the host's use.
        const bool is_shared = held && access::strategy(arena_).is_used(access::allocation(arena_, held));
        free_after(held, detail::queue_set{1} << clock::host_uses, is_shared ? clock_.now() : until.epoch);
        return true;
    }
    /// States that work on another queue uses a block. When the block is freed, its bytes also wait for that queue.
    void used_on(block_type held, queue_id queue) noexcept {
        if (held) access::strategy(arena_).use(access::allocation(arena_, held), users(queue));
    }
    /// Starts a use by the host that runs beside the queues, for example a thread that reads results. Returns no use if
    /// `ordered_options::external` uses are pending. Bytes remain pending until this use and all earlier ones have
    /// ended.
    [[nodiscard]] host_use begin_host_use() noexcept { return {clock_.begin_host_use()}; }
    /// Ends a use by the host.
    void end_host_use(host_use use) noexcept {
        if (clock_.end_host_use(use.epoch)) settle();
    }

    /// Frees every block. Work of these queues, and of the queues of `used_on` and of earlier deallocations, may still
    /// use them.
    void reset(std::initializer_list<queue_id> queues) noexcept
        requires resettable<typename arena_type::strategy_type>
    {
        access::strategy(arena_).give_back(clock_.now(), users(queues));
        arena_.reset();
    }
    /// Returns a mark for `rollback`. Keep it in a variable of type `auto`.
    [[nodiscard]] auto mark() const noexcept
        requires markable<typename arena_type::strategy_type>
    {
        return arena_.mark();
    }
    /// Frees every block that was allocated since the mark, as `reset` does. Returns false and frees nothing if a
    /// hardened arena reports the mark.
    template <class Mark>
    bool rollback(Mark mark, std::initializer_list<queue_id> queues) noexcept
        requires markable<typename arena_type::strategy_type>
    {
        access::strategy(arena_).give_back(clock_.now(), users(queues));
        return arena_.rollback(mark);
    }

    /// Resizes a block in place for work on a queue and updates `held`. Returns false and changes nothing on failure.
    [[nodiscard]] bool resize(block_type& held, std::size_t size, queue_id queue) noexcept
        requires(waits != wait_policy::hand_out && resizable<typename arena_type::strategy_type>)
    {
        if (!clock_.is_row(queue.index)) return false;
        auto& strategy = access::strategy(arena_);
        const block_type before = held;
        strategy.give_back(clock_.now(), users(queue));
        strategy.ask(clock_.known(queue.index));
        strategy.permit(waits == wait_policy::insert ? clock_.waitable() : 0);
        const bool resized = arena_.resize(held, size);
        strategy.forbid();
        if (!resized) return false;
        if (strategy.taken_queues() == 0 || note(wait_for_all(queue.index)) == error_type{}) return true;
        strategy.give_back(clock_.now(), strategy.taken_queues() | users(queue));
        static_cast<void>(arena_.resize(held, before.size));
        return false;
    }

    /// Asks the driver which work is done. Returns true if some work was. Requests do this when they need it.
    bool poll() noexcept {
        const bool learned = clock_.poll();
        if (learned) settle();
        return learned;
    }
    /// Blocks the calling thread until the work with all freed blocks is done, except for uses by the host.
    error_type synchronize() noexcept {
        poll();
        access::strategy(arena_).collect(clock_.known(clock::host_row));
        const error_type error = wait_for_all(clock::host_row);
        settle();
        return error;
    }
    /// Treats all pending work as done, for a device that is lost: no work runs on it any more.
    void abandon() noexcept {
        clock_.forget_all();
        error_ = {};
        settle();
    }
    /// Removes a queue whose work no longer runs, without a call of the driver. Bytes that it used wait for the earlier
    /// work of the other queues. After the loss of a device, call `abandon()` first.
    void abandon(queue_id queue) noexcept {
        if (clock_.attached(queue.index) == 0) return;
        clock_.forget(queue.index);
        settle();
    }

    /// Returns the reason for which `allocate(wanted, queue)` would fail: `over_limit` for a queue that is not
    /// attached. After a failed call of the driver, the device counts as refusing the requests that need a wait, until
    /// one of them succeeds; with `wait_policy::never`, until the next one.
    [[nodiscard]] diagnosis diagnose(layout wanted, queue_id queue) const noexcept {
        diagnosis answer = arena_.diagnose(wanted);
        if (answer.reason != refusal::none) return answer;
        if (!clock_.is_row(queue.index)) return {refusal::over_limit, answer.largest_hole};
        const auto& strategy = arena_.strategy();
        if (strategy.diagnose(strategy_layout(wanted)).reason != refusal::none) return answer;  // the arena grows
        const bool has_failed = error_ != error_type{};
        const detail::queue_set waitable = waits == wait_policy::never || has_failed ? 0 : clock_.waitable();
        answer.reason = strategy.lacks_place(strategy_layout(wanted), clock_.known(queue.index), waitable);
        if (answer.reason != refusal::pending) return answer;
        if (access::can_grow_for(arena_, wanted)) answer.reason = refusal::none;
        else if (has_failed) return {refusal::device_refused, answer.largest_hole, static_cast<long>(error_)};
        return answer;
    }

    /// Releases every region without a live block and without pending uses. Returns the number of released bytes.
    std::size_t trim() noexcept
        requires trimmable_allocator<arena_type>
    {
        poll();
        settle();
        [[maybe_unused]] const auto permitted = clock::permission();
        return arena_.trim();
    }
    /// Returns the usable bytes of a block: at least its size.
    [[nodiscard]] std::size_t capacity(block_type held) const noexcept { return arena_.capacity(held); }
    /// Returns true if the block is inside a region of the arena.
    [[nodiscard]] bool owns(block_type held) const noexcept { return arena_.owns(held); }
    /// Returns the number of bytes in all regions.
    [[nodiscard]] std::size_t size() const noexcept { return arena_.size(); }
    /// Returns the arena, for reports and snapshots.
    [[nodiscard]] const arena_type& arena() const noexcept { return arena_; }
    /// Returns the driver's queues and points.
    [[nodiscard]] Timeline& timeline() noexcept { return clock_.timeline; }

private:
    explicit ordered(detail::no_timeline&);  // not defined, because its callers do not compile
    /// Returns the queues that may use a block which is freed on `queue`: all, if it is not attached.
    [[nodiscard]] ALLOT_INLINE detail::queue_set users(queue_id queue) const noexcept {
        if (const detail::queue_set one = clock_.attached(queue.index); one != 0) [[likely]]
            return one;
        return queue == host ? 0 : clock_.running();
    }
    [[nodiscard]] detail::queue_set users(std::initializer_list<queue_id> queues) const noexcept {
        detail::queue_set set = 0;
        for (const queue_id queue : queues) set |= users(queue);
        return set;
    }
    [[nodiscard]] static auto strategy_layout(layout wanted) noexcept {
        using offset = typename arena_type::strategy_type::offset_type;
        return layout_for<typename arena_type::strategy_type>{static_cast<offset>(wanted.size),
                                                              static_cast<offset>(wanted.align)};
    }
    void free_after(const block_type& held, detail::queue_set queues, detail::epoch until) noexcept {
        access::strategy(arena_).give_back(until, queues);
        arena_.deallocate(held);
    }
    template <class Handed>
    [[nodiscard]] block_type allocate_for(layout wanted, queue_id queue, Handed&& handed) noexcept {
        if (!clock_.is_row(queue.index)) [[unlikely]]
            return {};
        access::strategy(arena_).ask(clock_.known(queue.index));
        if constexpr (requires(block_type held) { arena_.check(held); })  // frees a block that it has no record for
            access::strategy(arena_).give_back(clock_.now(), clock::all);
        const block_type given = access::allocate_held(
            arena_, wanted, [](auto& strategy, auto asked) { return strategy.allocate_own(asked); });
        if (given) [[likely]]
            return given;
        return allocate_searched(wanted, queue.index, handed);
    }
    template <class Handed>
    [[nodiscard]] ALLOT_NOINLINE block_type allocate_searched(layout wanted, unsigned queue, Handed& handed) noexcept {
        const auto tight = [this](auto& strategy, auto asked) {
            return strategy.allocate_tight(asked, clock_.waitable(), !Options.less_memory);
        };
        if (const block_type given = allocate_held(wanted, tight)) return given;
        if (poll())
            if (const block_type given = allocate_held(wanted, tight)) return given;
        const auto known = [](auto& strategy, auto asked) { return strategy.allocate(asked); };
        const bool has_larger = arena_.strategy().taken_queues() != 0;
        if (has_larger && (waits == wait_policy::never || !Options.less_memory)) {
            cover_passed_over();
            if (const block_type given = allocate_held(wanted, known)) return given;
        }
        if constexpr (waits == wait_policy::never) {
            error_ = {};
            cover_all(queue);
            const block_type given = poll() ? allocate_held(wanted, known) : block_type{};
            return given ? given : allocate_grown(wanted);
        }
        block_type given{};
        if ((has_larger || !Options.grow_first) && wait_for_place(wanted, queue, handed))
            given = allocate_held(wanted, known);
        if (!given) given = allocate_grown(wanted);
        if (!given && !has_larger && Options.grow_first && wait_for_place(wanted, queue, handed))
            given = allocate_held(wanted, known);
        if (given) error_ = {};
        return given;
    }
};

}  // namespace v1
}  // namespace allot
