// SPDX-License-Identifier: BSL-1.0
// run: runs one network in one memory, step by step, and returns the digest of its outputs.
//
// A memory is a type with
//     begin(t), end(t)                the lifetime of a tensor; its initial content does not matter
//     start_step()                    resets the step's sum to 0
//     absorb(t, number)               reads all of a tensor into the step's sum
//     witness(t)                      reads all of a tensor into the final sum
//     produce(t, salt), fill(t, salt) writes all of a tensor from the step's sum, or from the salt alone
//     digest()                        returns the final sum
// The final sum includes every output, and every tensor that no step reads, so that each written byte is checked.
#pragma once

#include "counting.hpp"
#include "../firmware/mix.hpp"
#include "network.hpp"

#include <allot/tensor.hpp>

#include <variant>

namespace demo {

/// A memory that this machine lacks. The program reports it and runs the others.
struct unavailable : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// `progress(step, steps)` is called before every step.
template <class Memory, class Progress>
[[nodiscard]] std::uint64_t run(const network& net, Memory& memory, Progress&& progress) {
    const std::size_t duration = net.duration();
    const schedule lives{net};
    for (std::size_t now = 0; now != duration; ++now) {
        progress(now, duration);
        for (const std::size_t t : lives.begins[now]) {
            memory.begin(t);
            if (net.tensors[t].is_input) memory.fill(t, mix::salt_of(duration, t));
        }
        if (now < net.steps.size()) {
            const step& work = net.steps[now];
            memory.start_step();
            for (std::size_t i = 0; i != work.reads.size(); ++i) {
                if (net.tensors[work.reads[i]].size != 0) memory.absorb(work.reads[i], i);
            }
            for (std::size_t i = 0; i != work.writes.size(); ++i) {
                if (net.tensors[work.writes[i]].size != 0) memory.produce(work.writes[i], mix::salt_of(now, i));
            }
        }
        for (const std::size_t t : lives.ends[now]) {
            if (net.tensors[t].is_output || !net.tensors[t].is_read) memory.witness(t);
        }
        for (const std::size_t t : lives.ends[now]) memory.end(t);
    }
    return mix::key_of(memory.digest(), 0);
}

/// Calls `use(address, bytes, position)` for each run of a tensor's first `size` bytes; the last row may be partial.
template <class Tensor, class Use>
void for_pieces(const Tensor& of, std::size_t size, Use&& use) {
    std::size_t position = 0;
    const allot::tensor_error error = allot::for_each_run(of, [&](auto at, std::size_t bytes) {
        use(at, std::min(bytes, size - position), position);
        position += bytes;
    });
    if (error.reason != allot::tensor_refusal::none) throw std::logic_error{error.what()};
}
template <class... Tensors, class Use>
void for_pieces(const std::variant<Tensors...>& of, std::size_t size, Use&& use) {
    std::visit([&](const auto& tensor) { for_pieces(tensor, size, use); }, of);
}

/// A memory in which the host computes. `Places` has `take(t)`, which returns a tensor, or a variant of tensors, of at
/// least the size of the network's tensor.
template <class Places>
class mixed_by_host : public Places {
public:
    mixed_by_host(const network& net, tally& counts) : Places{net, counts}, net_{net}, tensors_(net.tensors.size()) {}
    mixed_by_host(const mixed_by_host&) = delete;  // tensors refer to the memory by its address

    void begin(std::size_t t) { tensors_[t] = this->take(t); }
    void end(std::size_t t) { tensors_[t] = {}; }

    void start_step() { sum_ = 0; }
    void absorb(std::size_t t, std::size_t number) { sum_ += sum_of(t, number); }
    void witness(std::size_t t) { final_ += sum_of(t, t); }
    void produce(std::size_t t, std::uint64_t salt) { write(t, mix::key_of(sum_, salt)); }
    void fill(std::size_t t, std::uint64_t salt) { write(t, mix::key_of(0, salt)); }
    [[nodiscard]] std::uint64_t digest() const { return final_; }

private:
    /// Returns the host's pointer to an address; memories without pointers provide `reach`.
    template <class Address>
    [[nodiscard]] static void* pointer(Address at) {
        if constexpr (std::same_as<Address, void*>) return at;
        else return Places::reach(at);
    }
    [[nodiscard]] std::uint64_t sum_of(std::size_t t, std::size_t number) {
        std::uint64_t sum = 0;
        for_pieces(tensors_[t], net_.tensors[t].size, [&](auto at, std::size_t size, std::size_t position) {
            sum += mix::absorb(pointer(at), size, position, number);
        });
        return sum;
    }
    void write(std::size_t t, std::uint64_t key) {
        for_pieces(tensors_[t], net_.tensors[t].size, [&](auto at, std::size_t size, std::size_t position) {
            mix::produce(pointer(at), size, position, key);
        });
    }

    const network& net_;
    std::vector<decltype(std::declval<Places&>().take(0))> tensors_;
    std::uint64_t sum_ = 0, final_ = 0;
};

}  // namespace demo
