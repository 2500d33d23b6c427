// A driver from before virtual memory management: a library of libcuda.so.1's name, with less in it.
extern "C" int cuInit(unsigned int) { return 0; }
