// Decodes tensor calls from bytes and compares them with an oracle that tracks the owner and the contents of each byte.
//
// `play` runs the decoded calls. It aborts with a message if a call returns another result than the oracle predicts, or
// if the bytes of a live tensor differ from the written ones. A libFuzzer target and an ordinary test use it.
#pragma once

#include "../error_of.hpp"

#include <allot/allot.hpp>
#include <allot/tensor.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <variant>
#include <vector>

namespace fuzz {

class tensor_calls {
    using arena = allot::arena<allot::host::heap, allot::best_fit<>>;
    using storage = allot::storage<arena>;
    using whole = allot::tensor_in<storage>;
    using in_rows = allot::discontiguous_tensor<storage, storage, allot::row_offset<std::uint16_t>>;
    using bytes = std::vector<unsigned char>;

    struct extent {
        std::size_t at, size;
    };
    /// A live tensor and its bytes. A view has bytes of its parent.
    struct life {
        std::variant<whole, in_rows> tensor;
        std::vector<extent> data;  // in the order of the elements
        std::vector<extent> table;
        std::size_t claim;              // tensors with the same number share bytes
        bool shares_last_byte = false;  // its last byte contains elements of another tensor: read it, do not write it
    };
    /// A storage and the owner of each of its bytes. 0: no owner.
    struct space {
        storage memory;
        std::vector<std::size_t> owner;
        [[nodiscard]] bool is_free(extent of) const {
            for (std::size_t i = of.at; i != of.at + of.size; ++i) {
                if (owner[i] != 0) return false;
            }
            return true;
        }
        /// Returns how often `size` bytes with the alignment `align` fit the free bytes together.
        [[nodiscard]] std::size_t places(std::size_t size, std::size_t align) const {
            std::size_t found = 0;
            for (std::size_t at = 0; at + size <= owner.size();) {
                const bool fits = is_free({at, size});
                found += fits;
                at += fits ? (size + align - 1) / align * align : align;
            }
            return found;
        }
    };

public:
    explicit tensor_calls(std::span<const unsigned char> input) : input_{input} {
        const std::size_t align = std::size_t{1} << below(7);
        data_ = {*allot::alloc_storage(memory_, data_bytes, align), std::vector<std::size_t>(data_bytes)};
        table_ = {*allot::alloc_storage(memory_, table_bytes, 2), std::vector<std::size_t>(table_bytes)};
        content_.assign(data_bytes, 0);
        std::memset(data_.memory.base(), 0, data_bytes);
    }

    void play() {
        while (!input_.empty()) {
            switch (below(8)) {
                case 0: place(); break;
                case 1: search(); break;
                case 2: place_rows(); break;
                case 3: search_rows(); break;
                case 4: kill(); break;
                case 5: write(); break;
                case 6: copy(); break;
                default: look_otherwise(); break;
            }
            check();
        }
        lives_.clear();
        expect(data_.memory.diagnose({data_bytes, 1}).reason == allot::refusal::none,
               "all of the data storage is free again");
        expect(table_.memory.diagnose({table_bytes, 1}).reason == allot::refusal::none,
               "all of the table storage is free again");
    }

private:
    static constexpr std::size_t data_bytes = 2048, table_bytes = 128;
    using reason = allot::tensor_refusal;

    [[nodiscard]] std::size_t below(std::size_t bound) {
        std::size_t value = 0;
        for (std::size_t most = bound - 1; most != 0; most >>= 8) {
            value = value << 8 | (input_.empty() ? 0U : input_.front());
            if (!input_.empty()) input_ = input_.subspan(1);
        }
        return value % bound;
    }
    static void expect(bool holds, const char* law) {
        if (holds) return;
        std::fprintf(stderr, "tensor calls: broken: %s\n", law);
        std::abort();
    }

    // ── random arguments ─────────────────────────────────────────────────────────────────────────────────────────

