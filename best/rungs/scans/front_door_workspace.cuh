// The front door of scans for storage that was zeroed once, as rungs::workspace keeps it: what a rung leaves there
// for the next call saves a launch.
#pragma once

#include "rungs/scans/front_door.cuh"

namespace rungs::v0::scans {

// Comes only to rungs that keep their state as all others do (parts/state.cuh), or none: one workspace serves them all.
struct front_door_workspace : front_door_with<contents::zeroed_once> {
  static constexpr auto idea = "the rung that the tables name for a call, with storage that was zeroed once";
};

}  // namespace rungs::v0::scans
