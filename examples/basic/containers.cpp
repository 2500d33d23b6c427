// Containers of the standard library in an arena: by std::pmr, and by an allocator that is part of the container's
// type.
#include <allot/adapt/memory_resource.hpp>
#include <allot/adapt/std_allocator.hpp>
#include <allot/allot.hpp>

#include <cstdio>
#include <map>
#include <memory_resource>
#include <string>
#include <vector>

using namespace allot::literals;

int main() {
    using memory_type = allot::arena<allot::host::heap, allot::best_fit<>>;
    memory_type memory{{}, 1_MiB};
    if (!memory) return 1;

    // std::pmr: a virtual call for each allocation. Elements use the same memory.
    allot::memory_resource resource{memory};
    std::pmr::map<int, std::pmr::string> names{&resource};
    names.emplace(1, "a name that is too long for the small buffer of a string");
    names.emplace(2, "another name that is too long for it");

    // std_allocator: no virtual call.
    std::vector<int, allot::std_allocator<int, memory_type>> values{memory};
    for (int i = 0; i != 1000; ++i) values.push_back(i);

    if (!memory.owns({values.data(), sizeof(int), {}})) return 1;
    if (!memory.owns({names.at(1).data(), 1, {}})) return 1;

    // Both throw allot::bad_alloc, a std::bad_alloc with the reason.
    try {
        values.resize(1'000'000);
        return 1;
    } catch (const allot::bad_alloc& error) {
        std::printf("%zu names, %zu values, then: %s\n", names.size(), values.size(), error.what());
        return error.diagnosis().largest_hole < 4'000'000 ? 0 : 1;
    }
}