    [[nodiscard]] allot::dtype any_dtype() {
        constexpr allot::dtype all[] = {
            allot::uint8,  allot::int32, allot::uint4, allot::float16, {allot::dtype_code::integer, 3, 3},
            allot::dtype{}};
        return all[below(std::size(all))];
    }
    /// Returns an extent that is usually small and sometimes empty, negative or huge.
    [[nodiscard]] std::int64_t any_extent() {
        const std::size_t roll = below(64);
        if (roll == 63) return std::numeric_limits<std::int64_t>::max();
        if (roll == 62) return -1;
        return static_cast<std::int64_t>(roll % 24);
    }
    [[nodiscard]] std::int64_t any_offset(std::size_t size) {
        const std::size_t roll = below(32);
        if (roll == 31) return std::numeric_limits<std::int64_t>::max() - static_cast<std::int64_t>(below(16));
        if (roll == 30) return -static_cast<std::int64_t>(below(16)) - 1;
        const std::size_t at = below(size + 4);
        return static_cast<std::int64_t>(roll < 24 ? at / data_.memory.align() * data_.memory.align() : at);
    }

    /// Returns the expected result of placing bytes at an offset.
    [[nodiscard]] static reason foretell(const space& in, std::int64_t offset, std::size_t size, std::size_t align) {
        if (offset < 0) return reason::negative_offset;
        const auto at = static_cast<std::size_t>(offset);
        if (static_cast<std::uint64_t>(offset) > in.owner.size() || size > in.owner.size() - at)
            return reason::out_of_bounds;
        if (at % align != 0) return reason::misaligned;
        return in.is_free({at, size}) ? reason::none : reason::overlapping;
    }

    // ── calls ────────────────────────────────────────────────────────────────────────────────────────────────────

    void place() {
        const allot::dtype type = any_dtype();
        const allot::shape shape{any_extent(), any_extent()};
        const std::int64_t offset = any_offset(data_bytes);
        const auto size = allot::byte_count(shape, type);
        auto made = allot::alloc_tensor(data_.memory, offset, shape, type);
        const reason expected = size ? foretell(data_, offset, *size, data_.memory.align()) : size.error().reason;
        expect(error_of(made).reason == expected, "placing a tensor at an offset returns the expected error");
        if (!made) return;
        expect(*size == 0 || position(made->data()) == static_cast<std::size_t>(offset), "a tensor is at its offset");
        add(*std::move(made), *size);
    }

    void search() {
        const allot::dtype type = any_dtype();
        const allot::shape shape{any_extent(), any_extent()};
        const auto size = allot::byte_count(shape, type);
        auto made = allot::alloc_tensor(data_.memory, allot::anywhere, shape, type);
        reason expected = error_of(size).reason;
        if (size && *size != 0 && data_.places(*size, data_.memory.align()) == 0) expected = reason::no_memory;
        expect(error_of(made).reason == expected, "a search fails if and only if no hole fits");
        if (!made) return;
        expect(*size == 0 || position(made->data()) % data_.memory.align() == 0, "a found place is aligned");
        add(*std::move(made), *size);
    }

    void place_rows() {
        const allot::dtype type = any_dtype();
        const allot::shape shape{static_cast<std::int64_t>(below(6)), any_extent()};
        std::vector<std::int64_t> rows;
        const std::size_t count = below(16) == 0 ? below(6) : static_cast<std::size_t>(shape[0]);
        for (std::size_t row = 0; row != count; ++row) rows.push_back(any_offset(data_bytes));
        const std::int64_t table = any_offset(table_bytes);
        auto made = allot::alloc_discontiguous_tensor<allot::row_offset<std::uint16_t>>(
            table_.memory, table, data_.memory, rows, shape, type);
        reason expected = check_rows(shape, type);
        if (expected == reason::none && rows.size() != static_cast<std::size_t>(shape[0]))
            expected = reason::wrong_row_count;
        const std::size_t row_bytes = expected == reason::none ? *allot::byte_count({shape[1]}, type) : 0;
        const std::size_t live_rows = row_bytes == 0 ? 0 : rows.size();
        if (expected == reason::none) expected = partial(shape, type);
        if (expected == reason::none) expected = foretell(table_, table, live_rows * 2, 2);
        std::vector<std::size_t> owner = data_.owner;
        for (std::size_t row = 0; row != live_rows && expected == reason::none; ++row) {
            expected = foretell({data_.memory, owner}, rows[row], row_bytes, data_.memory.align());
            if (expected == reason::none)
                std::fill_n(owner.begin() + static_cast<std::ptrdiff_t>(rows[row]), row_bytes, 1);
        }
        expect(error_of(made).reason == expected, "placing rows at offsets returns the expected error");
        if (!made) return;
        for (std::size_t row = 0; row != live_rows; ++row)
            expect(position(made->row(row)) == static_cast<std::size_t>(rows[row]), "a row is at its offset");
        add(*std::move(made), row_bytes);
    }

