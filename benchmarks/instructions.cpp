// SPDX-License-Identifier: BSL-1.0
// Instructions per operation, compared with handwritten code. instructions.sh runs this program under callgrind.
// Without an argument, all cases run; with an argument, the cases whose names contain it.
#include "instructions.hpp"

int main(int argc, char** argv) {
    for (const auto cases :
         {bump_cases, pool_cases, best_fit_cases, plan_cases, adapt_cases, boost_cases, allocate_at_cases,
          counted_cases, deferred_cases, guided_cases, ordered_cases, regions_cases, tensor_cases, threads_cases}) {
        for (const instructions_case& each : cases()) {
            if (argc == 1 || each.name.find(argv[1]) != std::string::npos) each.run(each.name);
        }
    }
}
