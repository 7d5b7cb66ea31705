// Items that no memory holds: a function makes them of their numbers.
#pragma once

#include <cstddef>
#include <iterator>
#include <utility>

namespace rungs::tests {

// Item i is make(first + i).
template <class Make>
struct made {
  using iterator_category = std::random_access_iterator_tag;
  using value_type = decltype(std::declval<Make>()(0ll));
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  using reference = value_type;

  Make make;
  long long first = 0;

  __host__ __device__ value_type operator[](difference_type i) const { return make(first + i); }
  __host__ __device__ value_type operator*() const { return make(first); }
  __host__ __device__ made operator+(difference_type i) const { return {make, first + i}; }
};

}  // namespace rungs::tests