    void search_rows() {
        const allot::dtype type = any_dtype();
        const allot::shape shape{static_cast<std::int64_t>(below(12)), any_extent()};
        auto made = allot::alloc_discontiguous_tensor<allot::row_offset<std::uint16_t>>(
            table_.memory, allot::anywhere, data_.memory, allot::anywhere, shape, type);
        reason expected = check_rows(shape, type);
        const std::size_t row_bytes = expected == reason::none ? *allot::byte_count({shape[1]}, type) : 0;
        const std::size_t live_rows = row_bytes == 0 ? 0 : static_cast<std::size_t>(shape[0]);
        if (expected == reason::none) expected = partial(shape, type);
        if (expected == reason::none && live_rows != 0 &&
            (table_.places(live_rows * 2, 2) == 0 || data_.places(row_bytes, data_.memory.align()) < live_rows))
            expected = reason::no_memory;
        expect(error_of(made).reason == expected, "a search for rows fails if and only if a row has no place");
        if (made) add(*std::move(made), row_bytes);
    }
    [[nodiscard]] static reason check_rows(const allot::shape& shape, allot::dtype type) {
        const auto all = allot::byte_count(shape, type);
        if (!all) return all.error().reason;
        return error_of(allot::byte_count({shape[1]}, type)).reason;
    }
    [[nodiscard]] static reason partial(const allot::shape& shape, allot::dtype type) {
        const auto bits = static_cast<std::size_t>(shape[1]) * type.element_bits();
        return shape[0] != 0 && bits % 8 != 0 ? reason::partial_bytes : reason::none;
    }

    void kill() {
        if (lives_.empty()) return;
        const std::size_t which = below(lives_.size());
        std::visit([](auto& tensor) { tensor.kill(); }, lives_[which].tensor);
        const std::size_t claim = lives_[which].claim;
        lives_.erase(lives_.begin() + static_cast<std::ptrdiff_t>(which));
        for (const life& each : lives_) {
            if (each.claim == claim) return;  // a view keeps the bytes alive
        }
        for (space* in : {&data_, &table_}) std::replace(in->owner.begin(), in->owner.end(), claim, std::size_t{0});
    }

    void write() {
        if (lives_.empty()) return;
        const life& chosen = lives_[below(lives_.size())];
        const auto seed = static_cast<unsigned char>(below(256));
        std::size_t n = 0;
        std::visit([&](const auto& tensor) { fill(tensor, seed, n, chosen.shares_last_byte); }, chosen.tensor);
        if (chosen.shares_last_byte) return;
        n = 0;
        for (const extent& each : chosen.data) {
            for (std::size_t i = 0; i != each.size; ++i)
                content_[each.at + i] = static_cast<unsigned char>(seed + 31 * n++);
        }
    }
    template <class Tensor>
    static void fill(const Tensor& tensor, unsigned char seed, std::size_t& n, bool shares_last_byte) {
        const auto done = allot::for_each_run(tensor, [&](void* at, std::size_t size) noexcept {
            for (std::size_t i = 0; i != size; ++i)
                static_cast<unsigned char*>(at)[i] = static_cast<unsigned char>(seed + 31 * n++);
        });
        expect(done.reason == (shares_last_byte ? reason::partial_bytes : reason::none),
               "a live tensor of whole bytes has runs");
    }

