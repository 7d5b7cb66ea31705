#pragma once

namespace rungs::bench {

enum exit_code : int {
  exit_ok = 0,     // also where the budget ended the run
  exit_wrong = 1,  // a wrong result or an implausible time
  exit_usage = 2,
  exit_no_gpu = 3,  // under --require-gpu
  exit_internal = 4,
  exit_environment = 5,  // refused under --strict
  exit_stuck = 6,        // --watchdog: something did not end
  exit_interrupted = 130,
};

}  // namespace rungs::bench
