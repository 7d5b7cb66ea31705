#include <cub/device/device_histogram.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_segmented_reduce.cuh>

#define DOOR cub
#define HAS_WORKSPACES false
#define HAS_EXACT_SUMS 0
#define HAS_FIXED_SEGMENTS 0
#define OPERATIONS operations_by_cub
#include "progress/calls.cuh"
