// Tensors of other ranks: agreed on, sliced, and copied in both directions.
#include "all_ranks.hpp"

#include <allot/allot.hpp>
#include <allot/tensor.hpp>
#include <allot/tensor/symmetric.hpp>

#include <numeric>
#include <vector>

namespace {

using namespace allot::literals;
using allot::agreement;
using allot::anywhere;
using allot::copy_path;
using allot::int32;
using allot::remote_refusal;
using machine::device;
using machine::ranks;

using memory_type = allot::symmetric<allot::arena<device, allot::best_fit<>>, machine::ranks_type>;
using heap_arena = allot::arena<allot::host::heap, allot::best_fit<>>;

const int me = ranks().rank(), count = ranks().size(), right = (me + 1) % count, left = (me + count - 1) % count;

struct memories {
    memory_type memory{{device{ranks()}, 256_KiB}, ranks()};
    allot::storage<memory_type> data = *allot::alloc_storage(memory, 64_KiB, 64);
    heap_arena heap{{}, 1_MiB};
    allot::storage<heap_arena> host = *allot::alloc_storage(heap, 256_KiB, 64);

    void synchronize() { REQUIRE_ON_ALL(device::synchronize(ranks(), data.base().handle) == device::error{}); }
};

template <class Tensor>
std::int32_t* numbers(const Tensor& tensor) {
    return static_cast<std::int32_t*>(tensor.data());
}
/// 1000 times the rank, plus the number of the element.
template <class Tensor>
void number(const Tensor& tensor, int rank) {
    std::iota(numbers(tensor), numbers(tensor) + tensor.size(), 1000 * rank);
}
template <class Tensor>
bool is_of(const Tensor& tensor, int rank) {
    std::vector<std::int32_t> expected(tensor.size());
    std::iota(expected.begin(), expected.end(), 1000 * rank);
    return std::equal(expected.begin(), expected.end(), numbers(tensor));
}

}  // namespace

TEST_CASE("symmetric tensor: is put to another rank and read back as a whole") {
    memories of;
    const auto there = *allot::alloc_tensor(of.data, anywhere, {8, 16}, int32);
    const auto here = *allot::alloc_tensor(of.host, anywhere, {8, 16}, int32);
    const auto back = *allot::alloc_tensor(of.host, anywhere, {8, 16}, int32);
    const auto agreed = allot::agree_on(of.memory, there);
    REQUIRE_ON_ALL(static_cast<bool>(agreed));
    allot::remote_copy<device> way;
    number(here, me);
    const auto put = allot::copy_tensor(here, *agreed->on(right), way);
    REQUIRE_ON_ALL(put && *put == copy_path::peer);
    of.synchronize();
    const auto own = allot::copy_tensor(agreed->here(), back, way);
    CHECK((own && *own == copy_path::host));
    CHECK(is_of(back, left));
    const auto got = allot::copy_tensor(*agreed->on(right), back, way);
    REQUIRE_ON_ALL(got && *got == copy_path::peer);
    CHECK(is_of(back, me));

    // From this rank's part to another rank's part.
    of.synchronize();
    const auto second = *allot::alloc_tensor(of.data, anywhere, {8, 16}, int32);
    const auto everywhere = allot::agree_on(of.memory, second);
    REQUIRE_ON_ALL(static_cast<bool>(everywhere));
    CHECK(allot::copy_tensor(there, *everywhere->on(left), way));
    of.synchronize();
    CHECK(allot::copy_tensor(second, back, way));
    CHECK(is_of(back, me));
    of.synchronize();
}

