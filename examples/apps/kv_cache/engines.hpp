// SPDX-License-Identifier: BSL-1.0
// Where the pages are and what computes on them: the host, or a device of OpenCL. Each
// engine has a memory of pages, computes one token of each sequence of a batch, and copies pages. The slower tier is
// memory of the host.
#pragma once

#include "attention.hpp"

#include <allot/allot.hpp>
#include <allot/page_cache.hpp>

#include <cstring>
#include <stdexcept>
#include <vector>
#ifdef KV_CACHE_OPENCL
#include <allot/opencl/events.hpp>
#include <allot/opencl/tensor.hpp>
#include <allot/tensor/device_table.hpp>
#endif

/// One token of each sequence.
struct batch {
    std::vector<uint> tokens, positions, tables;  // a table has `table_entries` entries
    std::vector<float> out;                       // `dim` for each sequence, filled by the engine
};
constexpr uint table_entries = 32;
constexpr std::size_t page_bytes = page_floats * sizeof(float);

/// Weights that depend on nothing but their number.
inline std::vector<float> make_weights() {
    std::vector<float> made(vocabulary * dim + layers * layer_floats);
    std::uint64_t state = 42;
    for (float& weight : made) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        weight = (static_cast<float>(state >> 40U) / 8388608.0F - 1) * 0.45F;
    }
    return made;
}

/// The host.
class host_engine {
    using arena_type = allot::naive<allot::host::heap>;
    struct no_copier {};

public:
    static constexpr const char* name = "host";
    using copies = allot::copied_pages<no_copier, arena_type, arena_type>;
    explicit host_engine(std::size_t pages)
        : block_{arena_.allocate({pages * page_bytes, 64})}, pages_{reinterpret_cast<float*>(block_.address)} {
        if (!block_) throw std::runtime_error{"no memory for pages"};
    }
    host_engine(const host_engine&) = delete;
    ~host_engine() { arena_.deallocate(block_); }

    void compute(batch& of) {
        of.out.resize(of.tokens.size() * dim);
        for (std::size_t i = 0; i != of.tokens.size(); ++i)
            compute_token(weights_.data(), pages_, &of.tables[i * table_entries], of.tokens[i], of.positions[i],
                          &of.out[i * dim]);
    }
    /// Returns a function that copies pages, also to and from host memory.
    [[nodiscard]] copies page_copies(void* slower) { return copies{{}, block_.address, slower}; }

private:
    arena_type arena_;
    allot::block_of<arena_type> block_;
    float* pages_;
    std::vector<float> weights_ = make_weights();
};

