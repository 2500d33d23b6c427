// SPDX-License-Identifier: BSL-1.0
// The subjects of a replay from other libraries: glibc, libstdc++, Boost and, if installed, foonathan/memory, mimalloc
// and jemalloc. The last two are called by their own names and do not replace malloc (see CMakeLists.txt).
#pragma once

#include "replay.hpp"

#include <boost/interprocess/mem_algo/rbtree_best_fit.hpp>
#include <boost/interprocess/sync/mutex_family.hpp>
#include <boost/pool/simple_segregated_storage.hpp>
#ifdef ALLOT_BOOST_CONTAINER
#include <boost/container/pmr/unsynchronized_pool_resource.hpp>
#endif
#ifdef ALLOT_FOONATHAN
#include <foonathan/memory/heap_allocator.hpp>
#include <foonathan/memory/memory_pool.hpp>
#include <foonathan/memory/memory_pool_collection.hpp>
#include <foonathan/memory/memory_stack.hpp>
#endif
#ifdef ALLOT_JEMALLOC
#include <jemalloc/jemalloc.h>
#endif
#ifdef ALLOT_MIMALLOC
#include <mimalloc.h>
#endif

#include <cstdlib>
#include <memory_resource>

namespace benchmarks {

struct glibc_malloc : heap_subject {
    static constexpr const char* name = "glibc_malloc";
    glibc_malloc(std::uint64_t, const allot::trace&) {}
    bool allocate(std::uint64_t size, std::size_t align, block& to) {
        to = align <= 16 ? std::malloc(size)
                         : std::aligned_alloc(align, (size + align - 1) & ~(std::uint64_t{align} - 1));
        return to != nullptr;
    }
    void deallocate(block held, const allot::trace_operation&) { std::free(held); }
};

#ifdef ALLOT_MIMALLOC
struct mimalloc : heap_subject {
    static constexpr const char* name = "mimalloc";
    static constexpr const char* honours = "as asked; 8 for sizes up to 8";
    mimalloc(std::uint64_t, const allot::trace&) {}
    bool allocate(std::uint64_t size, std::size_t align, block& to) {
        to = align <= 16 ? ::mi_malloc(size) : ::mi_malloc_aligned(size, align);
        return to != nullptr;
    }
    void deallocate(block held, const allot::trace_operation&) { ::mi_free(held); }
};
#endif

#ifdef ALLOT_JEMALLOC
struct jemalloc : heap_subject {
    static constexpr const char* name = "jemalloc";
    jemalloc(std::uint64_t, const allot::trace&) {}
    bool allocate(std::uint64_t size, std::size_t align, block& to) {
        to = ::mallocx(size, std::countr_zero(align));  // equals MALLOCX_ALIGN(align)
        return to != nullptr;
    }
    void deallocate(block held, const allot::trace_operation& of) { ::sdallocx(held, of.size, of.align_log2); }
};
#endif

/// Pool resources over new and delete.
struct std_pmr_pool : resource_subject<std::pmr::memory_resource> {
    static constexpr const char* name = "std_pmr_pool";
    std_pmr_pool(std::uint64_t, const allot::trace&) { call(on_); }

private:
    std::pmr::unsynchronized_pool_resource on_;
};
#ifdef ALLOT_BOOST_CONTAINER
struct boost_pmr_pool : resource_subject<boost::container::pmr::memory_resource> {
    static constexpr const char* name = "boost_pmr_pool";
    boost_pmr_pool(std::uint64_t, const allot::trace&) { call(on_); }

private:
    boost::container::pmr::unsynchronized_pool_resource on_;
};
#endif

/// Uses plain pointers, which is twice as fast as offset_ptr.
struct interprocess_best_fit : pointer_subject {
    using algorithm = boost::interprocess::rbtree_best_fit<boost::interprocess::null_mutex_family, void*>;
    static constexpr const char* name = "boost_interprocess_best_fit";
    static constexpr const char* honours = "as asked";
    static constexpr subject_group group = subject_group::best_fit;
    static constexpr bool bounded = true;
    static bool serves(const workload& of) { return of.trace.peak <= most_in_memory; }
    interprocess_best_fit(std::uint64_t bytes, const allot::trace&) : on_{::new(host_memory()) algorithm{bytes, 0}} {}
    ~interprocess_best_fit() { on_->~algorithm(); }
    interprocess_best_fit(const interprocess_best_fit&) = delete;
    interprocess_best_fit& operator=(const interprocess_best_fit&) = delete;
    bool allocate(std::uint64_t size, std::size_t align, block& to) {
        to = align <= algorithm::Alignment ? on_->allocate(size) : on_->allocate_aligned(size, align);
        return to != nullptr;
    }
    void deallocate(block held, const allot::trace_operation&) { on_->deallocate(held); }

private:
    algorithm* on_;
};

struct boost_segregated_storage : pointer_subject {
    static constexpr const char* name = "boost_segregated_storage";
    static constexpr const char* honours = "the slot's: 64";
    static constexpr subject_group group = subject_group::pool;
    static constexpr bool bounded = true;
    static bool serves(const workload& of) { return of.size == 64; }
    boost_segregated_storage(std::uint64_t bytes, const allot::trace&) { on_.add_block(host_memory(), bytes, 64); }
    bool allocate(std::uint64_t, std::size_t, block& to) {
        if (on_.empty()) return false;
        to = on_.malloc();
        return true;
    }
    void deallocate(block held, const allot::trace_operation&) { on_.free(held); }

private:
    boost::simple_segregated_storage<std::size_t> on_;
};

struct std_pmr_monotonic : pointer_subject {
    static constexpr const char* name = "std_pmr_monotonic";
    static constexpr const char* honours = "as asked";
    static constexpr subject_group group = subject_group::bump;
    static constexpr bool bounded = false;  // exhaustion throws
    static bool serves(const workload& of) { return of.drops; }
    std_pmr_monotonic(std::uint64_t bytes, const allot::trace&) : on_{host_memory(), bytes} {}
    bool allocate(std::uint64_t size, std::size_t align, block& to) {
        to = on_.allocate(size, align);
        return true;
    }
    void deallocate(block, const allot::trace_operation&) {}
    void reset() { on_.release(); }

private:
    std::pmr::monotonic_buffer_resource on_;
};

#ifdef ALLOT_FOONATHAN
struct foonathan_stack : pointer_subject {
    static constexpr const char* name = "foonathan_memory_stack";
    static constexpr const char* honours = "as asked";
    static constexpr subject_group group = subject_group::bump;
    static constexpr bool bounded = false;  // allocates another block of memory instead of failing
    static bool serves(const workload& of) { return of.drops; }
    foonathan_stack(std::uint64_t bytes, const allot::trace&) : on_{bytes}, empty_{on_.top()} {}
    bool allocate(std::uint64_t size, std::size_t align, block& to) {
        to = on_.allocate(size, align);
        return true;
    }
    void deallocate(block, const allot::trace_operation&) {}
    void reset() { on_.unwind(empty_); }

private:
    foonathan::memory::memory_stack<> on_;
    foonathan::memory::memory_stack<>::marker empty_;
};

struct foonathan_pool : pointer_subject {
    static constexpr const char* name = "foonathan_node_pool";
    static constexpr const char* honours = "16";
    static constexpr subject_group group = subject_group::pool;
    static constexpr bool bounded = false;
    static bool serves(const workload& of) { return of.size == 64; }
    foonathan_pool(std::uint64_t bytes, const allot::trace&) : on_{64, bytes} {}
    bool allocate(std::uint64_t, std::size_t, block& to) {
        to = on_.allocate_node();
        return true;
    }
    void deallocate(block held, const allot::trace_operation&) { on_.deallocate_node(held); }

private:
    foonathan::memory::memory_pool<foonathan::memory::node_pool> on_;
};

/// Pools of powers of two up to 4 KiB, and the heap for larger sizes, because the collection takes one block size
/// for all.
struct foonathan_collection : heap_subject {
    static constexpr const char* name = "foonathan_pool_collection";
    static constexpr const char* honours = "the size's power of two, at most 16";
    static constexpr std::uint64_t most = 4096;
    static bool serves(const workload& of) { return heap_subject::serves(of) && of.trace.most_align <= 16; }
    foonathan_collection(std::uint64_t, const allot::trace&) : on_{most, 1 << 20} {}
    bool allocate(std::uint64_t size, std::size_t, block& to) {
        to = size <= most ? on_.allocate_node(size) : foonathan::memory::heap_alloc(size);
        return to != nullptr;
    }
    void deallocate(block held, const allot::trace_operation& of) {
        if (of.size <= most) on_.deallocate_node(held, of.size);
        else foonathan::memory::heap_dealloc(held, of.size);
    }

private:
    foonathan::memory::memory_pool_collection<foonathan::memory::node_pool, foonathan::memory::log2_buckets> on_;
};
#endif

}  // namespace benchmarks
