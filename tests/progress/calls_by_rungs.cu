#include <rungs/device/device_histogram.cuh>
#include <rungs/device/device_reduce.cuh>
#include <rungs/device/device_scan.cuh>
#include <rungs/device/device_segmented_reduce.cuh>

#define DOOR rungs
#define HAS_WORKSPACES true
#define HAS_EXACT_SUMS 1
#define HAS_FIXED_SEGMENTS 1
#define OPERATIONS operations_by_rungs
#include "progress/calls.cuh"
