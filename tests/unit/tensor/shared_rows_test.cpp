// shared_rows and fork: several tensors name one row; counts, forks and copies on write, compared with a model.
#include <allot/allot.hpp>
#include <allot/tensor.hpp>

#include "../../error_of.hpp"
#include "../../laws/devices.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace {

using allot::anywhere;
using allot::int32;
using allot::tensor_refusal;

using heap_arena = allot::arena<allot::host::heap, allot::best_fit<>>;
using growing_arena = allot::arena<allot::host::heap, allot::best_fit<>, allot::growth::geometric<>>;
using heap_storage = allot::storage<heap_arena>;
using handles = laws::handles<laws::handle_options{}>;
using handle_arena = allot::arena<handles, allot::best_fit<>>;

/// A data storage for 16 rows of 100 bytes, and its tables.
struct one_storage {
    heap_arena memory{{}, 65536};
    heap_storage tables = *allot::alloc_storage(memory, 8192);
    heap_storage data = *allot::alloc_storage(memory, 16 * 128, 128);
    allot::shared_rows<heap_storage, allot::detail::lease_on<heap_storage, 1>> rows =
        *allot::share_rows(data, tables, 40);

    auto alloc(std::int64_t count) {
        return allot::alloc_discontiguous_tensor(tables, anywhere, rows, anywhere, {count, 25}, int32);
    }
    [[nodiscard]] bool is_free() const { return data.diagnose({16 * 128, 128}).reason == allot::refusal::none; }
};

template <class Tensor>
void fill(const Tensor& of, int first) {
    for (std::size_t row = 0; row != of.rows(); ++row)
        for (int i = 0; i != 25; ++i) static_cast<int*>(of.row(row))[i] = first + static_cast<int>(row) * 25 + i;
}
template <class Tensor>
int first_of(const Tensor& of, std::size_t row) {
    return *static_cast<const int*>(of.row(row));
}

}  // namespace

TEST_CASE("shared_rows: a fork names the same rows, and a write copies one row") {
    one_storage it;
    auto a = *it.alloc(4);
    fill(a, 0);
    auto b = *allot::fork(a);
    CHECK(b.table().entries != a.table().entries);
    CHECK(b.shape() == a.shape());
    CHECK(b.dtype() == int32);
    for (std::size_t row = 0; row != 4; ++row) {
        CHECK(b.row(row) == a.row(row));
        CHECK(allot::row_references(a, row) == 2);
    }
    const auto to = allot::write(b, 2);
    REQUIRE(to);
    CHECK(*to == b.row(2));
    CHECK(b.row(2) != a.row(2));
    CHECK(std::memcmp(b.row(2), a.row(2), 100) == 0);
    CHECK(allot::row_references(a, 2) == 1);
    CHECK(allot::row_references(b, 2) == 1);
    CHECK(allot::row_references(b, 3) == 2);
    static_cast<int*>(*to)[0] = -1;
    CHECK(first_of(a, 2) == 50);
    CHECK(*allot::write(b, 2) == *to);  // the row has one owner now
    CHECK(*allot::write(a, 2) == a.row(2));
    b.kill();
    CHECK(allot::row_references(a, 0) == 1);
    a.kill();
    CHECK(it.is_free());
}

TEST_CASE("shared_rows: copies of a handle are the same tensor, and see its writes") {
    one_storage it;
    auto a = *it.alloc(2);
    auto same = a;
    const auto b = *allot::fork(a);
    CHECK(allot::row_references(a, 1) == 2);
    REQUIRE(allot::write(a, 1));
    CHECK(same.row(1) == a.row(1));
    CHECK(b.row(1) != a.row(1));
    a.kill();
    CHECK(allot::row_references(same, 1) == 1);
    same.kill();
    CHECK(allot::row_references(b, 0) == 1);
}

