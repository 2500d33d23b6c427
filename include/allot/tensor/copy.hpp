// copy_tensor: the elements of one tensor to another, contiguous or discontiguous, whole or a slice.
//
//     auto copied = allot::copy_tensor(from, to);                                    // memory that the host can touch
//     auto queued = allot::copy_tensor(from, to, [&](auto source, auto target, std::size_t bytes) noexcept -> long {
//         return …;                                                                  // the device's code, 0 for success
//     });
//
//     from   │ row 0 │ row 1 │      │ row 2 │        runs: rows that lie side by side are one, and a run ends where it
//     to     │     row 0, row 1     │ row 2 │        ends on either side
//
// Elements are taken in row-major order, so that the two may have different shapes of the same elements. Both have the
// same dtype, the same number of elements and no byte in common; that is checked first, and only a device's own failure
// can leave a copy half done. A copy onto itself is fine and does nothing.
//
// Complexity: O(runs); O(runs²) comparisons for two tensors that may share bytes, which two live tensors of a storage with
// a placement never do. Memory: none. Thread safety: none.
#pragma once

#include <allot/tensor/discontiguous.hpp>

#include <algorithm>
#include <cstring>

namespace allot::inline v1 {

/// Bytes that lie side by side.
template <class Address>
struct run {
    Address address{};
    std::size_t size = 0;
};

namespace detail {

/// The runs of a tensor, in row-major order of its elements. Precondition: whole bytes between them.
template <class Claim>
class tensor_runs {
    using model = typename tensor<Claim>::address_model;

public:
    using run_type = run<typename tensor<Claim>::address_type>;

    explicit tensor_runs(const tensor<Claim>& of) noexcept : of_{&of}, left_{of.size_bytes()} {
        // The axes from `outer_` on lie side by side.
        outer_ = of.is_compact() ? 0 : of.shape().rank();
        std::int64_t elements = 1;
        if (outer_ == 0) {
            run_bytes_ = left_;
            return;
        }
        while (outer_ != 0 && (of.shape()[outer_ - 1] == 1 || of.strides()[outer_ - 1] == elements))
            elements *= of.shape()[--outer_];
        run_bytes_ = static_cast<std::size_t>(elements) * of.dtype().element_bits() / 8;
    }
    /// The next run; of no bytes at the end.
    [[nodiscard]] run_type next() noexcept {
        if (left_ == 0) return {};
        left_ -= run_bytes_;
        const run_type here{model::locate(of_->address(), skipped_ * of_->dtype().element_bits() / 8), run_bytes_};
        for (std::size_t axis = outer_; axis-- != 0;) {
            const auto step = static_cast<std::size_t>(of_->strides()[axis]);
            skipped_ += step;
            if (++at_[axis] != of_->shape()[axis]) break;
            skipped_ -= step * static_cast<std::size_t>(at_[axis]);
            at_[axis] = 0;
        }
        return here;
    }

private:
    const tensor<Claim>* of_;
    std::int64_t at_[max_rank]{};
    std::size_t outer_ = 0, run_bytes_ = 0, skipped_ = 0, left_;
};

template <class Tensor>
class row_runs {
    using model = typename Tensor::address_model;

public:
    using run_type = run<typename Tensor::address_type>;

