#include <cub/device/device_histogram.cuh>

#define DOOR cub
#define HISTOGRAMS histograms_by_cub
#include "front_door/histograms.cuh"
