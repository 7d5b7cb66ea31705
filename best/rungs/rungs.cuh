// The front door, all of it: CUB's device-wide calls in namespace rungs. Programs that use one of them compile faster
// with its own header.
#pragma once

#include "rungs/device/device_histogram.cuh"
#include "rungs/device/device_reduce.cuh"
#include "rungs/device/device_scan.cuh"