    explicit row_runs(const Tensor& of) noexcept : of_{&of} {}
    [[nodiscard]] run_type next() noexcept {
        if (row_ == of_->rows()) return {};
        run_type here{of_->row(row_++), of_->row_bytes()};
        while (row_ != of_->rows() && of_->row(row_) == model::locate(here.address, here.size)) {
            here.size += of_->row_bytes();
            ++row_;
        }
        return here;
    }

private:
    const Tensor* of_;
    std::size_t row_ = 0;
};

template <class Claim>
[[nodiscard]] tensor_runs<Claim> runs_of(const tensor<Claim>& of) noexcept {
    return tensor_runs<Claim>{of};
}
template <class Table, class Data, class Entry>
[[nodiscard]] auto runs_of(const discontiguous_tensor<Table, Data, Entry>& of) noexcept {
    return row_runs<discontiguous_tensor<Table, Data, Entry>>{of};
}

/// Whether its elements lie at bytes of their own, and each once.
template <class Claim>
[[nodiscard]] tensor_refusal check_runs(const tensor<Claim>& of, bool written) noexcept {
    if (of.is_compact()) return tensor_refusal::none;
    if (!of.dtype().is_whole_bytes()) return tensor_refusal::partial_bytes;
    for (std::size_t axis = 0; written && axis != of.shape().rank(); ++axis) {
        if (of.shape()[axis] > 1 && of.strides()[axis] == 0) return tensor_refusal::bad_strides;
    }
    return tensor_refusal::none;
}
template <class Table, class Data, class Entry>
[[nodiscard]] tensor_refusal check_runs(const discontiguous_tensor<Table, Data, Entry>&, bool) noexcept {
    return tensor_refusal::none;
}

/// Calls `use(from, to, bytes)` for runs that are whole on both sides, until it gives something other than 0.
template <class From, class To, class Use>
long for_each_run(const From& from, const To& to, Use&& use) noexcept {
    auto sources = runs_of(from);
    auto targets = runs_of(to);
    auto source = sources.next();
    auto target = targets.next();
    while (source.size != 0 && target.size != 0) {
        const std::size_t bytes = std::min(source.size, target.size);
        if (const long code = use(source.address, target.address, bytes); code != 0) return code;
        const auto advance = [bytes](auto& at, auto& all, auto model) {
            at.size -= bytes;
            if (at.size == 0) at = all.next();
            else at.address = decltype(model)::locate(at.address, bytes);
        };
        advance(source, sources, typename From::address_model{});
        advance(target, targets, typename To::address_model{});
    }
    return 0;
}

template <class Model>
[[nodiscard]] constexpr bool overlaps(run<typename Model::address> a, run<typename Model::address> b) noexcept {
    const std::size_t from_a = Model::position(a.address), from_b = Model::position(b.address);
    const bool behind = from_b >= from_a;
    const std::size_t distance = behind ? from_b - from_a : from_a - from_b;
    // The same position beside another handle is another byte.
    const bool same_memory = behind ? Model::locate(a.address, distance) == b.address
                                    : Model::locate(b.address, distance) == a.address;
    return same_memory && distance < (behind ? a.size : b.size);
}

enum class sharing : unsigned char { nothing, everything, something };

/// Whether two tensors share bytes; `everything` when a copy would move each element onto itself.
template <class From, class To>
[[nodiscard]] sharing shared_bytes(const From& from, const To& to) noexcept {
    if constexpr (!std::same_as<typename From::address_model, typename To::address_model>) {
        return sharing::nothing;
    } else {
        using model = typename From::address_model;
        using from_claim = std::remove_cvref_t<decltype(from.claim())>;
        using to_claim = std::remove_cvref_t<decltype(to.claim())>;
        if constexpr (from_claim::is_exclusive && to_claim::is_exclusive) {
            const void *const mine = from.claim().identity(), *const other = to.claim().identity();
            if (mine != other && from.claim().body() == static_cast<const void*>(to.claim().body()))
                return sharing::nothing;
        }
        const long moved = for_each_run(from, to, [](auto a, auto b, std::size_t) -> long { return a == b ? 0 : 1; });
        if (moved == 0) return sharing::everything;
        auto sources = runs_of(from);
        for (auto source = sources.next(); source.size != 0; source = sources.next()) {
            auto targets = runs_of(to);
            for (auto target = targets.next(); target.size != 0; target = targets.next()) {
                if (overlaps<model>(source, target)) return sharing::something;
            }
        }
        return sharing::nothing;
    }
}

}  // namespace detail

/// Copies elements by `copy(from, to, bytes)`, which is noexcept and gives the device's code, 0 for success. The answer
/// has the code of the first that failed in `memory.device_error`.
template <class From, class To, class Copy>
[[nodiscard]] tensor_error copy_tensor(const From& from, const To& to, Copy&& copy) noexcept {
    if (!from || !to) return {tensor_refusal::killed};
    if (from.dtype() != to.dtype()) return {tensor_refusal::dtype_mismatch};
    if (from.size() != to.size()) return {tensor_refusal::shape_mismatch};
    if (const tensor_refusal why = detail::check_runs(from, false); why != tensor_refusal::none) return {why};
    if (const tensor_refusal why = detail::check_runs(to, true); why != tensor_refusal::none) return {why};
    const detail::sharing shared = detail::shared_bytes(from, to);
    if (shared == detail::sharing::something) return {tensor_refusal::overlapping};
    if (shared == detail::sharing::everything) return {};
    const long code = detail::for_each_run(from, to, copy);
    if (code != 0) return {tensor_refusal::copy_failed, 0, {refusal::device_refused, 0, code}};
    return {};
}

/// Copies elements in memory that the host can touch.
template <class From, class To>
[[nodiscard]] tensor_error copy_tensor(const From& from, const To& to) noexcept {
    static_assert(From::host_accessible && To::host_accessible && std::same_as<typename From::address_model, raw_pointer> &&
                      std::same_as<typename To::address_model, raw_pointer>,
                  "allot: the host cannot touch this memory: give copy_tensor a function that copies a run on the device");
    return copy_tensor(from, to, [](const void* source, void* target, std::size_t bytes) noexcept -> long {
        std::memcpy(target, source, bytes);
        return 0;
    });
}

}  // namespace allot::inline v1
