// SPDX-License-Identifier: BSL-1.0
// The C++20 module allot: the public names of the headers that need neither Boost nor an SDK. docs/modules.md
//
// bindings/module/write.py writes this file from the headers. Change those, not this file.
module;

#include <allot/allot.hpp>
#include <allot/metal.hpp>
#include <allot/object.hpp>
#include <allot/page_cache.hpp>
#include <allot/plan.hpp>
#include <allot/tensor.hpp>
#include <allot/adapt/bad_alloc.hpp>
#include <allot/adapt/memory_resource.hpp>
#include <allot/adapt/std_allocator.hpp>
#include <allot/address/const_pointer.hpp>
#include <allot/address/on_rank.hpp>
#include <allot/address/reserving_device.hpp>
#include <allot/arena/block_at.hpp>
#include <allot/arena/discard_holes.hpp>
#include <allot/compose/address_cache.hpp>
#include <allot/compose/address_heap.hpp>
#include <allot/compose/adopted.hpp>
#include <allot/compose/graph_pool.hpp>
#include <allot/compose/symmetric.hpp>
#include <allot/hexagon/vtcm.hpp>
#include <allot/inspect/describe_address.hpp>
#include <allot/inspect/event_log.hpp>
#include <allot/inspect/event_sink.hpp>
#include <allot/inspect/export_json.hpp>
#include <allot/inspect/export_perfetto.hpp>
#include <allot/inspect/export_pytorch.hpp>
#include <allot/inspect/export_vma.hpp>
#include <allot/inspect/report.hpp>
#include <allot/inspect/trace.hpp>
#include <allot/plan/control_flow.hpp>
#include <allot/plan/graph.hpp>
#include <allot/plan/guided.hpp>
#include <allot/plan/order_operators.hpp>
#include <allot/plan/pages.hpp>
#include <allot/plan/queued_problem.hpp>
#include <allot/plan/queues.hpp>
#include <allot/plan/ranged.hpp>
#include <allot/plan/recompute_tensors.hpp>
#include <allot/plan/rows.hpp>
#include <allot/plan/share_branches.hpp>
#include <allot/plan/static_memories.hpp>
#include <allot/plan/timed.hpp>
#include <allot/plan/validate_branches.hpp>
#include <allot/plan/validate_pages.hpp>
#include <allot/plan/validate_queues.hpp>
#include <allot/plan/validate_ranged.hpp>
#include <allot/plan/validate_rows.hpp>
#include <allot/plan/validate_timed.hpp>
#include <allot/tensor/dlpack.hpp>
#include <allot/tensor/dlpack_rows.hpp>
#include <allot/tensor/symmetric.hpp>
#if (!ALLOT_IS_MICROCONTROLLER || defined(__cpp_lib_atomic_wait) && defined(__cpp_lib_scoped_lock))
#include <allot/compose/thread_local_caches.hpp>
#endif
#if (defined(__unix__) || defined(__APPLE__))
#include <allot/arena/shared_arena.hpp>
#include <allot/external/crossing.hpp>
#include <allot/host/contiguous_pages.hpp>
#include <allot/host/current_processor.hpp>
#include <allot/host/pages.hpp>
#include <allot/host/pinned_pages.hpp>
#include <allot/host/virtual_memory.hpp>
#include <allot/xrt/calls.hpp>
#endif
#if defined(_WIN32)
#include <allot/windows.hpp>
#endif
#if defined(__cpp_lib_atomic_wait) && defined(__cpp_lib_scoped_lock)
#include <allot/host/job_queue.hpp>
#endif
#if defined(__linux__) && __has_include(<linux/dma-buf.h>)
#include <allot/xrt.hpp>
#include <allot/dma/bus_addressed.hpp>
#include <allot/dma/contiguous_memory.hpp>
#include <allot/dma/copy.hpp>
#include <allot/dma/imported_memory.hpp>
#include <allot/dma/u_dma_buf.hpp>
#endif
#if defined(__linux__) && __has_include(<linux/dma-buf.h>) && __has_include(<linux/dma-heap.h>)
#include <allot/dma/heap.hpp>
#endif
#if defined(__linux__) && __has_include(<linux/dma-buf.h>) && __has_include(<linux/dma-heap.h>) && __has_include(<linux/udmabuf.h>)
#include <allot/dma.hpp>
#endif
#if defined(__linux__) && __has_include(<linux/dma-buf.h>) && __has_include(<linux/udmabuf.h>)
#include <allot/dma/udmabuf.hpp>
#endif
#if defined(__linux__) && __has_include(<linux/futex.h>)
#include <allot/host/fork_lock.hpp>
#endif

