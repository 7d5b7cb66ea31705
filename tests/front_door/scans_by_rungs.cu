#include <rungs/device/cuda_std_operators.cuh>
#include <rungs/device/device_scan.cuh>

#define DOOR rungs
#define SCANS scans_by_rungs
#include "front_door/scans.cuh"