    void copy() {
        if (lives_.empty()) return;
        const life &from = lives_[below(lives_.size())], &to = lives_[below(lives_.size())];
        std::visit(
            [&](const auto& source, const auto& target) {
                const allot::tensor_error answer = error_of(allot::copy_tensor(source, target));
                reason expected = reason::none;
                if (source.dtype() != target.dtype()) expected = reason::dtype_mismatch;
                else if (source.size() != target.size()) expected = reason::shape_mismatch;
                else if (to.shares_last_byte) expected = reason::partial_bytes;
                else if (shares_some(from, to)) expected = reason::overlapping;
                expect(answer.reason == expected, "a copy returns the expected error");
                if (answer.reason != reason::none) return;
                bytes moved;
                for (const extent& each : from.data)
                    moved.insert(moved.end(), content_.begin() + static_cast<std::ptrdiff_t>(each.at),
                                 content_.begin() + static_cast<std::ptrdiff_t>(each.at + each.size));
                std::size_t n = 0;
                for (const extent& each : to.data) {
                    for (std::size_t i = 0; i != each.size; ++i) content_[each.at + i] = moved[n++];
                }
            },
            from.tensor, to.tensor);
    }
    /// Returns whether two tensors share bytes but differ in their list of bytes.
    [[nodiscard]] static bool shares_some(const life& from, const life& to) {
        std::vector<std::size_t> a, b;
        for (const auto& [life, list] : {std::pair{&from, &a}, std::pair{&to, &b}}) {
            for (const extent& each : life->data) {
                for (std::size_t i = 0; i != each.size; ++i) list->push_back(each.at + i);
            }
        }
        if (a == b) return false;
        std::sort(a.begin(), a.end());
        std::sort(b.begin(), b.end());
        std::vector<std::size_t> both;
        std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
        return !both.empty();
    }

    /// Returns the number of bits that elements use in the last byte.
    [[nodiscard]] static std::size_t bits_of_last_byte(allot::dtype type, std::size_t count) {
        const std::size_t over = count % 8 * (type.element_bits() % 8) % 8;
        return over == 0 ? 8 : over;
    }
    /// Returns whether elements of `type` are aligned at `skip`, or need no more alignment than the parent.
    [[nodiscard]] static bool suits(allot::dtype type, const whole& parent, std::size_t skip) {
        const auto lowest_bit = [](std::size_t bytes) { return bytes & (~bytes + 1); };
        if (!type.is_whole_bytes()) return true;
        const std::size_t align = lowest_bit(type.element_bytes());
        if (parent.dtype().is_whole_bytes() && align <= lowest_bit(parent.dtype().element_bytes())) return true;
        return (reinterpret_cast<std::uintptr_t>(parent.data()) + skip) % align == 0;
    }
    /// Creates a view or a slice of a random tensor.
    void look_otherwise() {
        if (lives_.empty()) return;
        const life& chosen = lives_[below(lives_.size())];
        const whole* const parent = std::get_if<whole>(&chosen.tensor);
        if (parent == nullptr || !parent->is_compact()) return;
        const std::size_t begin = parent->size_bytes() == 0 ? 0 : position(parent->data());
        life fresh{{}, {}, {}, chosen.claim};
        if (below(2) == 0) {
            const allot::dtype type = any_dtype();
            const allot::shape shape{any_extent()};
            const std::int64_t skip = any_offset(parent->size_bytes());
            const auto size = allot::byte_count(shape, type);
            const auto made = allot::view(*parent, type, shape, skip);
            reason expected = error_of(size).reason;
            if (size && skip < 0) expected = reason::negative_offset;
            else if (size && static_cast<std::uint64_t>(skip) + *size > parent->size_bytes())
                expected = reason::out_of_bounds;
            else if (size && type.is_whole_bytes() && static_cast<std::size_t>(skip) % type.element_bytes() != 0)
                expected = reason::misaligned;
            else if (size && *size != 0 && !suits(type, *parent, static_cast<std::size_t>(skip)))
                expected = reason::misaligned;
            expect(error_of(made).reason == expected, "a view returns the expected error");
            if (!made) return;
            if (*size != 0) {
                fresh.data.push_back({begin + static_cast<std::size_t>(skip), *size});
                const std::size_t bits = bits_of_last_byte(type, made->size());
                fresh.shares_last_byte =
                    static_cast<std::size_t>(skip) + *size == parent->size_bytes()
                        ? chosen.shares_last_byte || bits < bits_of_last_byte(parent->dtype(), parent->size())
                        : bits != 8;
            }
            fresh.tensor = *made;
        } else {
            allot::shape from = parent->shape(), size = parent->shape();
            bool inside = true, has_last = true;
            for (std::size_t axis = 0; axis != from.rank(); ++axis) {
                from[axis] = static_cast<std::int64_t>(below(26));
                size[axis] = static_cast<std::int64_t>(below(26));
                inside = inside && from[axis] + size[axis] <= parent->shape()[axis];
                has_last = has_last && from[axis] + size[axis] == parent->shape()[axis];
            }
            const auto made = allot::slice(*parent, from, size);
            if (!inside) return expect(error_of(made).reason == reason::out_of_bounds, "a slice stays inside");
            if (!made)
                return expect(made.error().reason == reason::partial_bytes,
                              "a slice inside the tensor fails only at partial bytes");
            const std::size_t bits = parent->dtype().element_bits();
            if (*allot::element_count(size) != 0 && !(bits % 8 == 0)) return;  // below, only whole bytes are written
            const std::size_t columns = parent->shape().rank() == 2 ? static_cast<std::size_t>(parent->shape()[1]) : 1;
            const bool is_matrix = parent->shape().rank() == 2;
            const std::int64_t rows = is_matrix ? size[0] : 1;
            for (std::int64_t row = 0; row < rows && *allot::element_count(size) != 0; ++row) {
                const std::size_t skip =
                    is_matrix ? static_cast<std::size_t>(from[0] + row) * columns + static_cast<std::size_t>(from[1])
                              : static_cast<std::size_t>(from[0]);
                const auto length = static_cast<std::size_t>(is_matrix ? size[1] : size[0]);
                fresh.data.push_back({begin + skip * bits / 8, length * bits / 8});
            }
            fresh.shares_last_byte = chosen.shares_last_byte && has_last && *allot::element_count(size) != 0;
            fresh.tensor = *made;
        }
        lives_.push_back(std::move(fresh));
    }