export module allot;

export namespace allot {
inline namespace v1 {
using allot::DLDataType;
using allot::DLDevice;
using allot::DLManagedTensor;
using allot::DLManagedTensorVersioned;
using allot::DLPackVersion;
using allot::DLTensor;
using allot::abort_on_misuse;
using allot::acquired;
using allot::address_cache;
using allot::address_cache_options;
using allot::address_description;
using allot::address_heap;
using allot::address_heap_options;
using allot::address_heap_statistics;
using allot::address_model;
using allot::addressed_memory;
using allot::adopted;
using allot::adopted_body;
using allot::adopted_error;
using allot::adopted_lease;
using allot::adopted_storage;
using allot::adopted_tensor;
using allot::agree_on;
using allot::agreement;
using allot::alias_kind;
using allot::align_branch;
using allot::align_down;
using allot::align_up;
using allot::aligned_up_to;
using allot::alignment_of;
using allot::all_blocks;
using allot::all_holes;
using allot::alloc_device_table;
using allot::alloc_discontiguous_tensor;
using allot::alloc_storage;
using allot::alloc_tensor;
using allot::alloc_tensors;
using allot::alloc_texture;
using allot::allocate_unique;
using allot::allocate_zeroed;
using allot::allocation_of;
using allot::allocator;
using allot::allocator_ability;
using allot::allocator_requirements;
using allot::allocator_statistics;
using allot::any_allocator;
using allot::any_allocator_options;
using allot::any_allocator_ref;
using allot::any_metadata;
using allot::any_options_of;
using allot::anywhere;
using allot::anywhere_t;
using allot::arena;
using allot::arena_options;
using allot::as_given;
using allot::as_tensor;
using allot::at_compile_time;
using allot::axis_separators;
using allot::bad_alloc;
using allot::basic_allocation;
using allot::basic_extent;
using allot::basic_layout;
using allot::best_fit;
using allot::best_fit_options;
using allot::bfloat16;
using allot::block;
using allot::block_at;
using allot::block_cache;
using allot::block_cache_options;
using allot::block_history;
using allot::block_of;
using allot::block_tag;
using allot::block_walkable;
using allot::block_walkable_allocator;
using allot::boolean;
using allot::bound_of;
using allot::bound_space;
using allot::bounded_device;
using allot::budgeted_device;
using allot::bump;
using allot::bump_options;
using allot::byte_count;
using allot::cached;
using allot::cached_options;
using allot::cached_textures;
using allot::check_graph;
using allot::check_problem;
using allot::checked_add;
using allot::checked_align_up;
using allot::checked_multiply;
using allot::communicator;
using allot::compact_strides;
using allot::compare_ranks;
using allot::comparison;
using allot::concurrent;
using allot::const_pointer;
using allot::copied;
using allot::copied_pages;
using allot::copy_path;
using allot::copy_tensor;
using allot::counted;
using allot::counted_mark;
using allot::counting_allocator;
using allot::deferred;
using allot::deferred_options;
using allot::describe_address;
using allot::destroy;
using allot::device;
using allot::device_requirements;
using allot::device_table;
using allot::device_table_options;
using allot::device_table_request;
using allot::diagnosis;
using allot::direction;
using allot::discard_holes;
using allot::discard_pages;
using allot::discarding_device;
using allot::discontiguous_tensor;
using allot::discontiguous_tensor_request;
using allot::dl_device_type;
using allot::dlpack_convention;
using allot::dlpack_deleter;
using allot::dlpack_major;
using allot::dlpack_minor;
using allot::dlpack_options;
using allot::dlpack_pointer;
using allot::dlpack_pointer_unversioned;
using allot::dtype;
using allot::dtype_code;
using allot::dtype_named;
using allot::element_count;
using allot::embedded_device;
using allot::event_counter;
using allot::event_log;
using allot::event_log_writer;
using allot::event_sink;
using allot::export_json;
using allot::export_perfetto;
using allot::export_pytorch;
using allot::export_vma;
using allot::extendable;
using allot::extensible_device;
using allot::extent;
using allot::extent_align;
using allot::extent_of;
using allot::fail_each_request;
using allot::failing;
using allot::failure_plan;
using allot::fallback;
using allot::fallback_mark;
using allot::fallback_metadata;
using allot::find_lifetimes;
using allot::finds_blocks_by_address;
using allot::float16;
using allot::float32;
using allot::float4_e2m1fn;
using allot::float64;
using allot::float6_e2m3fn;
using allot::float6_e3m2fn;
using allot::float8_e3m4;
using allot::float8_e4m3;
using allot::float8_e4m3b11fnuz;
using allot::float8_e4m3fn;
using allot::float8_e4m3fnuz;
using allot::float8_e5m2;
using allot::float8_e5m2fnuz;
using allot::float8_e8m0fnu;
using allot::flow_error;
using allot::flow_lifetimes;
using allot::flow_program;
using allot::flow_refusal;
using allot::flow_step;
using allot::for_each_run;
using allot::fork;
using allot::fork_prefix;
using allot::format_error;
using allot::format_reading;
using allot::format_refusal;
using allot::from_dlpack;
using allot::given_records;
using allot::graph_alias;
using allot::graph_error;
using allot::graph_operator;
using allot::graph_pool;
using allot::graph_refusal;
using allot::graph_sharing;
using allot::graph_tensor;
using allot::graph_violation;
using allot::graph_violation_kind;
using allot::growth_options;
using allot::growth_policy;
using allot::guard_options;
using allot::guarded;
using allot::guarded_mark;
using allot::guide;
using allot::guide_options;
using allot::guide_rule;
using allot::guide_slot;
using allot::guided;
using allot::guided_counters;
using allot::guided_metadata;
using allot::guided_reference;
using allot::handle_offset;
using allot::hardened_metadata;
using allot::hardening;
using allot::hole_walkable;
using allot::hole_walkable_allocator;
using allot::host_memory;
using allot::host_use;
using allot::host_written_device;
using allot::in_program_order;
using allot::in_scope;
using allot::index_options;
using allot::indexed;
using allot::indexed_mark;
using allot::indexed_ordered;
using allot::int16;
using allot::int32;
using allot::int4;
using allot::int64;
using allot::int8;
using allot::invalidity;
using allot::is_alignment;
using allot::is_compact;
using allot::is_microcontroller;
using allot::is_named;
using allot::kernel_offset;
using allot::kernel_offset_of;
using allot::last_dtype_code;
using allot::layout;
using allot::layout_for;
using allot::layout_of;
using allot::leaf_first_eviction;
using allot::lease_on_rank;
using allot::lifetime;
using allot::limited;
using allot::limited_mark;
using allot::linear_address_model;
using allot::live_block;
using allot::lives_on;
using allot::lock;
using allot::lru_eviction;
using allot::make;
using allot::make_array;
using allot::make_guide;
using allot::make_unique;
using allot::markable;
using allot::markable_allocator;
using allot::max_extent_bits;
using allot::max_rank;
using allot::measuring_allocator;
using allot::memories_at_compile_time;
using allot::memories_options;
using allot::memories_plan;
using allot::memories_problem;
using allot::memories_progress;
using allot::memories_summary;
using allot::memories_violation;
using allot::memories_violation_kind;
using allot::memory_action;
using allot::memory_budget;
using allot::memory_event;
using allot::memory_for;
using allot::memory_layout;
using allot::memory_needs;
using allot::memory_place;
using allot::memory_plan;
using allot::memory_replan;
using allot::memory_resource;
using allot::memory_scope;
using allot::memory_state;
using allot::memory_traits;
using allot::metadata_with_record;
using allot::misuse;
using allot::mixed_plan;
using allot::mixed_problem;
using allot::mixed_violation;
using allot::mixed_violation_kind;
using allot::moves_plan;
using allot::moves_problem;
using allot::moves_summary;
using allot::moves_violation;
using allot::moves_violation_kind;
using allot::naive;
using allot::naive_metadata;
using allot::never_repeated;
using allot::no_bound;
using allot::no_error;
using allot::no_lock;
using allot::no_memory;
using allot::no_metadata;
using allot::no_page;
using allot::no_page_copies;
using allot::no_place;
using allot::no_row;
using allot::node_store;
using allot::object_deleter;
using allot::observed;
using allot::offset_use;
using allot::on_queue;
using allot::on_rank;
using allot::one_page_group;
using allot::operator*;
using allot::operator+;
using allot::operator_graph;
using allot::operator_order;
using allot::order_operators;
using allot::order_options;
using allot::ordered;
using allot::ordered_options;
using allot::own_blocks;
using allot::owning;
using allot::page_cache;
using allot::page_cache_fault;
using allot::page_cache_limits;
using allot::page_content;
using allot::page_copier;
using allot::page_counts;
using allot::page_eviction;
using allot::page_group;
using allot::page_key;
using allot::page_list;
using allot::page_match;
using allot::page_place;
using allot::page_pool;
using allot::page_refusal;
using allot::page_request;
using allot::page_stack;
using allot::page_tree;
using allot::page_tree_options;
using allot::page_uses;
using allot::paged;
using allot::paged_mark;
using allot::pages_in_all;
using allot::pages_space;
using allot::pages_violation;
using allot::pages_violation_kind;
using allot::pass_request;
using allot::peak_of;
using allot::per_thread;
using allot::per_thread_options;
using allot::physical_shape;
using allot::pixel_bytes;
using allot::plan;
using allot::plan_access;
using allot::plan_array;
using allot::plan_bound;
using allot::plan_buffer;
using allot::plan_copy;
using allot::plan_error;
using allot::plan_extent;
using allot::plan_fixed;
using allot::plan_heap;
using allot::plan_into;
using allot::plan_memories;
using allot::plan_memories_into;
using allot::plan_memory;
using allot::plan_mixed;
using allot::plan_moves;
using allot::plan_of_places;
using allot::plan_options;
using allot::plan_pages;
using allot::plan_pair;
using allot::plan_piece;
using allot::plan_place;
using allot::plan_problem;
using allot::plan_progress;
using allot::plan_queues;
using allot::plan_ranged;
using allot::plan_refusal;
using allot::plan_reserved;
using allot::plan_revival;
using allot::plan_rows;
using allot::plan_rows_into;
using allot::plan_shortfall;
using allot::plan_space;
using allot::plan_status;
using allot::plan_storage;
using allot::plan_summary;
using allot::plan_symbol;
using allot::plan_symbolic;
using allot::plan_timed;
using allot::plan_violation;
using allot::plan_violation_kind;
using allot::plan_workspace;
using allot::planned;
using allot::point_state;
using allot::pointer_memory;
using allot::pointer_memory_traits;
using allot::pointer_table;
using allot::pool;
using allot::pool_options;
using allot::pool_store;
using allot::positional;
using allot::positional_allocator;
using allot::prescribed_bits;
using allot::priority_eviction;
using allot::processor_by_stack;
using allot::quarantine_options;
using allot::quarantined;
using allot::queue_id;
using allot::queue_wait;
using allot::queued_buffer;
using allot::queued_plan;
using allot::queued_problem;
using allot::queued_use;
using allot::queued_violation;
using allot::queued_violation_kind;
using allot::ranged_options;
using allot::ranged_piece;
using allot::ranged_plan;
using allot::ranged_problem;
using allot::ranged_violation;
using allot::ranged_violation_kind;
using allot::ranked_row;
using allot::raw_pointer;
using allot::read_event_log;
using allot::read_only;
using allot::read_snapshot;
using allot::read_trace;
using allot::reallocate;
using allot::reclaim;
using allot::recompute_tensors;
using allot::recomputed_graph;
using allot::refusal;
using allot::region;
using allot::region_of;
using allot::remote_copy;
using allot::remote_offset;
using allot::remote_refusal;
using allot::removable;
using allot::replan;
using allot::replan_at;
using allot::replan_into;
using allot::replan_summary;
using allot::report;
using allot::report_format;
using allot::report_options;
using allot::reserving_device;
using allot::resettable;
using allot::resettable_allocator;
using allot::resizable;
using allot::resizable_allocator;
using allot::result;
using allot::retrying;
using allot::retrying_options;
using allot::reuse_eviction;
using allot::ring;
using allot::ring_metadata;
using allot::ring_options;
using allot::rolling_hash;
using allot::row_address;
using allot::row_index;
using allot::row_layout;
using allot::row_offset;
using allot::row_offsets;
using allot::row_pointer;
using allot::row_references;
using allot::row_split;
using allot::row_storage;
using allot::row_storage_body;
using allot::row_table;
using allot::row_view;
using allot::row_view_of;
using allot::rows_plan;
using allot::rows_problem;
using allot::rows_summary;
using allot::run;
using allot::s3_fifo_eviction;
using allot::scope_entry;
using allot::scope_map;
using allot::scoped_mark;
using allot::segregated;
using allot::segregated_mark;
using allot::segregated_metadata;
using allot::self_contained_device;
using allot::separate;
using allot::shape;
using allot::shaped_device;
using allot::sharded;
using allot::sharded_metadata;
using allot::share_branches;
using allot::share_bytes;
using allot::share_rows;
using allot::shared_row;
using allot::shared_rows;
using allot::shared_rows_body;
using allot::size_branch;
using allot::sized_allocator;
using allot::slice;
using allot::snapshot;
using allot::snapshot_at;
using allot::snapshot_block;
using allot::snapshot_of;
using allot::snapshot_range;
using allot::space_of_memories;
using allot::space_of_plan;
using allot::space_of_replan;
using allot::space_of_rows;
using allot::spin_lock;
using allot::stack;
using allot::stack_metadata;
using allot::stack_options;
using allot::stacking_order;
using allot::staged_copy;
using allot::static_memories_plan;
using allot::static_memory_layout;
using allot::static_plan;
using allot::std_allocator;
using allot::storage;
using allot::storage_body;
using allot::storage_list;
using allot::storage_offset;
using allot::storage_policies;
using allot::strategy;
using allot::strategy_in;
using allot::strategy_requirements;
using allot::strict_priority;
using allot::strided_tensor;
using allot::strides;
using allot::symbolic_buffer;
using allot::symbolic_extent;
using allot::symbolic_plan;
using allot::symbolic_problem;
using allot::symbolic_size;
using allot::symmetric;
using allot::symmetric_mark;
using allot::symmetric_metadata;
using allot::symmetric_tensor;
using allot::synchronized;
using allot::table_error;
using allot::table_refusal;
using allot::table_version;
using allot::tagged;
using allot::tagged_block;
using allot::tagged_mark;
using allot::tagged_options;
using allot::take_snapshot;
using allot::tensor;
using allot::tensor_error;
using allot::tensor_in;
using allot::tensor_in_rows;
using allot::tensor_on_rows;
using allot::tensor_refusal;
using allot::tensor_request;
using allot::tensor_result;
using allot::tensor_with_runs;
using allot::tensor_with_shared_rows;
using allot::texture;
using allot::texture_bytes;
using allot::texture_channels;
using allot::texture_of;
using allot::texture_pitch;
using allot::texture_region;
using allot::texture_row_step;
using allot::texture_scope;
using allot::texture_shape;
using allot::thread_cache;
using allot::thread_local_caches;
using allot::time_unit;
using allot::timed_copy;
using allot::timed_plan;
using allot::timed_problem;
using allot::timed_summary;
using allot::timeline;
using allot::to_dlpack;
using allot::to_dlpack_or_copy;
using allot::to_dlpack_unversioned;
using allot::to_string;
using allot::trace;
using allot::trace_action;
using allot::trace_operation;
using allot::trace_writer;
using allot::traits_of;
using allot::trimmable_allocator;
using allot::typed_pool;
using allot::uint1;
using allot::uint16;
using allot::uint32;
using allot::uint4;
using allot::uint64;
using allot::uint8;
using allot::unique_array;
using allot::unique_block;
using allot::unique_ptr;
using allot::unwatched;
using allot::up_to;
using allot::use;
using allot::use_policies;
using allot::validate;
using allot::validate_branches;
using allot::validate_graph;
using allot::validate_memories;
using allot::validate_mixed;
using allot::validate_moves;
using allot::validate_pages;
using allot::validate_pages_space;
using allot::validate_queues;
using allot::validate_ranged;
using allot::validate_rows;
using allot::validate_space;
using allot::validate_timed;
using allot::view;
using allot::view_of;
using allot::wait_policy;
using allot::when_full;
using allot::write;
using allot::write_snapshot;
using allot::write_table;
namespace dlpack_flag {
using allot::dlpack_flag::is_copied;
using allot::dlpack_flag::is_padded;
using allot::dlpack_flag::read_only;
}  // namespace dlpack_flag
namespace growth {
using allot::growth::contiguous;
using allot::growth::fixed;
using allot::growth::geometric;
using allot::growth::none;
}  // namespace growth
namespace hexagon {
using allot::hexagon::to_string;
using allot::hexagon::vtcm;
using allot::hexagon::vtcm_driver;
using allot::hexagon::vtcm_error;
using allot::hexagon::vtcm_manager;
}  // namespace hexagon
namespace host {
using allot::host::buffer;
using allot::host::heap;
using allot::host::process_barrier;
using allot::host::static_buffer;
using allot::host::static_storage;
using allot::host::tightly_coupled;
using allot::host::to_string;
using allot::host::window;
using allot::host::window_error;
}  // namespace host
inline namespace literals {
using allot::literals::operator""_B;
using allot::literals::operator""_GiB;
using allot::literals::operator""_KiB;
using allot::literals::operator""_MiB;
}  // namespace literals
namespace metal {
using allot::metal::base_align;
using allot::metal::buffer;
using allot::metal::buffer_address;
using allot::metal::buffer_layout;
using allot::metal::buffer_memory;
using allot::metal::contents;
using allot::metal::did_modify;
using allot::metal::error;
using allot::metal::heap;
using allot::metal::heap_align;
using allot::metal::place_buffer;
using allot::metal::queue_copy;
using allot::metal::storage_mode;
using allot::metal::storage_mode_of;
using allot::metal::to_string;
}  // namespace metal
namespace references {
using allot::references::atomic;
using allot::references::basic_none;
using allot::references::none;
using allot::references::plain;
}  // namespace references
namespace scope {
using allot::scope::ddr;
using allot::scope::global;
using allot::scope::texture;
using allot::scope::texture_nhwc;
using allot::scope::texture_weight;
using allot::scope::vtcm;
}  // namespace scope
}  // namespace v1
}  // namespace allot

