// Histograms of pixels with several channels.
#include "fuzz/histogram_of.cuh"

namespace rungs::fuzz {

void add_multi_histograms(kind_table& table) {
  add_histogram<u8, int, unsigned, false, 4>(table, "histogram.even.4_channels.u8");
  add_histogram<u16, int, unsigned, false, 3>(table, "histogram.even.3_channels.u16");
  add_histogram<float, float, unsigned, false, 4, true>(table, "histogram.even.4_channels.rows.f32");
  add_histogram<u8, int, unsigned, true, 4>(table, "histogram.range.4_channels.u8");
  add_histogram<i32, int, unsigned, true, 2, true>(table, "histogram.range.2_channels.rows.i32");
}

}  // namespace rungs::fuzz