TEST_CASE("symmetric tensor: slices and views of another rank's tensor, and scattered rows") {
    memories of;
    const auto field = *allot::alloc_tensor(of.data, anywhere, {8, 16}, int32);
    const auto agreed = allot::agree_on(of.memory, field);
    REQUIRE_ON_ALL(static_cast<bool>(agreed));
    allot::remote_copy<device> way;
    const auto zeros = *allot::alloc_tensor(of.host, anywhere, {8, 16}, int32);
    std::fill_n(numbers(zeros), zeros.size(), 0);
    CHECK(allot::copy_tensor(zeros, agreed->here(), way));
    of.synchronize();

    const auto tables = *allot::alloc_storage(of.heap, 4_KiB, 8);
    const auto rows = *allot::alloc_discontiguous_tensor(tables, anywhere, of.host, {8192, 4096, 12288}, {3, 4}, int32);
    for (std::size_t row = 0; row != 3; ++row)
        std::iota(static_cast<std::int32_t*>(rows.row(row)), static_cast<std::int32_t*>(rows.row(row)) + 4,
                  1000 * me + 10 * static_cast<int>(row));
    const auto theirs = *agreed->on(right);
    const auto corner = *allot::slice(theirs, {2, 5}, {3, 4});
    const auto copied = allot::copy_tensor(rows, corner, way);
    REQUIRE_ON_ALL(static_cast<bool>(copied));
    of.synchronize();
    const auto back = *allot::alloc_tensor(of.host, anywhere, {8, 16}, int32);
    CHECK(allot::copy_tensor(*allot::view(*agreed->on(me), int32, {128}), *allot::view(back, int32, {128}), way));
    bool right_bytes = true;
    for (int y = 0; y != 8; ++y)
        for (int x = 0; x != 16; ++x) {
            const bool inside = y >= 2 && y < 5 && x >= 5 && x < 9;
            right_bytes = right_bytes && numbers(back)[16 * y + x] == (inside ? 1000 * left + 10 * (y - 2) + x - 5 : 0);
        }
    CHECK(right_bytes);
    of.synchronize();
}

TEST_CASE("symmetric tensor: different tensors or offsets on one rank are not agreed on") {
    if (count == 1) return;
    memories of;
    const bool odd = me == count - 1;
    const auto refused = [&](const auto& tensor) {
        const auto agreed = allot::agree_on(of.memory, tensor);
        CHECK_FALSE(agreed);
        CHECK(agreed.error().found == agreement::diverged);
    };
    refused(*allot::alloc_tensor(of.data, odd ? 128 : 64, {16}, int32));
    refused(*allot::alloc_tensor(of.data, 256, {odd ? 8 : 16}, int32));
    refused(*allot::alloc_tensor(of.data, 512, {16}, odd ? allot::float32 : int32));
    const auto whole = *allot::alloc_tensor(of.data, 1024, {16, 16}, int32);
    refused(*allot::slice(whole, {0, 0}, odd ? allot::shape{4, 8} : allot::shape{8, 4}));
    const auto narrow = *allot::view(whole, int32, {32, 8});
    refused(*allot::slice(odd ? narrow : *allot::view(whole, int32, {16, 16}), {0, 0}, {4, 8}));  // different strides
    auto killed = *allot::alloc_tensor(of.data, 4096, {16}, int32);
    if (odd) killed.kill();
    refused(killed);
    killed.kill();
    const auto gone = allot::agree_on(of.memory, killed);
    REQUIRE_ON_ALL(static_cast<bool>(gone));
    CHECK(gone->on(0).error() == remote_refusal::empty_block);

    const auto agreed = allot::agree_on(of.memory, whole);
    REQUIRE_ON_ALL(static_cast<bool>(agreed));
    CHECK(agreed->on(count).error() == remote_refusal::no_such_rank);
    CHECK(agreed->on(-1).error() == remote_refusal::no_such_rank);

    // The agreement also detects an allocation that only one rank made.
    if (odd) CHECK(of.memory.allocate({.size = 64}));
    refused(whole);
}

TEST_CASE("symmetric tensor: is agreed on in its own memory only") {
    memories of, other;
    const auto tensor = *allot::alloc_tensor(of.data, anywhere, {16}, int32);
    CHECK(allot::agree_on(other.memory, tensor).error().found == agreement::elsewhere);
    CHECK(allot::agree_on(of.memory, tensor));
}
