// std::iterator_traits and the iterators' tags, without the rest of <iterator>: that takes a compiler of C++20 a second
// to read, in every file.
#pragma once

#if __has_include(<bits/stl_iterator_base_types.h>)  // GCC's library, which Clang uses on Linux, too
#include <bits/stl_iterator_base_types.h>
#else
#include <iterator>
#endif