#ifdef KV_CACHE_OPENCL
/// Thrown when this machine has no device of OpenCL.
struct no_device : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The first device of OpenCL. All memory is one arena of buffers.
class opencl_engine {
    using arena_type = allot::arena<allot::opencl::buffer, allot::best_fit<>>;

public:
    static constexpr const char* name = "OpenCL";
    using copies = allot::copied_pages<allot::opencl::queue_copy, arena_type, allot::naive<allot::host::heap>>;
    explicit opencl_engine(std::size_t pages)
        : arena_{{context_, device_}, pages * page_bytes + (std::size_t{1} << 20U)},
          pages_{allocate(pages * page_bytes)},
          weights_{allocate(make_weights().size() * sizeof(float))},
          tables_{allot::alloc_device_table(arena_, line_, {.entries = most * table_entries}).value()},
          tokens_{allocate(most * sizeof(uint))},
          positions_{allocate(most * sizeof(uint))},
          out_{allocate(most * dim * sizeof(float))} {
        const std::string kernel = std::string{attention} + R"(
            kernel void compute_tokens(global uchar* pages, ulong p, global uchar* weights, ulong w,
                                       global uchar* tables, ulong t, global uchar* tokens, ulong k,
                                       global uchar* positions, ulong n, global uchar* out, ulong o) {
                const uint i = get_global_id(0);
                compute_token((global const float*)(weights + w), (global float*)(pages + p),
                              (global const uint*)(tables + t) + i * )" +
                                   std::to_string(table_entries) + R"(,
                              ((global const uint*)(tokens + k))[i], ((global const uint*)(positions + n))[i],
                              (global float*)(out + o) + i * dim);
            })";
        const cl::Program program{context_, kernel};
        if (program.build() != CL_SUCCESS)
            throw std::runtime_error{"the kernel: " + program.getBuildInfo<CL_PROGRAM_BUILD_LOG>(device_)};
        cl_int status = CL_SUCCESS;
        kernel_ = cl::Kernel{program, "compute_tokens", &status};
        check(status);
        cl_uint argument = 0;
        for (const block* each : {&pages_, &weights_, &tokens_, &positions_, &out_}) {
            if (argument == table_argument) argument += 2;
            check(allot::opencl::set_arg(kernel_, argument, *each));
            argument += 2;
        }
        const auto weights = make_weights();
        put(weights_, weights.data(), weights.size() * sizeof(float));
    }
    opencl_engine(const opencl_engine&) = delete;
    ~opencl_engine() {
        for (const block* each : {&pages_, &weights_, &tokens_, &positions_, &out_}) arena_.deallocate(*each);
    }

    void compute(batch& of) {
        const std::size_t count = of.tokens.size();
        // Copies the entries that differ from those of the last step.
        if (!tables_.set(0, of.tables)) throw std::runtime_error{"a batch has too many sequences"};
        const auto version = tables_.publish(queue_(), copy_);
        if (!version) throw std::runtime_error{version.error().what()};
        check(allot::opencl::set_arg(kernel_, table_argument, *version));
        put(tokens_, of.tokens.data(), count * sizeof(uint));
        put(positions_, of.positions.data(), count * sizeof(uint));
        check(queue_.enqueueNDRangeKernel(kernel_, cl::NullRange, cl::NDRange{count}, cl::NDRange{1}));
        of.out.resize(count * dim);
        get(out_, 0, of.out.data(), count * dim * sizeof(float));
    }
    /// Returns a function that copies pages on the device, and to and from host memory.
    [[nodiscard]] copies page_copies(void* slower) {
        return copies{allot::opencl::queue_copy{queue_}, pages_.address, slower};
    }

private:
    using block = allot::block_of<arena_type>;
    using table = allot::device_table<uint, arena_type&, allot::opencl::events&>;
    static constexpr std::size_t most = 64;  // sequences of a batch
    static constexpr cl_uint table_argument = 4;

    static void check(cl_int status) {
        if (status != CL_SUCCESS) throw std::runtime_error{"OpenCL: error " + std::to_string(status)};
    }
    static cl::Device first_device() {
        std::vector<cl::Platform> platforms;
        std::vector<cl::Device> devices;
        if (cl::Platform::get(&platforms) != CL_SUCCESS || platforms.empty()) throw no_device{"no platform of OpenCL"};
        if (platforms[0].getDevices(CL_DEVICE_TYPE_ALL, &devices) != CL_SUCCESS || devices.empty())
            throw no_device{"no device of OpenCL"};
        return devices[0];
    }
    [[nodiscard]] block allocate(std::size_t bytes) {
        const block made = arena_.allocate({bytes, 64});
        if (!made) throw std::runtime_error{"no memory of the device"};
        return made;
    }
    void put(const block& to, const void* from, std::size_t bytes) {
        check(::clEnqueueWriteBuffer(queue_(), to.address.handle, CL_TRUE, to.address.offset, bytes, from, 0, nullptr,
                                     nullptr));
    }
    void get(const block& from, std::uint64_t offset, void* to, std::size_t bytes) {
        check(::clEnqueueReadBuffer(queue_(), from.address.handle, CL_TRUE, from.address.offset + offset, bytes, to, 0,
                                    nullptr, nullptr));
    }

    cl::Device device_ = first_device();
    cl::Context context_{device_};
    cl::CommandQueue queue_{context_, device_};
    allot::opencl::queue_copy copy_{queue_, allot::opencl::mapping::never};
    allot::opencl::events line_;
    arena_type arena_;
    block pages_, weights_;
    table tables_;
    block tokens_, positions_, out_;
    cl::Kernel kernel_;
};
#endif
