// The compiler plans: buffers with lifetimes get offsets, and buffers that never live together share bytes.
#include <allot/allot.hpp>
#include <allot/plan.hpp>

#include <cstdio>

// Steps are the operators of a network. A buffer with the life {0, 3} is used in steps 0, 1, and 2.
static constexpr allot::plan_buffer buffers[] = {
    {.size = 600, .live = {0, 3}, .align = 4},  // samples
    {.size = 300, .live = {2, 5}, .align = 8},  // spectrum
    {.size = 600, .live = {4, 6}, .align = 4},  // features
};
static constexpr auto layout = allot::plan<buffers>();
static_assert(layout.peak <= 1024);

// If the plan does not fit the storage, this does not compile, and the message has the number of missing bytes.
static allot::arena<allot::host::static_storage<1024, layout.align>, allot::planned<layout>> memory;

int main() {
    const auto samples = memory.at<0>(), spectrum = memory.at<1>(), features = memory.at<2>();
    for (std::size_t i = 0; i != layout.places.size(); ++i)
        std::printf("buffer %zu: bytes %3llu to %3llu\n", i, static_cast<unsigned long long>(layout.places[i].offset),
                    static_cast<unsigned long long>(layout.places[i].offset + layout.places[i].size));
    std::printf("%llu bytes in all, instead of 1500\n", static_cast<unsigned long long>(layout.peak));

    // Samples and features are never alive at the same step: they have the same bytes.
    return samples.address == features.address && spectrum.size == 300 ? 0 : 1;
}
