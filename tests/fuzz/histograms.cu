// Histograms with even bins and with bins between any levels, of one channel and of several, and of rows. A kind with
// rows makes the call without them, too.
#include "fuzz/histogram_of.cuh"

namespace rungs::fuzz {

void add_histograms(kind_table& table) {
  add_histogram<u8, int, unsigned, false>(table, "histogram.even.u8");
  add_histogram<i8, int, unsigned, false, 1, true>(table, "histogram.even.rows.i8");
  add_histogram<u16, int, unsigned, false>(table, "histogram.even.u16");
  add_histogram<i32, int, unsigned, false>(table, "histogram.even.i32");
  add_histogram<u32, i64, unsigned long long, false>(table, "histogram.even.u32.by_i64");
  add_histogram<i64, i64, int, false>(table, "histogram.even.i64");
  add_histogram<float, float, unsigned, false>(table, "histogram.even.f32");
  add_histogram<double, double, unsigned, false, 1, true>(table, "histogram.even.rows.f64");
  add_histogram<f16, float, unsigned, false, 1, true>(table, "histogram.even.rows.f16.by_f32");
  add_histogram<u8, int, unsigned, false, 1, true>(table, "histogram.even.rows.u8");
  add_histogram<i32, int, unsigned, false, 1, true>(table, "histogram.even.rows.i32");

  add_histogram<u8, int, unsigned, true>(table, "histogram.range.u8");
  add_histogram<i16, int, unsigned, true>(table, "histogram.range.i16");
  add_histogram<i32, int, unsigned, true>(table, "histogram.range.i32");
  add_histogram<u64, u64, unsigned, true>(table, "histogram.range.u64");
  add_histogram<float, float, unsigned, true>(table, "histogram.range.f32");
  add_histogram<bf16, float, unsigned, true>(table, "histogram.range.bf16.by_f32");
  add_histogram<float, float, unsigned, true, 1, true>(table, "histogram.range.rows.f32");

  add_histogram<u8, int, unsigned, false, 4>(table, "histogram.even.4_channels.u8");
  add_histogram<u16, int, unsigned, false, 3, true>(table, "histogram.even.3_channels.rows.u16");
  add_histogram<float, float, unsigned, false, 4, true>(table, "histogram.even.4_channels.rows.f32");
  add_histogram<u8, int, unsigned, true, 4>(table, "histogram.range.4_channels.u8");
  add_histogram<i32, int, unsigned, true, 2, true>(table, "histogram.range.2_channels.rows.i32");
}

}  // namespace rungs::fuzz
