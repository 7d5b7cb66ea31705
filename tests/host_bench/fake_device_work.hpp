#pragma once

namespace rungs::bench::device_work {

extern double fake_clock_mhz;  // what stamps say of the multiprocessors' clock

}  // namespace rungs::bench::device_work
