// No allocator: the functions are there, and empty.
#pragma once
