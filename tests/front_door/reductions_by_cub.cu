#include <cub/device/device_reduce.cuh>

#define DOOR cub
#define REDUCTIONS reductions_by_cub
#include "front_door/reductions.cuh"