#if (defined(__unix__) || defined(__APPLE__))
export namespace allot {
inline namespace v1 {
using allot::shared_arena;
namespace external {
using allot::external::counterpart;
using allot::external::exportable;
using allot::external::handle_kind;
using allot::external::handle_kinds;
using allot::external::importable;
using allot::external::memory;
using allot::external::properties;
using allot::external::share;
using allot::external::uuid;
}  // namespace external
namespace host {
using allot::host::address_space;
using allot::host::contiguous_options;
using allot::host::contiguous_pages;
using allot::host::current_processor;
using allot::host::huge_pages;
using allot::host::lazy_address_space;
using allot::host::lazy_virtual_memory;
using allot::host::pages;
using allot::host::pages_options;
using allot::host::pinned_pages;
using allot::host::shared_memory;
using allot::host::virtual_memory;
}  // namespace host
namespace xrt {
using allot::xrt::buffer_handle;
using allot::xrt::calls;
using allot::xrt::device_handle;
using allot::xrt::installed;
}  // namespace xrt
}  // namespace v1
}  // namespace allot
#endif

#if defined(_WIN32)
export namespace allot {
inline namespace v1 {
namespace windows {
using allot::windows::address_space;
using allot::windows::allow_large_pages;
using allot::windows::commitment_limit;
using allot::windows::error_code;
using allot::windows::huge_pages;
using allot::windows::invalid_parameter;
using allot::windows::no_system_resources;
using allot::windows::not_all_assigned;
using allot::windows::not_enough_memory;
using allot::windows::not_supported;
using allot::windows::pages;
using allot::windows::pages_options;
using allot::windows::privilege_not_held;
using allot::windows::to_string;
using allot::windows::virtual_memory;
}  // namespace windows
}  // namespace v1
}  // namespace allot
#endif