TEST_CASE("fork_prefix: names the first rows, and has new rows after them") {
    one_storage it;
    auto a = *it.alloc(4);
    fill(a, 0);
    const auto longer = allot::fork_prefix(a, 6);
    REQUIRE(longer);
    CHECK(longer->shape() == allot::shape{6, 25});
    CHECK(longer->logical_shape() == allot::shape{6, 25});
    CHECK(longer->rows() == 6);
    for (std::size_t row = 0; row != 6; ++row) CHECK(allot::row_references(*longer, row) == (row < 4 ? 2 : 1));
    CHECK(longer->row(3) == a.row(3));
    std::memset(longer->row(5), 1, 100);
    const auto shorter = allot::fork_prefix(*longer, 2);
    REQUIRE(shorter);
    CHECK(shorter->rows() == 2);
    CHECK(allot::row_references(a, 1) == 3);
    CHECK(allot::row_references(a, 2) == 2);
    CHECK(allot::fork_prefix(a, 0)->rows() == 0);

    CHECK(error_of(allot::fork_prefix(a, -1)).reason == tensor_refusal::bad_shape);
    CHECK(error_of(allot::fork_prefix(a, std::numeric_limits<std::int64_t>::max())).reason ==
          tensor_refusal::too_large);
    const auto full = allot::fork_prefix(a, 15);  // 4 + 2 rows are in use, and 10 are free
    CHECK(error_of(full).reason == tensor_refusal::no_memory);
    CHECK(error_of(full).row == 14);
    CHECK(allot::row_references(a, 1) == 3);
    CHECK(allot::fork_prefix(a, 14));
    a.kill();
    CHECK(error_of(allot::fork_prefix(a, 1)).reason == tensor_refusal::killed);
}

TEST_CASE("fork_prefix: the first number of a logical shape changes with the rows") {
    one_storage it;
    const auto a = *allot::alloc_discontiguous_tensor(it.tables, anywhere, it.rows, anywhere, {4, 25}, int32,
                                                      {2, 2, 5, 5}, allot::axis_separators{2});
    const auto longer = allot::fork_prefix(a, 6);
    REQUIRE(longer);
    CHECK(longer->logical_shape() == allot::shape{3, 2, 5, 5});
    CHECK(error_of(allot::fork_prefix(a, 5)).reason == tensor_refusal::shape_mismatch);
    const auto three_axes =
        *allot::alloc_discontiguous_tensor(it.tables, anywhere, it.rows, anywhere, {1, 3, 25}, int32);
    const auto two = allot::fork_prefix(three_axes, 2);
    REQUIRE(two);
    CHECK(two->rows() == 6);
    CHECK(two->row(2) == three_axes.row(2));
    CHECK(allot::row_references(*two, 3) == 1);
    CHECK(allot::fork(a)->logical_shape() == a.logical_shape());
}

TEST_CASE("shared_rows: tensors name rows by offset, and rows of other sizes overlap") {
    one_storage it;
    const auto at = [&](allot::row_offsets offsets, std::int64_t elements) {
        return allot::alloc_discontiguous_tensor(it.tables, anywhere, it.rows, offsets,
                                                 {static_cast<std::int64_t>(offsets.size()), elements}, int32);
    };
    const auto a = *at({256, 0, 1024}, 25);
    auto b = *at({0, 1920, 1024}, 25);
    CHECK(allot::row_references(a, 0) == 1);
    CHECK(allot::row_references(a, 1) == 2);
    CHECK(allot::row_references(b, 2) == 2);
    CHECK(b.row(0) == a.row(1));
    auto twice = *at({256, 256}, 25);
    CHECK(allot::row_references(a, 0) == 3);
    REQUIRE(allot::write(twice, 1));
    CHECK(twice.row(0) == a.row(0));
    CHECK(twice.row(1) != a.row(0));

    const auto other_size = at({1792, 0}, 24);
    CHECK(error_of(other_size).reason == tensor_refusal::overlapping);
    CHECK(error_of(other_size).row == 1);
    CHECK(error_of(at({-128, 0}, 25)).reason == tensor_refusal::negative_offset);
    CHECK(error_of(at({0, 2048}, 25)).reason == tensor_refusal::out_of_bounds);
    CHECK(error_of(at({0, 64}, 25)).reason == tensor_refusal::misaligned);
    CHECK(allot::row_references(a, 1) == 2);  // failures drop their references
    auto in_data = allot::alloc_tensor(it.data, 0, {25}, int32);
    CHECK(error_of(in_data).reason == tensor_refusal::overlapping);  // the storage itself shares nothing
    b.kill();
    CHECK(allot::row_references(a, 1) == 1);
}

TEST_CASE("shared_rows: copy_tensor reads shared rows and does not write them") {
    one_storage it;
    auto a = *it.alloc(3);
    fill(a, 0);
    auto b = *allot::fork(a);
    auto c = *it.alloc(3);
    fill(c, 1000);
    CHECK(error_of(allot::copy_tensor(c, b)).reason == tensor_refusal::shared_row);
    CHECK(first_of(a, 0) == 0);
    REQUIRE(allot::copy_tensor(a, c));
    CHECK(first_of(c, 2) == 50);
    for (std::size_t row = 0; row != 3; ++row) REQUIRE(allot::write(b, row));
    fill(c, 1000);
    REQUIRE(allot::copy_tensor(c, b));
    CHECK(first_of(b, 2) == 1050);
    CHECK(first_of(a, 2) == 50);
}

