// Each concept rejects a type that lacks a single requirement. Each type below is a valid type with one change, so
// that only this change can cause the rejection. Compilation is the test.
#include <allot/allot.hpp>
#include <allot/core/timeline.hpp>

#include <doctest/doctest.h>

namespace concepts_test {

using std::size_t;

// ── address models ───────────────────────────────────────────────────────────────────────────────────────────────────

struct model {
    using address = int;
    using base = int;
    static constexpr bool absolute = false;
    static int locate(int from, size_t n) noexcept { return from + static_cast<int>(n); }
    static size_t position(int at) noexcept { return static_cast<size_t>(at); }
};
static_assert(allot::address_model<model> && allot::linear_address_model<model>);

struct no_base : model {
    using base = void;
};
struct no_address {
    using base = int;
    static int locate(int from, size_t) noexcept { return from; }
};
struct no_locate {
    using address = int;
    using base = int;
};
struct throwing_locate : model {
    static int locate(int from, size_t) { return from; }
};
struct locate_of_another_type : model {
    static long locate(int from, size_t) noexcept { return from; }
};
static_assert(!allot::address_model<no_base> && !allot::address_model<no_address> && !allot::address_model<no_locate>);
static_assert(!allot::address_model<throwing_locate> && !allot::address_model<locate_of_another_type>);
static_assert(!allot::address_model<int> && !allot::address_model<void>);

struct base_is_no_address : model {
    using base = long;
    static int locate(long, size_t) noexcept { return 0; }
};
struct absolute_not_constant : model {
    static bool absolute;
};
struct absolute_is_a_number : model {
    static constexpr int absolute = 1;
};
struct no_position {
    using address = int;
    using base = int;
    static constexpr bool absolute = false;
    static int locate(int from, size_t) noexcept { return from; }
};
struct throwing_position : model {
    static size_t position(int) { return 0; }
};
static_assert(allot::address_model<base_is_no_address> && !allot::linear_address_model<base_is_no_address>);
static_assert(!allot::linear_address_model<absolute_not_constant> &&
              !allot::linear_address_model<absolute_is_a_number>);
static_assert(!allot::linear_address_model<no_position> && !allot::linear_address_model<throwing_position>);
static_assert(allot::linear_address_model<allot::raw_pointer> &&
              allot::linear_address_model<allot::handle_offset<long>>);
static_assert(allot::address_model<allot::pointer_table<64>> && !allot::linear_address_model<allot::pointer_table<64>>);

// ── devices: each type hides one member of `memory` ─────────────────────────────────────────────────────────────────

template <class Self>
struct memory {
    using address_model = allot::raw_pointer;
    using error = int;
    static constexpr bool host_accessible = true;
    static constexpr auto offsets = allot::offset_use::arithmetic;
    static constexpr size_t min_align = 16;
    static constexpr size_t granularity = 1;
    static constexpr allot::dl_device_type dl_device = allot::dl_device_type::cpu;
    allot::result<allot::region<void*>, int> acquire(allot::layout) noexcept { return allot::region<void*>{}; }
    void release(allot::region<void*>) noexcept {}
};
struct finished : memory<finished> {};
static_assert(allot::device<finished> && !allot::bounded_device<finished> && allot::device_requirements<finished>());

struct no_model : memory<no_model> {
    using address_model = void;
};
struct no_error_type : memory<no_error_type> {
    using error = void;
};
struct error_is_no_number : memory<error_is_no_number> {
    using error = const char*;
};
struct other_error : memory<other_error> {
    using error = long;  // acquire returns another error type
};
struct accessible_forgotten : memory<accessible_forgotten> {
    void host_accessible();
};
struct accessible_not_constant : memory<accessible_not_constant> {
    static bool host_accessible;
};
struct offsets_forgotten : memory<offsets_forgotten> {
    void offsets();
};
struct offsets_as_bool : memory<offsets_as_bool> {
    static constexpr bool offsets = true;
};
struct min_align_forgotten : memory<min_align_forgotten> {
    void min_align();
};
struct min_align_as_int : memory<min_align_as_int> {
    static constexpr int min_align = 16;
};
struct granularity_forgotten : memory<granularity_forgotten> {
    void granularity();
};
struct dl_device_forgotten : memory<dl_device_forgotten> {
    void dl_device();
};
struct dl_device_as_int : memory<dl_device_as_int> {
    static constexpr int dl_device = 1;
};
struct acquire_throws : memory<acquire_throws> {
    allot::result<allot::region<void*>, int> acquire(allot::layout) { return allot::region<void*>{}; }
};
struct acquire_gives_a_pointer : memory<acquire_gives_a_pointer> {
    void* acquire(allot::layout) noexcept { return nullptr; }
};
struct acquire_of_a_size : memory<acquire_of_a_size> {
    allot::result<allot::region<void*>, int> acquire(size_t, size_t) noexcept { return allot::region<void*>{}; }
};
struct release_throws : memory<release_throws> {
    void release(allot::region<void*>) {}
};
struct release_of_a_pointer : memory<release_of_a_pointer> {
    void release(void*) noexcept {}
};
static_assert(!allot::device<no_model> && !allot::device<no_error_type> && !allot::device<error_is_no_number>);
static_assert(!allot::device<other_error> && !allot::device<accessible_forgotten>);
static_assert(!allot::device<accessible_not_constant> && !allot::device<offsets_forgotten>);
static_assert(!allot::device<offsets_as_bool> && !allot::device<min_align_forgotten>);
static_assert(!allot::device<min_align_as_int> && !allot::device<granularity_forgotten>);
static_assert(!allot::device<dl_device_forgotten> && !allot::device<dl_device_as_int>);
static_assert(!allot::device<acquire_throws> && !allot::device<acquire_gives_a_pointer>);
static_assert(!allot::device<acquire_of_a_size> && !allot::device<release_throws>);
static_assert(!allot::device<release_of_a_pointer> && !allot::device<int>);

struct windowed : memory<windowed> {
    size_t capacity() const noexcept { return 64; }
};
struct stretches : memory<stretches> {
    allot::result<allot::region<void*>, int> resize(allot::region<void*> held, size_t) noexcept { return held; }
};
struct stretches_and_throws : memory<stretches_and_throws> {
    allot::result<allot::region<void*>, int> resize(allot::region<void*> held, size_t) { return held; }
};
static_assert(allot::extensible_device<stretches> && !allot::extensible_device<stretches_and_throws>);
static_assert(!allot::extensible_device<finished>);
struct capacity_throws : memory<capacity_throws> {
    size_t capacity() const { return 64; }
};
struct capacity_changes_it : memory<capacity_changes_it> {
    size_t capacity() noexcept { return 64; }
};
static_assert(allot::bounded_device<windowed>);
static_assert(!allot::bounded_device<capacity_throws> && !allot::bounded_device<capacity_changes_it>);
static_assert(allot::device<allot::host::heap> && !allot::bounded_device<allot::host::heap>);

// ── strategies: each type hides one member of `plan` ────────────────────────────────────────────────────────────────

struct plan {
    using offset_type = size_t;
    using metadata_type = allot::no_metadata<plan>;
    using memory_type = allot::no_memory;
    using allocation = allot::basic_allocation<size_t, metadata_type>;
    static constexpr bool in_band = false;
    static constexpr auto reclaims = allot::reclaim::never;
    static constexpr bool exact = false;
    static constexpr bool several_extents = false;
    bool insert(allot::extent, allot::no_memory) noexcept { return true; }
    allocation allocate(allot::layout) noexcept { return {}; }
    void deallocate(allocation) noexcept {}
    size_t capacity(allocation) const noexcept { return 0; }
    allot::diagnosis diagnose(allot::layout) const noexcept { return {}; }
    static size_t bytes_for(size_t, allot::layout) noexcept { return 0; }
};
static_assert(allot::strategy<plan> && allot::strategy_requirements<plan>());
static_assert(!allot::positional<plan> && !allot::resizable<plan> && !allot::resettable<plan>);
static_assert(!allot::markable<plan> && !allot::removable<plan>);

struct signed_offsets : plan {
    using offset_type = long;
};
struct offsets_of_another_type : plan {
    using offset_type = std::uint16_t;  // the functions use another type
};
struct metadata_of_another_type : plan {
    using metadata_type = int;
};
struct in_band_forgotten : plan {
    void in_band();
};
struct in_band_not_constant : plan {
    static bool in_band;
};
struct reclaims_as_bool : plan {
    static constexpr bool reclaims = true;
};
struct exact_forgotten : plan {
    void exact();
};
struct several_extents_forgotten : plan {
    void several_extents();
};
struct insert_answers_nothing : plan {
    void insert(allot::extent, allot::no_memory) noexcept {}
};
struct insert_throws : plan {
    bool insert(allot::extent, allot::no_memory) { return true; }
};
struct allocate_throws : plan {
    allocation allocate(allot::layout) { return {}; }
};
struct allocate_gives_an_offset : plan {
    size_t allocate(allot::layout) noexcept { return 0; }
};
struct deallocate_throws : plan {
    void deallocate(allocation) {}
};
struct deallocate_by_offset : plan {
    void deallocate(size_t) noexcept {}
};
struct capacity_not_const : plan {
    size_t capacity(allocation) noexcept { return 0; }
};
struct diagnose_not_const : plan {
    allot::diagnosis diagnose(allot::layout) noexcept { return {}; }
};
struct diagnose_answers_a_refusal : plan {
    allot::refusal diagnose(allot::layout) const noexcept { return {}; }
};
struct bytes_for_not_static : plan {
    size_t bytes_for(size_t, allot::layout) const noexcept { return 0; }
};
static_assert(!allot::strategy<signed_offsets> && !allot::strategy<offsets_of_another_type>);
static_assert(!allot::strategy<metadata_of_another_type> && !allot::strategy<in_band_forgotten>);
static_assert(!allot::strategy<in_band_not_constant> && !allot::strategy<reclaims_as_bool>);
static_assert(!allot::strategy<exact_forgotten> && !allot::strategy<several_extents_forgotten>);
static_assert(!allot::strategy<insert_answers_nothing> && !allot::strategy<insert_throws>);
static_assert(!allot::strategy<allocate_throws> && !allot::strategy<allocate_gives_an_offset>);
static_assert(!allot::strategy<deallocate_throws> && !allot::strategy<deallocate_by_offset>);
static_assert(!allot::strategy<capacity_not_const> && !allot::strategy<diagnose_not_const>);
static_assert(!allot::strategy<diagnose_answers_a_refusal> && !allot::strategy<bytes_for_not_static>);
static_assert(!allot::strategy<int>);

struct claims : plan {
    allocation allocate_at(allot::extent) noexcept { return {}; }
    allot::diagnosis diagnose_at(allot::extent) const noexcept { return {}; }
};
struct claim_answers_bool : claims {
    bool allocate_at(allot::extent) noexcept { return false; }
};
struct claim_without_a_reason : claims {
    void diagnose_at();
};
struct resizes : plan {
    bool resize(allocation, size_t) noexcept { return false; }
};
struct resize_throws : plan {
    bool resize(allocation, size_t) { return false; }
};
struct resets : plan {
    void reset() noexcept {}
};
struct marks : resets {
    int mark() const noexcept { return 0; }
    void rollback(int) noexcept {}
};
struct marks_without_reset : plan {
    int mark() const noexcept { return 0; }
    void rollback(int) noexcept {}
};
struct marks_not_const : resets {
    int mark() noexcept { return 0; }
    void rollback(int) noexcept {}
};
struct removes : plan {
    bool remove(allot::extent) noexcept { return false; }
};
struct extends : plan {
    bool resize_extent(allot::extent, size_t) noexcept { return false; }
    size_t least_size(allot::extent) const noexcept { return 0; }
    size_t size_for(allot::extent, allot::layout) const noexcept { return 0; }
};
struct extends_without_a_least_size : plan {
    bool resize_extent(allot::extent, size_t) noexcept { return false; }
    size_t size_for(allot::extent, allot::layout) const noexcept { return 0; }
};
struct extends_without_a_size_for : plan {
    bool resize_extent(allot::extent, size_t) noexcept { return false; }
    size_t least_size(allot::extent) const noexcept { return 0; }
};
struct extends_and_resizes : extends {
    bool resize(allocation, size_t) noexcept { return false; }
};
struct remove_answers_nothing : plan {
    void remove(allot::extent) noexcept {}
};
static_assert(allot::positional<claims> && !allot::positional<claim_answers_bool> &&
              !allot::positional<claim_without_a_reason>);
static_assert(allot::resizable<resizes> && !allot::resizable<resize_throws>);
static_assert(allot::resettable<resets> && allot::markable<marks> && !allot::markable<resets>);
static_assert(!allot::markable<marks_without_reset> && !allot::markable<marks_not_const>);
static_assert(allot::removable<removes> && !allot::removable<remove_answers_nothing>);

static_assert(allot::extendable<extends> && !allot::extendable<extends_without_a_least_size> &&
              !allot::extendable<extends_without_a_size_for> && !allot::extendable<extends_and_resizes>);

// ── growth ───────────────────────────────────────────────────────────────────────────────────────────────────────────

struct growing {
    static constexpr size_t regions = 2, limit = 64;
    static constexpr bool in_place = false;
    static size_t next(size_t) noexcept { return 32; }
};
struct regions_as_int : growing {
    static constexpr int regions = 2;
};
struct limit_forgotten : growing {
    void limit();
};
struct in_place_forgotten : growing {
    void in_place();
};
struct next_throws : growing {
    static size_t next(size_t) { return 32; }
};
static_assert(allot::growth_policy<growing> && !allot::growth_policy<regions_as_int>);
static_assert(!allot::growth_policy<in_place_forgotten>);
static_assert(!allot::growth_policy<limit_forgotten> && !allot::growth_policy<next_throws>);
static_assert(!allot::growth_policy<int> && !allot::growth_policy<allot::growth_options>);

// ── allocators ───────────────────────────────────────────────────────────────────────────────────────────────────────

struct gives {
    using address_model = allot::raw_pointer;
    using block_type = allot::block<void*, allot::no_metadata<gives>>;
    static constexpr bool host_accessible = true;
    static constexpr auto offsets = allot::offset_use::arithmetic;
    static constexpr auto dl_device = allot::dl_device_type::cpu;
    static constexpr auto reclaims = allot::reclaim::any;
    block_type allocate(allot::layout) noexcept { return {}; }
    void deallocate(block_type) noexcept {}
    allot::diagnosis diagnose(allot::layout) const noexcept { return {}; }
};
struct gives_and_throws : gives {
    block_type allocate(allot::layout) { return {}; }
};
struct gives_a_pointer : gives {
    void* allocate(allot::layout) noexcept { return nullptr; }
};
struct takes_and_throws : gives {
    void deallocate(block_type) {}
};
struct takes_a_pointer : gives {
    void deallocate(void*) noexcept {}
};
struct gives_no_reason : gives {
    void diagnose();
};
struct accessible_unknown : gives {
    void host_accessible();
};
struct offsets_unknown : gives {
    void offsets();
};
struct dl_device_unknown : gives {
    void dl_device();
};
struct reclaims_unknown : gives {
    void reclaims();
};
struct owns_blocks : gives {
    bool owns(block_type) const noexcept { return false; }
};
struct owns_if_changed : gives {
    bool owns(block_type) noexcept { return false; }
};
static_assert(allot::allocator<gives> && allot::allocator<gives&> && !allot::owning<gives>);
static_assert(!allot::allocator<gives_and_throws> && !allot::allocator<gives_a_pointer>);
static_assert(!allot::allocator<takes_and_throws> && !allot::allocator<takes_a_pointer>);
static_assert(!allot::allocator<gives_no_reason> && !allot::allocator<accessible_unknown>);
static_assert(!allot::allocator<offsets_unknown> && !allot::allocator<dl_device_unknown>);
static_assert(!allot::allocator<reclaims_unknown>);
static_assert(allot::owning<owns_blocks> && !allot::owning<owns_if_changed> && !allot::allocator<int>);

using arena = allot::arena<allot::host::heap, allot::best_fit<>>;
static_assert(allot::allocator<arena> && allot::allocator<arena&> && allot::owning<arena>);
using paged = allot::paged<arena, arena, allot::pointer_table<64>>;
static_assert(allot::allocator<paged> && allot::allocator<paged&>);

// An arena has the capabilities of its strategy and its growth policy.
using bumps = allot::arena<allot::host::heap, allot::bump<>>;
template <class A>
concept claims_extents = requires(A a) { a.allocate_at(allot::extent{}); };
template <class A>
concept resizes_blocks = requires(A a, typename A::block_type b) { a.resize(b, size_t{1}); };
template <class A>
concept forgets = requires(A a) { a.reset(); };
template <class A>
concept marks_and_returns = requires(A a) { a.rollback(a.mark()); };
template <class A>
concept trims = requires(A a) { a.trim(); };
using grown = allot::arena<allot::host::heap, allot::best_fit<>, allot::growth::fixed<>>;
using grown_bumps = allot::arena<allot::host::heap, allot::bump<>, allot::growth::fixed<>>;
static_assert(claims_extents<arena> && !claims_extents<bumps> && !claims_extents<grown>);
static_assert(resizes_blocks<arena> && !resizes_blocks<bumps> && resizes_blocks<grown>);
static_assert(!forgets<arena> && forgets<bumps> && forgets<grown_bumps>);
static_assert(!marks_and_returns<arena> && marks_and_returns<bumps> && marks_and_returns<grown_bumps>);
static_assert(!trims<arena> && !trims<bumps> && trims<grown> && trims<grown_bumps>);

// ── timelines ────────────────────────────────────────────────────────────────────────────────────────────────────────

struct line {
    using queue_type = int;
    using error_type = long;
    struct point_type {};
    error_type record(int, point_type&) noexcept { return 0; }
    error_type wait(int, const point_type&) noexcept { return 0; }
    error_type barrier(int) noexcept { return 0; }
    error_type wait_on_host(const point_type&) noexcept { return 0; }
    bool in_order(int) const noexcept { return true; }
    allot::point_state state(const point_type&) const noexcept { return allot::point_state::passed; }
    void release(point_type&) noexcept {}
};
static_assert(allot::timeline<line> && !allot::timeline<int> && !allot::timeline<line&>);

struct line_that_stays : line {
    line_that_stays(const line_that_stays&) = delete;
};
struct point_that_stays : line {
    struct point_type {
        point_type(const point_type&) = delete;
    };
};
struct records_and_throws : line {
    error_type record(int, point_type&) { return 0; }
};
struct records_a_copy : line {
    void record(int, point_type);
};
struct waits_and_throws : line {
    error_type wait(int, const point_type&) { return 0; }
};
struct waits_for_changing_points : line {
    error_type wait(int, point_type&) noexcept { return 0; }
};
struct barrier_without_error : line {
    void barrier(int) noexcept {}
};
struct host_wait_without_error : line {
    void wait_on_host(const point_type&) noexcept {}
};
struct order_if_changed : line {
    bool in_order(int) noexcept { return true; }
};
struct order_as_a_number : line {
    int in_order(int) const noexcept { return 1; }
};
struct state_as_a_flag : line {
    bool state(const point_type&) const noexcept { return true; }
};
struct releases_and_throws : line {
    void release(point_type&) {}
};
static_assert(!allot::timeline<line_that_stays> && !allot::timeline<point_that_stays>);
static_assert(!allot::timeline<records_and_throws> && !allot::timeline<records_a_copy>);
static_assert(!allot::timeline<waits_and_throws> && !allot::timeline<waits_for_changing_points>);
static_assert(!allot::timeline<barrier_without_error> && !allot::timeline<host_wait_without_error>);
static_assert(!allot::timeline<order_if_changed> && !allot::timeline<order_as_a_number>);
static_assert(!allot::timeline<state_as_a_flag> && !allot::timeline<releases_and_throws>);

}  // namespace concepts_test

TEST_CASE("concepts: reject invalid types, by static_assert") { CHECK(true); }
