// SPDX-License-Identifier: BSL-1.0
// inference: one run of the network, and its expected result. Operators do not perform the computations of their names.
// They read every byte of their input and write every byte of their output, mixed with position and content (mix.hpp).
// At the end of a tensor's lifetime, every byte of it is read again, which also detects an operator that overwrites its
// own input. A single byte that two tensors share, or that is outside its memory, changes the digest.
//
//     infer      tensors in memory, at planned offsets: input ─► read ─► sum ─► key ─► written ─► read ─► …
//     expected   the same numbers without memory: the key and the position of a word determine its value, so that no
//                byte can be overwritten
#pragma once

#include "mix.hpp"
#include "networks.hpp"

namespace firmware {

namespace mix = demo::mix;

namespace detail {
/// `sum(t, number)` returns the sum of a tensor's words; `fill(t, key)` writes its words.
template <class Fill, class Sum>
[[nodiscard]] std::uint64_t digest(const network& net, Fill&& fill, Sum&& sum) {
    const std::size_t last = net.tensors.size() - 1;
    fill(0, mix::key_of(0, mix::salt_of(last, 0)));
    std::uint64_t kept = 0;
    for (std::size_t step = 0; step != net.steps(); ++step) {
        if (step < last) fill(step + 1, mix::key_of(sum(step, 0), mix::salt_of(step, 0)));
        for (std::size_t t = 0; t <= last; ++t)
            if (net.tensors[t].live.until == static_cast<std::int64_t>(step) + 1) kept += sum(t, t);
    }
    return mix::key_of(kept, 0);
}
}  // namespace detail

/// `place(t)` returns the block of a tensor; `between()` is called before every operator.
template <class Place, class Between>
[[nodiscard]] std::uint64_t infer(const network& net, Place&& place, Between&& between) {
    return detail::digest(
        net,
        [&](std::size_t t, std::uint64_t key) {
            between();
            const auto block = place(t);
            mix::produce(block.address, block.size, 0, key);
        },
        [&](std::size_t t, std::size_t number) {
            const auto block = place(t);
            return mix::absorb(block.address, block.size, 0, number);
        });
}

template <const network& Net>
[[nodiscard]] std::uint64_t expected() {
    std::uint64_t keys[Net.tensors.size()]{};
    return detail::digest(
        Net, [&](std::size_t t, std::uint64_t key) { keys[t] = key; },
        [&](std::size_t t, std::size_t number) {
            std::uint64_t sum = 0;
            auto left = static_cast<std::uint32_t>(Net.tensors[t].size);
            for (std::uint32_t position = 0; left != 0; ++position) {
                std::uint32_t word = mix::drawn(keys[t], position);
                if (left < 4) word &= (std::uint32_t{1} << (8 * left)) - 1;  // little-endian: first bytes of it
                left -= left < 4 ? left : 4;
                sum += mix::weighed(word, position, static_cast<std::uint32_t>(number));
            }
            return sum;
        });
}

}  // namespace firmware
