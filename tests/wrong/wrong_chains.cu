// The exhibits of the studies of costs. Each: the bug, the case that must refuse it, one that it passes.
#include "wrong/chain_with.cuh"
#include "wrong/enrolled.cuh"
#include "wrong/wrong.hpp"

namespace rungs::wrong {
namespace {

template <class Variant, class T = catalog::i32, class Op = plus>
exhibit show(std::string_view rung, const char* refused_by, const char* passes) {
  catalog::record about{};
  about.family = catalog::family::handwritten;
  about.ladder = "wrong";
  about.rung = rung;
  about.source = "tests/wrong/chain_with.cuh";
  return {enrolled<Variant, T, Op>(about).at(0), refused_by, passes};
}

}  // namespace

std::span<const exhibit> chains() {
  using bug = chain_bug;
  static const exhibit exhibits[] = {
      show<reductions_with<bug::none>>("chain_nothing_wrong", "", "n=1000 blocks=1 threads=16"),
      show<reductions_with<bug::lane_left_out>, catalog::f32, maximum>("lane_left_out", "n=1000 blocks=1 threads=32",
                                                                       "n=0 blocks=1 threads=32"),
      show<reductions_with<bug::mask_too_wide>>("mask_too_wide", "n=1 blocks=1 threads=16",
                                                "n=1000 blocks=1 threads=32"),
      show<reductions_with<bug::last_collective_left_out>>("last_collective_left_out", "n=33 blocks=1 threads=32",
                                                           "n=3 blocks=1 threads=32"),
      show<block_with<bug::none>>("block_barrier_nothing_wrong", "", "n=1000 blocks=1 threads=1024"),
      show<block_with<bug::barrier_left_out>>("barrier_left_out", "n=33 blocks=1 threads=256",
                                              "n=0 blocks=1 threads=256"),
      show<grid_with<bug::none>>("grid_barrier_nothing_wrong", "", "n=33 blocks=16 threads=256"),
      show<grid_with<bug::one_block_not_waited_for>>("one_block_not_waited_for", "n=33 blocks=4 threads=256",
                                                     "n=0 blocks=4 threads=256"),
      show<kernels_with_one_place_too_few>("last_words_in_the_workspace", "n=33 blocks=2 threads=256",
                                           "n=1000 blocks=2 threads=256"),
  };
  return exhibits;
}

}  // namespace rungs::wrong
