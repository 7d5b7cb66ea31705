// How many items become steps: every block takes the same number of them, on all ranks.
#pragma once

#include "rungs/across/parts/layout.cuh"
#include "rungs/parts/launch.cuh"

namespace rungs::RUNGS_ABI::across::parts {

// In step k of a block there are `num_parts` parts of part_vectors vectors of 16 bytes, one behind the other; those
// behind the last item are empty. All blocks take all steps, also where they have nothing to do: a rank then knows that
// its peers have ended every step but the last.
struct plan {
  std::size_t num_blocks, num_steps, part_vectors;
  int num_parts, num_places;

  // The first vector of a part; the part ends before the first of the next.
  __host__ __device__ std::size_t first_of(std::size_t block, std::size_t step, int part) const {
    return ((block * num_steps + step) * num_parts + part) * part_vectors;
  }
  // Where a place of the block lies in the staging of a window, in bytes.
  __host__ __device__ std::size_t place_at(std::size_t block, int half, int place, std::size_t staging_bytes) const {
    return half * (staging_bytes / 2) + (block * num_places + place) * part_vectors * 16;
  }
};

// A block needs num_places places of a part in each half. Parts have at most most_part_bytes bytes, and blocks are used
// as long as each has parts of least_part_vectors vectors.
inline plan plan_steps(const member& me, std::size_t num_vectors, int num_parts, int num_places,
                       std::size_t most_part_bytes, std::size_t least_part_vectors) {
  using rungs::parts::at_most;
  using rungs::parts::ceil_div;
  plan made{};
  made.num_parts = num_parts;
  made.num_places = num_places;
  made.num_blocks = at_most(ceil_div(num_vectors, num_parts * least_part_vectors), me.num_blocks);
  const std::size_t room = me.staging_bytes / 2 / made.num_blocks / num_places / 16;
  const std::size_t most_vectors = at_most(room, most_part_bytes / 16);
  const std::size_t num_parts_at_once = made.num_blocks * num_parts;
  made.num_steps = ceil_div(num_vectors, num_parts_at_once * most_vectors);
  made.part_vectors = ceil_div(num_vectors, num_parts_at_once * made.num_steps);
  return made;
}

}  // namespace rungs::RUNGS_ABI::across::parts
