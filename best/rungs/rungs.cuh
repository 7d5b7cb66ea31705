// The front door, all of it: CUB's device-wide calls and its collectives in namespace rungs, and operations on rows.
// Programs that use one of them compile faster with its own header. Calls across several GPUs are not here: they want
// windows that the program makes (rungs/across/planned.cuh, rungs/across/windows.cuh), and most programs have one GPU.
#pragma once

#include "rungs/block/block_reduce.cuh"
#include "rungs/block/block_scan.cuh"
#include "rungs/cluster/cluster_reduce.cuh"
#include "rungs/cluster/cluster_scan.cuh"
#include "rungs/device/cuda_std_operators.cuh"
#include "rungs/device/device_histogram.cuh"
#include "rungs/device/device_partition.cuh"
#include "rungs/device/device_reduce.cuh"
#include "rungs/device/device_run_length_encode.cuh"
#include "rungs/device/device_scan.cuh"
#include "rungs/device/device_segmented_reduce.cuh"
#include "rungs/device/device_segmented_scan.cuh"
#include "rungs/device/device_select.cuh"
#include "rungs/device/device_top_k.cuh"
#include "rungs/rows/cross_entropy.cuh"
#include "rungs/rows/fp8_rows.cuh"
#include "rungs/rows/log_sum_exp.cuh"
#include "rungs/rows/low_precision.cuh"
#include "rungs/rows/merge_attention.cuh"
#include "rungs/rows/norms.cuh"
#include "rungs/rows/routing.cuh"
#include "rungs/rows/softmax.cuh"
#include "rungs/warp/warp_reduce.cuh"
#include "rungs/warp/warp_scan.cuh"
