#include <rungs/device/device_histogram.cuh>

#define DOOR rungs
#define HISTOGRAMS histograms_by_rungs
#include "front_door/histograms.cuh"
