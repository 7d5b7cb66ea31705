#include <cub/cub.cuh>

#define DOOR cub
#define CENSUS census_by_cub
#include "front_door/census.cuh"
