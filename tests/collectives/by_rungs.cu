#include <rungs/block/block_histogram.cuh>
#include <rungs/block/block_load.cuh>
#include <rungs/block/block_reduce.cuh>
#include <rungs/block/block_scan.cuh>
#include <rungs/block/block_store.cuh>
#include <rungs/device/cuda_std_operators.cuh>
#include <rungs/warp/warp_exchange.cuh>
#include <rungs/warp/warp_reduce.cuh>
#include <rungs/warp/warp_scan.cuh>

#define DOOR rungs
#define COLLECTIVES collectives_by_rungs
#include "collectives/programs.cuh"
