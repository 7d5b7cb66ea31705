#include <rungs/rungs.cuh>

#define DOOR rungs
#define CENSUS census_by_rungs
#include "front_door/census.cuh"
