// Fuzz target: the reader of network files, with arbitrary text. An accepted text is a valid network: all lifetimes are
// within its steps, and its sums do not overflow.
#include <network.hpp>

#include <algorithm>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    try {
        const demo::network net =
            demo::network_reader{"input"}.read(std::string(reinterpret_cast<const char*>(bytes), size));
        const auto is_inside = [&](const demo::tensor& t) { return t.first <= t.last && t.last < net.duration(); };
        if (!std::all_of(net.tensors.begin(), net.tensors.end(), is_inside)) std::abort();
        std::size_t most = 0;
        for (const demo::tensor& t : net.tensors) most = std::max(most, t.size);
        if (net.lower_bound() > net.sum() || net.lower_bound() < most) std::abort();

        const demo::schedule lives{net};
        std::size_t begun = 0, ended = 0;
        for (std::size_t now = 0; now != net.duration(); ++now) {
            begun += lives.begins[now].size();
            ended += lives.ends[now].size();
            if (ended > begun) std::abort();
        }
        if (ended != begun) std::abort();
    } catch (const demo::input_error& reason) {
        if (*reason.what() == '\0') std::abort();
    }
    return 0;
}
