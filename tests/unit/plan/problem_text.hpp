// The text of a problem with several memories, for the message of a failed test.
#pragma once

#include <allot/plan/memories_problem.hpp>

#include <sstream>
#include <string>

namespace problems {

inline std::string text(const allot::memories_problem& given) {
    std::ostringstream out;
    for (std::size_t i = 0; i != given.buffers.buffers.size(); ++i) {
        const allot::plan_buffer& b = given.buffers.buffers[i];
        out << "{" << b.size << ",{" << b.live.from << "," << b.live.until << "}," << b.align << "}";
        if (!given.uses.empty()) out << " uses " << given.uses[i];
        if (!given.allowed.empty()) out << " allowed " << given.allowed[i];
        out << "; ";
    }
    for (const auto& r : given.buffers.revivals)
        out << "again " << r.buffer << " {" << r.live.from << "," << r.live.until << "} ";
    for (const auto& f : given.buffers.fixed) out << "fixed " << f.buffer << " at " << f.offset << " ";
    for (const auto& p : given.buffers.together) out << "together {" << p.first << "," << p.second << "} ";
    for (const auto& p : given.buffers.apart) out << "apart {" << p.first << "," << p.second << "} ";
    for (const auto& p : given.separate) out << "separate {" << p.first << "," << p.second << "} ";
    for (const auto& m : given.memories) out << "memory {" << m.capacity << "," << m.align << "," << m.cost << "} ";
    return out.str();
}

}  // namespace problems
