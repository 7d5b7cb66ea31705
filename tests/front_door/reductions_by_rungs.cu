#include <rungs/device/cuda_std_operators.cuh>
#include <rungs/device/device_reduce.cuh>

#define DOOR rungs
#define REDUCTIONS reductions_by_rungs
#include "front_door/reductions.cuh"
