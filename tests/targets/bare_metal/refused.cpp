// Every construct that a program for a microcontroller must not contain. The test of forbidden symbols must find each.
#include <cstdio>
#include <iostream>

struct base {
    virtual ~base() = default;
};
struct derived : base {
    int number;
    explicit derived(int n) : number{n} {}
};
int initial();

int main() {
    static const int once = initial();      // a guard variable
    base* const fresh = new derived{once};  // the heap, by an operator new; and a destructor that deletes
    std::printf("%d\n", once);              // stdio
    std::cout << once;                      // iostream
    if (dynamic_cast<derived*>(fresh) == nullptr) throw once;  // typeinfo, exceptions
    delete fresh;
    return *static_cast<int*>(__builtin_malloc(4));
}
