// Where data and results lie on their way from a rank to another.
#pragma once

#include "rungs/across/parts/layout.cuh"

namespace rungs::RUNGS_ABI::across::parts {

// In which window a block puts what `from` sends to `to`, and the place there. Results have places of their own. What
// is pulled lies with its sender, who puts a result down once for all.
template <class Way>
struct route {
  Way way;
  int num_ranks;

  __device__ int window(int from, int to) const { return way.is_pulled() ? from : to; }
  __device__ int place_of_data(int from, int to) const {
    return way.is_pulled() ? place_of(to, from) : place_of(from, to);
  }
  __device__ int place_of_result(int from, int to) const {
    return sources(num_ranks) + (way.is_pulled() ? 0 : place_of(from, to));
  }
};

}  // namespace rungs::RUNGS_ABI::across::parts
