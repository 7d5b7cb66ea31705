#include <cub/device/device_scan.cuh>

#define DOOR cub
#define SCANS scans_by_cub
#include "front_door/scans.cuh"
