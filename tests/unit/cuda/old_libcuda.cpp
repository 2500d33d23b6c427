// A driver from before virtual memory management: a library with the name libcuda.so.1 and fewer functions.
extern "C" int cuInit(unsigned int) { return 0; }
