/* Three buffers of a network get places in one memory of a device, before it runs and while it runs. */
#include <allot.h>

#include <stdio.h>

static int report(const char* call, allot_status status) {
    fprintf(stderr, "%s: %s\n", call, allot_status_text(status));
    return 1;
}

/* Before the network runs: the planner knows all sizes and lifetimes. */
static int plan(uint64_t* peak) {
    const allot_buffer buffers[] = {{4096, 0, 2, 1}, {1024, 1, 3, 64}, {4096, 2, 4, 1}};
    allot_problem problem = ALLOT_PROBLEM_INIT;
    allot_plan_summary summary = ALLOT_PLAN_SUMMARY_INIT;
    allot_place places[3];
    allot_status status;
    problem.buffers = buffers;
    problem.buffer_count = 3;
    status = allot_plan(&problem, NULL, places, &summary);
    if (status != ALLOT_OK) return report("allot_plan", status);
    for (int i = 0; i != 3; ++i) printf("buffer %d: offset %llu\n", i, (unsigned long long)places[i].offset);
    printf("%llu bytes instead of 9216\n", (unsigned long long)summary.peak);
    *peak = summary.peak;
    return 0;
}

int main(void) {
    allot_offsets_options options = ALLOT_OFFSETS_OPTIONS_INIT;
    allot_statistics now = ALLOT_STATISTICS_INIT;
    allot_offsets* memory;
    allot_block tensor, weights;
    allot_status status;
    if (plan(&options.size) != 0) return 1;

    /* While it runs: an arena of offsets in as many bytes. It never touches them, so they may be of a GPU. */
    status = allot_offsets_create(&options, &memory);
    if (status != ALLOT_OK) return report("allot_offsets_create", status);
    status = allot_offsets_allocate(memory, 1000, 256, &tensor);
    if (status == ALLOT_OK) status = allot_offsets_allocate(memory, 3000, 256, &weights);
    if (status != ALLOT_OK) return report("allot_offsets_allocate", status);
    printf("tensor at %llu, weights at %llu\n", (unsigned long long)tensor.offset, (unsigned long long)weights.offset);
    status = allot_offsets_free(memory, &tensor);
    if (status != ALLOT_OK) return report("allot_offsets_free", status);
    printf("again: %s\n", allot_status_text(allot_offsets_free(memory, &tensor)));
    printf("5000 bytes: %s\n", allot_status_text(allot_offsets_allocate(memory, 5000, 1, &tensor)));
    status = allot_offsets_statistics(memory, &now);
    printf("%llu bytes in use\n", (unsigned long long)now.used);
    allot_offsets_destroy(memory);
    return status == ALLOT_OK && now.used == 3000 ? 0 : 1;
}