    // ── invariants ───────────────────────────────────────────────────────────────────────────────────────────────

    [[nodiscard]] std::size_t position(const void* address) const {
        return static_cast<std::size_t>(static_cast<const std::byte*>(address) -
                                        static_cast<const std::byte*>(data_.memory.base()));
    }
    void own(space& in, extent of, std::size_t claim) {
        expect(of.at <= in.owner.size() && of.size <= in.owner.size() - of.at, "a tensor is inside its storage");
        expect(in.is_free(of), "no byte belongs to two tensors");
        std::fill_n(in.owner.begin() + static_cast<std::ptrdiff_t>(of.at), of.size, claim);
    }
    void add(whole tensor, std::size_t size) {
        life fresh{{}, {}, {}, ++claims_};
        if (size != 0) fresh.data.push_back({position(tensor.data()), size});
        for (const extent& each : fresh.data) own(data_, each, claims_);
        fresh.tensor = std::move(tensor);
        lives_.push_back(std::move(fresh));
    }
    void add(in_rows tensor, std::size_t row_bytes) {
        life fresh{{}, {}, {}, ++claims_};
        for (std::size_t row = 0; row != tensor.rows(); ++row)
            fresh.data.push_back({position(tensor.row(row)), row_bytes});
        if (tensor.rows() != 0) {
            const auto* const first = reinterpret_cast<const std::byte*>(tensor.table().entries);
            fresh.table.push_back(
                {static_cast<std::size_t>(first - static_cast<const std::byte*>(table_.memory.base())),
                 tensor.rows() * 2});
        }
        for (const extent& each : fresh.data) own(data_, each, claims_);
        for (const extent& each : fresh.table) own(table_, each, claims_);
        fresh.tensor = std::move(tensor);
        lives_.push_back(std::move(fresh));
    }
    void check() const {
        const auto* const actual = static_cast<const unsigned char*>(data_.memory.base());
        for (const life& each : lives_) {
            for (const extent& of : each.data)
                expect(std::memcmp(actual + of.at, content_.data() + of.at, of.size) == 0,
                       "live bytes have the written contents");
        }
    }

    std::span<const unsigned char> input_;
    arena memory_{{}, 16384};
    space data_, table_;
    bytes content_;
    std::vector<life> lives_;
    std::size_t claims_ = 0;
};

}  // namespace fuzz
