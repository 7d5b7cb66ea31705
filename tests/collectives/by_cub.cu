#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>

#define DOOR cub
#define COLLECTIVES collectives_by_cub
#include "collectives/programs.cuh"
