// cg_block_reduce with blocks of 512 threads: the tile of a block may have up to 1024.
#pragma once

#include "rungs/baselines/cg_block_reduce.cuh"

namespace rungs::RUNGS_ABI::baselines {

using cg_block_512_reduce = cg_block_reduce_shaped<512>;

}  // namespace rungs::RUNGS_ABI::baselines