TEST_CASE("shared_rows: a failed write or fork changes nothing") {
    one_storage it;
    auto a = *it.alloc(15);
    auto b = *allot::fork(a);
    CHECK(error_of(allot::write(b, 15)).reason == tensor_refusal::out_of_bounds);
    const auto broken = [](const void*, void*, std::size_t) -> long { return 42; };
    const auto failed = allot::write(b, 0, broken);
    CHECK(error_of(failed).reason == tensor_refusal::copy_failed);
    CHECK(error_of(failed).memory.device_error == 42);
    CHECK(error_of(failed).row == 0);
    CHECK(b.row(0) == a.row(0));
    CHECK(allot::row_references(a, 0) == 2);
    REQUIRE(allot::write(b, 7));  // the last place
    const auto full = allot::write(b, 3);
    CHECK(error_of(full).reason == tensor_refusal::no_memory);
    CHECK(error_of(full).row == 3);
    CHECK(allot::row_references(a, 3) == 2);
    CHECK(allot::row_references(b, 7) == 1);

    CHECK(error_of(allot::fork(a, 8192)).reason == tensor_refusal::out_of_bounds);
    CHECK(error_of(allot::fork(a, 2)).reason == tensor_refusal::misaligned);
    CHECK(allot::row_references(a, 3) == 2);
    b.kill();
    CHECK(error_of(allot::write(b, 0)).reason == tensor_refusal::killed);
    CHECK(error_of(allot::fork(b)).reason == tensor_refusal::killed);
    a.kill();
    CHECK(it.is_free());
}

TEST_CASE("shared_rows: a row that the entries cannot name leaves everything unchanged") {
    heap_arena memory{{}, 65536};
    const auto tables = *allot::alloc_storage(memory, 32768);
    const auto data = *allot::alloc_storage(memory, 300 * 4, 4);
    const auto rows = *allot::share_rows(data, tables, 300);
    using narrow = allot::row_index<std::uint8_t>;
    {
        auto a = *allot::alloc_discontiguous_tensor<narrow>(tables, anywhere, rows, anywhere, {2, 1}, int32);
        const auto low = *allot::alloc_discontiguous_tensor(tables, anywhere, rows, anywhere, {254, 1}, int32);
        auto b = *allot::fork(a);
        const auto written = allot::write(b, 1);
        CHECK(error_of(written).reason == tensor_refusal::entry_too_narrow);
        CHECK(error_of(written).row == 1);
        CHECK(b.row(1) == a.row(1));
        CHECK(allot::row_references(a, 1) == 2);
        const auto longer = allot::fork_prefix(a, 3);
        CHECK(error_of(longer).reason == tensor_refusal::entry_too_narrow);
        CHECK(error_of(longer).row == 2);
        CHECK(allot::row_references(a, 1) == 2);
    }
    CHECK(data.diagnose({300 * 4, 4}).reason == allot::refusal::none);
}

