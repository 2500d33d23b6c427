// counted: an object whose constructions and destructions are counted, and whose constructor throws on demand.
#pragma once

#include <vector>

namespace objects {

struct counts {
    int made = 0, alive = 0;
    int throw_at = 0;              // the construction that throws, counted from 1; 0 for none
    std::vector<int> destroyed{};  // numbers of objects, in the order of destruction
};

class counted {
public:
    struct failure {};
    using numbers = counts;

    explicit counted(numbers& in) : in_{&in}, number_{in.made + 1} {
        if (in.made + 1 == in.throw_at) throw failure{};
        ++in.made;
        ++in.alive;
    }
    /// For arrays, whose elements take no arguments: counts in `current`.
    counted() : counted{current} {}
    counted(const counted&) = delete;
    counted& operator=(const counted&) = delete;
    ~counted() {
        --in_->alive;
        in_->destroyed.push_back(number_);
    }

    static inline numbers current;

private:
    numbers* in_;
    int number_;
};

}  // namespace objects