#if defined(__cpp_lib_atomic_wait) && defined(__cpp_lib_scoped_lock)
export namespace allot {
inline namespace v1 {
namespace host {
using allot::host::job_error;
using allot::host::job_point;
using allot::host::job_queue;
using allot::host::job_timeline;
}  // namespace host
}  // namespace v1
}  // namespace allot
#endif

#if defined(__linux__) && __has_include(<linux/dma-buf.h>)
export namespace allot {
inline namespace v1 {
namespace dma {
using allot::dma::buffer;
using allot::dma::buffer_sync;
using allot::dma::bus_addressed;
using allot::dma::contiguous_access;
using allot::dma::contiguous_memory;
using allot::dma::contiguous_source;
using allot::dma::cpu_access;
using allot::dma::cpu_use;
using allot::dma::imported_memory;
using allot::dma::imported_options;
using allot::dma::mapped_copy;
using allot::dma::page_frames;
using allot::dma::physical_buffer;
using allot::dma::physical_node;
using allot::dma::physical_request;
using allot::dma::u_dma_buf;
using allot::dma::u_dma_buf_options;
using allot::dma::u_dma_buf_paths;
using allot::dma::u_dma_buf_sync;
}  // namespace dma
namespace xrt {
using allot::xrt::buffer_object_sync;
using allot::xrt::buffers;
using allot::xrt::imported_memory;
}  // namespace xrt
}  // namespace v1
}  // namespace allot
#endif

#if defined(__linux__) && __has_include(<linux/dma-buf.h>) && __has_include(<linux/dma-heap.h>)
export namespace allot {
inline namespace v1 {
namespace dma {
using allot::dma::heap;
using allot::dma::heap_name;
using allot::dma::heap_options;
}  // namespace dma
}  // namespace v1
}  // namespace allot
#endif

#if defined(__linux__) && __has_include(<linux/dma-buf.h>) && __has_include(<linux/udmabuf.h>)
export namespace allot {
inline namespace v1 {
namespace dma {
using allot::dma::udmabuf;
using allot::dma::udmabuf_options;
}  // namespace dma
}  // namespace v1
}  // namespace allot
#endif

#if defined(__linux__) && __has_include(<linux/futex.h>)
export namespace allot {
inline namespace v1 {
namespace host {
using allot::host::fork_lock;
}  // namespace host
}  // namespace v1
}  // namespace allot
#endif