TEST_CASE("shared_rows: records in a span of the caller, and too few of them") {
    heap_arena memory{{}, 65536};
    const auto tables = *allot::alloc_storage(memory, 8192);
    const auto data = *allot::alloc_storage(memory, 4096, 64);
    std::vector<allot::shared_row<heap_storage>> records(3);
    auto rows = *allot::share_rows(data, std::span{records});
    const auto alloc = [&](std::int64_t count) {
        return allot::alloc_discontiguous_tensor(tables, anywhere, rows, anywhere, {count, 5}, int32);
    };
    CHECK(error_of(alloc(4)).reason == tensor_refusal::too_many_rows);
    CHECK(error_of(alloc(4)).row == 3);
    auto a = *alloc(3);
    auto b = *allot::fork(a);  // forks need no records
    CHECK(error_of(allot::write(b, 1)).reason == tensor_refusal::too_many_rows);
    const auto at_same = allot::alloc_discontiguous_tensor(tables, anywhere, rows, {0, 64}, {2, 5}, int32);
    CHECK(at_same);  // naming a row needs none either
    CHECK(error_of(allot::alloc_discontiguous_tensor(tables, anywhere, rows, {0, 1 << 20}, {2, 5}, int32)).reason ==
          tensor_refusal::too_many_rows);
    rows.kill();  // tensors keep the records
    CHECK(allot::row_references(a, 0) == 3);
    CHECK(error_of(alloc(1)).reason == tensor_refusal::killed);

    CHECK(error_of(allot::share_rows(heap_storage{}, std::span{records})).reason == tensor_refusal::killed);
    CHECK(error_of(allot::share_rows(data, heap_storage{}, 4)).reason == tensor_refusal::killed);
    CHECK(error_of(allot::share_rows(data, tables, 100'000)).reason == tensor_refusal::no_memory);
    CHECK(error_of(allot::share_rows(data, tables, std::size_t{0} - 1)).reason == tensor_refusal::too_large);
    auto none = *allot::share_rows(data, tables, 0);
    CHECK(error_of(allot::alloc_discontiguous_tensor(tables, anywhere, none, anywhere, {1, 5}, int32)).reason ==
          tensor_refusal::too_many_rows);
    CHECK(error_of(allot::alloc_discontiguous_tensor(tables, anywhere, none, {0}, {1, 5}, int32)).reason ==
          tensor_refusal::too_many_rows);
}

TEST_CASE("shared_rows: without a heap, the caller owns bodies and records") {
    using policies = allot::storage_policies<allot::best_fit<>, allot::references::none>;
    using fixed_storage = allot::storage<heap_arena, policies>;
    heap_arena memory{{}, 65536};
    allot::storage_body<heap_arena, policies> table_body, data_body;
    const auto tables = *allot::alloc_storage(table_body, memory, {.size = 1024});
    const auto data = *allot::alloc_storage(data_body, memory, {.size = 1024, .align = 64});
    std::vector<allot::shared_row<fixed_storage>> records(8);
    allot::shared_rows_body<fixed_storage> body;
    const auto rows = *allot::share_rows(body, data, std::span{records});
    CHECK(error_of(allot::share_rows(body, data, std::span{records})).reason == tensor_refusal::in_use);
    {
        auto a = *allot::alloc_discontiguous_tensor(tables, anywhere, rows, anywhere, {5, 16}, int32);
        auto b = *allot::fork(a);
        auto moved = std::move(b);
        CHECK(allot::row_references(a, 4) == 2);
        const auto words = *allot::alloc_tensor(*allot::alloc_storage(memory, 256), 0, {1, 16}, int32);
        const auto part = *allot::slice(a, {4, 0}, {1, 16});  // it does not know the counts
        CHECK(error_of(allot::copy_tensor(words, part)).reason == tensor_refusal::shared_row);
        CHECK(allot::copy_tensor(part, words));
        REQUIRE(allot::write(moved, 4));
        CHECK(allot::row_references(a, 4) == 1);
    }
    CHECK(data.diagnose({1024, 64}).reason == allot::refusal::none);
}

TEST_CASE("shared_rows: a second release of a row is refused, and reported in checked builds") {
    struct told {
        static int& reports() {
            static int all = 0;
            return all;
        }
        void operator()(allot::misuse what, std::size_t, std::size_t) const noexcept {
            CHECK((what == allot::misuse::not_live || what == allot::misuse::killed_before));
            ++reports();
        }
    };
    using checked =
        allot::storage_policies<allot::best_fit<>, allot::references::plain, allot::hardening::checked, told>;
    heap_arena memory{{}, 65536};
    const auto tables = *allot::alloc_storage<checked>(memory, 4096);
    const auto data = *allot::alloc_storage<checked>(memory, 4096, 64);
    const auto rows = *allot::share_rows(data, tables, 10);
    auto a = *allot::alloc_discontiguous_tensor(tables, anywhere, rows, anywhere, {3, 5}, int32);
    auto b = *allot::fork(a);
    const auto row = a.lease().piece(1);
    a.kill();
    a.kill();
    CHECK(told::reports() == 1);
    CHECK(allot::row_references(b, 1) == 1);  // the second kill took nothing from `b`
    b.kill();
    CHECK_FALSE(rows.body()->give_back(row));
    CHECK(told::reports() == 2);
    CHECK(data.diagnose({4096, 64}).reason == allot::refusal::none);
}

TEST_CASE("shared_rows: with atomic references, threads fork, write and release tensors with common rows") {
    using policies = allot::storage_policies<allot::best_fit<>, allot::references::atomic>;
    heap_arena memory{{}, 1 << 20};
    const auto tables = *allot::alloc_storage<policies>(memory, 65536);
    const auto data = *allot::alloc_storage<policies>(memory, 65536, 64);
    const auto rows = *allot::share_rows(data, tables, 500);
    {
        auto common = *allot::alloc_discontiguous_tensor(tables, anywhere, rows, anywhere, {20, 5}, int32);
        for (std::size_t row = 0; row != 20; ++row) *static_cast<int*>(common.row(row)) = static_cast<int>(row);
        const auto work = [](int id, auto mine) {
            for (int round = 0; round != 50; ++round) {
                auto again = allot::fork(mine);
                if (!again) continue;
                for (std::size_t row = static_cast<std::size_t>(id); row < 20; row += 3) {
                    const auto to = allot::write(*again, row);
                    if (to) *static_cast<int*>(*to) = -id;
                }
            }
            for (std::size_t row = 0; row != 20; ++row)
                CHECK(*static_cast<int*>(mine.row(row)) == static_cast<int>(row));
        };
        std::thread one{work, 1, *allot::fork(common)}, two{work, 2, *allot::fork(common)};
        one.join();
        two.join();
        for (std::size_t row = 0; row != 20; ++row) CHECK(allot::row_references(common, row) == 1);
    }
    CHECK(data.diagnose({65536, 64}).reason == allot::refusal::none);
}

// ── the model: a row is a shared vector ──────────────────────────────────────────────────────────────────────────────

namespace {

using bytes = std::vector<unsigned char>;

/// Memory of pointers: bytes are where they are.
struct at_pointers {
    static constexpr std::size_t row_bytes = 36;
    using entry = allot::row_pointer;
    static void set(void* row, const bytes& to) { std::memcpy(row, to.data(), to.size()); }
    static bytes get(const void* row) {
        bytes all(row_bytes);
        std::memcpy(all.data(), row, row_bytes);
        return all;
    }
    static long copy(const void* from, void* to, std::size_t n) noexcept { return std::memcpy(to, from, n), 0; }
};
/// Rows of one storage.
struct in_one : at_pointers {
    heap_arena memory{{}, 4096};
    heap_storage data = *allot::alloc_storage(memory, 2000, 8);
    [[nodiscard]] bool is_free() const { return data.diagnose({2000, 8}).reason == allot::refusal::none; }
};
/// Rows of an arena that grows.
struct in_growing : at_pointers {
    using policies = allot::storage_policies<allot::own_blocks>;
    growing_arena memory{{}, 256};
    allot::storage<growing_arena, policies> data = *allot::alloc_storage<policies>(memory, {.size = 2000, .align = 4});
    [[nodiscard]] bool is_free() { return memory.trim() != 0 && memory.size() == 0; }
};
/// Rows in two buffers of a driver, whose bytes only a copy function reaches.
struct in_handles {
    static constexpr std::size_t row_bytes = 36;
    using entry = allot::row_address;
    using address = handles::address_model::address;
    handle_arena first{handles{false}, 4096}, second{handles{true}, 4096};
    allot::storage<handle_arena> a = *allot::alloc_storage(first, 1000, 16);
    allot::storage<handle_arena> b = *allot::alloc_storage(second, 1000, 4);
    allot::storage_list<allot::storage<handle_arena>, allot::storage<handle_arena>> data{a, b};
    inline static std::map<std::pair<int, std::size_t>, bytes> all;

    static void set(address row, const bytes& to) { all[{row.handle, row.offset}] = to; }
    static bytes get(address row) { return all[{row.handle, row.offset}]; }
    static long copy(address from, address to, std::size_t n) {
        CHECK(n == row_bytes);
        set(to, get(from));
        return 0;
    }
    [[nodiscard]] bool is_free() const {
        return a.diagnose({1000, 16}).reason == allot::refusal::none &&
               b.diagnose({1000, 4}).reason == allot::refusal::none;
    }
};

/// Random calls on tensors with shared rows, and the same calls on vectors of shared vectors.
template <class Subject>
class shared_row_game {
public:
    explicit shared_row_game(Subject& subject, const heap_storage& tables)
        : tables_{tables}, rows_{*allot::share_rows(subject.data, tables, 45)} {}

    std::size_t refused = 0, written = 0;

    /// Makes a random call.
    void play(std::minstd_rand& random) {
        random_ = &random;
        const std::size_t which = all_.empty() ? 0 : random() % all_.size();
        switch (all_.empty() ? 0 : random() % 8) {
            case 0: create(); break;
            case 1: fork(all_[which]); break;
            case 2: fork_prefix(all_[which]); break;
            case 3:
                all_[which].real.kill();
                all_.erase(all_.begin() + static_cast<std::ptrdiff_t>(which));
                break;
            default: write(all_[which]);
        }
    }
    /// Returns whether all rows have the contents and the references of the model.
    [[nodiscard]] bool is_equal() const {
        for (const tensor& each : all_)
            for (std::size_t row = 0; row != each.model.size(); ++row)
                if (Subject::get(each.real.row(row)) != *each.model[row] ||
                    allot::row_references(each.real, row) != static_cast<std::size_t>(each.model[row].use_count()))
                    return false;
        return true;
    }

private:
    using entry = typename Subject::entry;
    using rows_type = typename decltype(allot::share_rows(std::declval<Subject&>().data, std::declval<heap_storage&>(),
                                                          45))::value_type;
    using tensor_type = typename decltype(allot::alloc_discontiguous_tensor<entry>(
        std::declval<heap_storage&>(), anywhere, std::declval<rows_type&>(), anywhere, {1, 9}, int32))::value_type;
    struct tensor {
        tensor_type real;
        std::vector<std::shared_ptr<bytes>> model;
    };

    bytes content() {
        bytes fresh(Subject::row_bytes);
        for (unsigned char& each : fresh) each = static_cast<unsigned char>((*random_)() >> 8);
        return fresh;
    }
    void fill(tensor& to, std::size_t row) {
        to.model[row] = std::make_shared<bytes>(content());
        Subject::set(to.real.row(row), *to.model[row]);
    }
    void create() {
        const auto count = static_cast<std::int64_t>((*random_)() % 12);
        auto made = allot::alloc_discontiguous_tensor<entry>(tables_, anywhere, rows_, anywhere, {count, 9}, int32);
        refused += !made;
        if (!made) return;
        tensor fresh{*std::move(made), {}};
        fresh.model.resize(fresh.real.rows());
        for (std::size_t row = 0; row != fresh.model.size(); ++row) fill(fresh, row);
        all_.push_back(std::move(fresh));
    }
    void fork(const tensor& of) {
        auto made = allot::fork(of.real);
        if (made) all_.push_back({*std::move(made), std::vector{of.model}});
    }
    void fork_prefix(const tensor& of) {
        const std::size_t shared = of.model.size(), count = (*random_)() % 12;
        auto made = allot::fork_prefix(of.real, static_cast<std::int64_t>(count));
        if (count <= shared && all_.size() < 20) REQUIRE(made);  // it needs a table only
        refused += !made;
        if (!made) return;
        tensor fresh{*std::move(made), std::vector{of.model}};
        fresh.model.resize(count);
        for (std::size_t row = shared; row < count; ++row) fill(fresh, row);
        all_.push_back(std::move(fresh));
    }
    void write(tensor& to) {
        if (to.model.empty()) return;
        const std::size_t row = (*random_)() % to.model.size();
        const bool breaks = (*random_)() % 8 == 0;
        const auto at = allot::write(to.real, row, [&](auto from, auto target, std::size_t n) -> long {
            return breaks ? 5 : Subject::copy(from, target, n);
        });
        if (to.model[row].use_count() == 1) REQUIRE(at);  // it needs neither memory nor a copy
        refused += !at;
        if (!at) return;
        if (to.model[row].use_count() != 1) {
            CHECK_FALSE(breaks);
            to.model[row] = std::make_shared<bytes>(*to.model[row]);
        }
        CHECK(Subject::get(*at) == *to.model[row]);
        *to.model[row] = content();
        Subject::set(*at, *to.model[row]);
        ++written;
    }

    const heap_storage& tables_;
    rows_type rows_;
    std::minstd_rand* random_ = nullptr;
    std::vector<tensor> all_;
};

}  // namespace

TEST_CASE_TEMPLATE("shared_rows: random forks, writes and releases do what shared vectors do", Subject, in_one,
                   in_growing, in_handles) {
    std::minstd_rand random{7};
    std::size_t refused = 0, written = 0;
    for (int round = 0; round != 20; ++round) {
        Subject it;
        heap_arena host{{}, 65536};
        const auto tables = *allot::alloc_storage(host, 32768);
        {
            shared_row_game<Subject> game{it, tables};
            for (int step = 0; step != 200; ++step) {
                game.play(random);
                REQUIRE(game.is_equal());
            }
            refused += game.refused;
            written += game.written;
        }
        CHECK(it.is_free());
        CHECK(tables.diagnose({32768, 1}).reason == allot::refusal::none);
    }
    CHECK(refused > 100);
    CHECK(written > 500);
}
