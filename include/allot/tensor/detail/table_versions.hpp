// SPDX-License-Identifier: BSL-1.0
// table_versions: the versions of a device table: which entries of each are out of date, and which work uses each.
#pragma once

#include <allot/core/timeline.hpp>
#include <allot/tensor/copy.hpp>

#include <bit>
#include <memory>
#include <new>

namespace allot {
inline namespace v1 {
namespace detail {

/// A set of numbers below a bound, one bit each.
class entry_set {
public:
    [[nodiscard]] bool reserve(std::size_t bound) noexcept {
        bound_ = bound;
        words_.reset(new (std::nothrow) std::uint64_t[(bound + 63) / 64]{});
        return words_ != nullptr;
    }
    void insert(std::size_t at) noexcept { words_[at / 64] |= std::uint64_t{1} << at % 64; }
    void fill() noexcept {
        for (std::size_t at = 0; at != bound_; ++at) insert(at);
    }
    void clear() noexcept { std::fill_n(words_.get(), (bound_ + 63) / 64, std::uint64_t{0}); }

    /// Calls `use(first, count)` for each run of numbers. Runs with at most `joined` numbers between them are one.
    /// Stops when `use` returns an error, and returns it.
    template <class Use>
    [[nodiscard]] tensor_error for_each_run(std::size_t joined, Use&& use) const noexcept {
        for (std::size_t first = next(0, true); first != bound_;) {
            std::size_t end = next(first, false), after = next(end, true);
            for (; after != bound_ && after - end <= joined; after = next(end, true)) end = next(after, false);
            if (const tensor_error error = use(first, end - first); error.reason != tensor_refusal::none) return error;
            first = after;
        }
        return {};
    }

private:
    /// Returns the first number from `from` on that is in the set, or is not, or the bound.
    [[nodiscard]] std::size_t next(std::size_t from, bool is_in) const noexcept {
        for (std::size_t at = from; at < bound_; at = (at / 64 + 1) * 64) {
            const std::uint64_t word = (is_in ? words_[at / 64] : ~words_[at / 64]) >> at % 64;
            if (word != 0) return std::min(at + static_cast<std::size_t>(std::countr_zero(word)), bound_);
        }
        return bound_;
    }

    std::unique_ptr<std::uint64_t[]> words_;
    std::size_t bound_ = 0;
};

/// A version: its memory, the entries that differ from the host's, and the queues whose work uses it.
template <class Block, class Staged, class Timeline, std::size_t Queues>
struct table_copy {
    using queue_type = typename Timeline::queue_type;
    struct use {
        queue_type queue{};
        typename Timeline::point_type until{};  // of all work that uses the version, if `is_over`
        bool is_over = false;                   // no later work uses the version
        bool is_detached = false;
    };

    Block block{};
    Staged staging{};
    entry_set changed;
    use uses[Queues]{};
    std::size_t users = 0;
    typename Timeline::point_type uploaded{};  // on the first queue, if `is_known`
    bool is_known = false;
    std::uint64_t number = 0;
};

template <class Value, class Memory, class Timeline, class Staging, auto Options>
class table_versions {
    using memory_type = std::remove_reference_t<Memory>;
    using staging_type = std::remove_reference_t<Staging>;
    using line_type = std::remove_reference_t<Timeline>;
    using error_type = typename line_type::error_type;
    using queue_type = typename line_type::queue_type;
    using copy_type = table_copy<block_of<Memory>, block_of<Staging>, line_type, Options.queues>;

    struct host_entries {  // the traits of their memory
        using address_model = raw_pointer;
        static constexpr bool host_accessible = true;
        static constexpr dl_device_type dl_device = dl_device_type::cpu;
    };

public:
    table_versions(Memory&& memory, Timeline&& line, Staging&& staging, std::size_t entries, std::size_t align) noexcept
        : memory_(std::forward<Memory>(memory)),
          line_(std::forward<Timeline>(line)),
          staging_(std::forward<Staging>(staging)),
          size_{entries},
          align_{align} {}
    table_versions(const table_versions&) = delete;
    table_versions& operator=(const table_versions&) = delete;
    ~table_versions() {
        for (std::size_t i = 0; i != count_; ++i) {
            copy_type& each = copies_[i];
            static_cast<void>(end_uses(each));
            static_cast<void>(wait(each));  // an error means that the device is lost: it runs nothing
            forget(each);
            memory_.deallocate(each.block);
            staging_.deallocate(each.staging);
        }
    }

    [[nodiscard]] tensor_error start() noexcept {
        entries_.reset(new (std::nothrow) Value[size_]{});
        return entries_ == nullptr ? tensor_error{tensor_refusal::no_host_memory} : add();
    }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] const Value* entries() const noexcept { return entries_.get(); }
    [[nodiscard]] std::size_t count() const noexcept { return count_; }

    void set(std::size_t at, const Value& value) noexcept {
        if (entries_[at] == value) return;
        entries_[at] = value;
        has_changes_ = true;
        for (std::size_t i = 0; i != count_; ++i) copies_[i].changed.insert(at);
    }

    /// The version of a queue, and the number of entries that were copied to it.
    struct published {
        const copy_type* version = nullptr;
        std::size_t uploaded = 0;
    };

    /// Returns the version with the host's entries for work on the queue.
    template <class... Ways>
    [[nodiscard]] tensor_result<published> publish(queue_type queue, Ways&... ways) noexcept {
        if (!has_changes_) return share(*last_, queue);
        const auto made = replace(queue, ways...);
        if (!made && last_ != nullptr) reopen(*last_);
        return made;
    }

    /// Records the point after which no work of the queue uses a version.
    [[nodiscard]] error_type detach(queue_type queue) noexcept {
        for (std::size_t i = 0; i != count_; ++i) {
            copy_type& each = copies_[i];
            for (std::size_t at = 0; at != each.users; ++at) {
                if (each.uses[at].queue != queue || each.uses[at].is_over) continue;
                if (at == 0)
                    if (const error_type error = know_upload(each); error != error_type{}) return error;
                if (const error_type error = end_use(each.uses[at]); error != error_type{}) return error;
                each.uses[at].is_detached = true;
            }
        }
        return {};
    }

private:
    [[nodiscard]] static tensor_error refused(error_type error) noexcept {
        if (error == error_type{}) return {};
        return {tensor_refusal::copy_failed, no_row, {refusal::device_refused, 0, static_cast<long>(error)}};
    }

    [[nodiscard]] tensor_error add() noexcept {
        copy_type& fresh = copies_[count_];
        const layout wanted{size_ * sizeof(Value), align_};
        if (!fresh.changed.reserve(size_)) return {tensor_refusal::no_host_memory};
        fresh.staging = staging_.allocate({wanted.size, alignof(Value)});
        if (!fresh.staging)
            return {tensor_refusal::no_memory, no_row, staging_.diagnose({wanted.size, alignof(Value)})};
        fresh.block = memory_.allocate(wanted);
        if (!fresh.block) {
            staging_.deallocate(std::exchange(fresh.staging, {}));
            return {tensor_refusal::no_memory, no_row, memory_.diagnose(wanted)};
        }
        fresh.changed.fill();
        ++count_;
        return {};
    }

    /// Copies the changed entries to a version that no work uses, which becomes the last one.
    template <class... Ways>
    [[nodiscard]] tensor_result<published> replace(queue_type queue, Ways&... ways) noexcept {
        using answer = tensor_result<published>;
        if (last_ != nullptr)
            if (const error_type error = end_uses(*last_); error != error_type{})
                return answer::failure(refused(error));
        const auto target = find_free();
        if (!target) return answer::failure(target.error());
        copy_type& to = **target;
        forget(to);
        to.uses[0] = {queue};  // also if a copy fails: the queue may still read the staging memory
        to.users = 1;
        std::size_t uploaded = 0;
        tensor_error error = to.changed.for_each_run(Options.joined, [&](std::size_t first, std::size_t some) noexcept {
            uploaded += some;
            return upload(to, first * sizeof(Value), some * sizeof(Value), entries_.get() + first, ways...);
        });
        if (error.reason == tensor_refusal::none && !line_.in_order(queue)) error = refused(line_.barrier(queue));
        if (error.reason != tensor_refusal::none) return answer::failure(error);
        to.changed.clear();
        to.number = last_ == nullptr ? 1 : last_->number + 1;
        last_ = &to;
        has_changes_ = false;
        return published{&to, uploaded};
    }
    template <class... Ways>
    [[nodiscard]] tensor_error upload(copy_type& to, std::size_t at, std::size_t bytes, Value* from,
                                      Ways&... ways) noexcept {
        const auto staging = staging_type::address_model::locate(to.staging.address, at);
        const auto target = memory_type::address_model::locate(to.block.address, at);
        host_copy host;
        copied step{copy_path::host};
        if constexpr (host_memory<staging_type>) std::memcpy(staging, from, bytes);
        else step = copy_by_first<host_entries, staging_type>(from, staging, bytes, ways...);
        if (step && *step != copy_path::none)
            step = copy_by_first<staging_type, memory_type>(staging, target, bytes, ways..., host);
        if (!step) return {tensor_refusal::copy_failed, no_row, {refusal::device_refused, 0, step.error()}};
        return *step == copy_path::none ? tensor_error{tensor_refusal::no_way} : tensor_error{};
    }

    /// Lets another queue use the last version, after the upload.
    [[nodiscard]] tensor_result<published> share(copy_type& last, queue_type queue) noexcept {
        using answer = tensor_result<published>;
        for (std::size_t i = 0; i != last.users; ++i)
            if (last.uses[i].queue == queue && !last.uses[i].is_over) return published{&last, 0};
        forget_passed(last);
        if (last.users == Options.queues)
            return answer::failure({tensor_refusal::no_memory, no_row, {refusal::over_limit}});
        error_type error = know_upload(last);
        if (error == error_type{}) error = line_.wait(queue, last.uploaded);
        if (error != error_type{}) return answer::failure(refused(error));
        last.uses[last.users++] = {queue};
        return published{&last, 0};
    }
    [[nodiscard]] error_type know_upload(copy_type& of) noexcept {
        if (of.is_known) return {};
        const error_type error = line_.record(of.uses[0].queue, of.uploaded);
        of.is_known = error == error_type{};
        return error;
    }

    [[nodiscard]] error_type end_use(typename copy_type::use& of) noexcept {
        const error_type error = line_.record(of.queue, of.until);
        of.is_over = error == error_type{};
        return error;
    }
    /// Records the points after which no work uses the version.
    [[nodiscard]] error_type end_uses(copy_type& of) noexcept {
        for (std::size_t i = 0; i != of.users; ++i)
            if (!of.uses[i].is_over)
                if (const error_type error = end_use(of.uses[i]); error != error_type{}) return error;
        return {};
    }
    /// Expects more work with the version, because no other one replaces it.
    void reopen(copy_type& of) noexcept {
        for (std::size_t i = 0; i != of.users; ++i) of.uses[i].is_over = of.uses[i].is_detached;
    }
    /// Drops the uses whose work is done.
    void forget_passed(copy_type& of) noexcept {
        for (std::size_t i = of.users; i-- != 0;) {
            if (!of.uses[i].is_over || line_.state(of.uses[i].until) != point_state::passed) continue;
            line_.release(of.uses[i].until);
            std::swap(of.uses[i], of.uses[--of.users]);
        }
    }
    [[nodiscard]] error_type wait(copy_type& of) noexcept {
        for (std::size_t i = 0; i != of.users; ++i)
            if (const error_type error = line_.wait_on_host(of.uses[i].until); error != error_type{}) return error;
        return {};
    }
    void forget(copy_type& of) noexcept {
        while (of.users != 0) line_.release(of.uses[--of.users].until);
        line_.release(of.uploaded);
        of.is_known = false;
    }

    /// Returns a version that no work uses: of several, the one with the fewest changes.
    [[nodiscard]] tensor_result<copy_type*> find_free() noexcept {
        using answer = tensor_result<copy_type*>;
        copy_type *newest = nullptr, *oldest = nullptr;
        for (std::size_t i = 0; i != count_; ++i) {
            copy_type& each = copies_[i];
            if (&each == last_) continue;
            if (const error_type error = end_uses(each); error != error_type{}) return answer::failure(refused(error));
            forget_passed(each);
            if (oldest == nullptr || each.number < oldest->number) oldest = &each;
            if (each.users == 0 && (newest == nullptr || each.number > newest->number)) newest = &each;
        }
        if (newest != nullptr) return newest;
        if (count_ != Options.versions) {
            const tensor_error error = add();
            if (error.reason == tensor_refusal::none) return &copies_[count_ - 1];
            if (oldest == nullptr) return answer::failure(error);
        }
        if (!Options.waits) return answer::failure({tensor_refusal::no_memory, no_row, {refusal::pending}});
        if (const error_type error = wait(*oldest); error != error_type{}) return answer::failure(refused(error));
        return oldest;
    }

    Memory memory_;
    Timeline line_;
    Staging staging_;
    std::size_t size_, align_, count_ = 0;
    std::unique_ptr<Value[]> entries_;
    copy_type copies_[Options.versions]{};
    copy_type* last_ = nullptr;
    bool has_changes_ = true;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
