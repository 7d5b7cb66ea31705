// Histograms with even bins.
#include "fuzz/histogram_of.cuh"

namespace rungs::fuzz {

void add_even_histograms(kind_table& table) {
  add_histogram<u8, int, unsigned, false>(table, "histogram.even.u8");
  add_histogram<i8, int, unsigned, false>(table, "histogram.even.i8");
  add_histogram<u16, int, unsigned, false>(table, "histogram.even.u16");
  add_histogram<i32, int, unsigned, false>(table, "histogram.even.i32");
  add_histogram<u32, i64, unsigned long long, false>(table, "histogram.even.u32.by_i64");
  add_histogram<i64, i64, int, false>(table, "histogram.even.i64");
  add_histogram<float, float, unsigned, false>(table, "histogram.even.f32");
  add_histogram<double, double, unsigned, false>(table, "histogram.even.f64");
  add_histogram<f16, float, unsigned, false>(table, "histogram.even.f16.by_f32");
  add_histogram<u8, int, unsigned, false, 1, true>(table, "histogram.even.rows.u8");
  add_histogram<i32, int, unsigned, false, 1, true>(table, "histogram.even.rows.i32");
}

}  // namespace rungs::fuzz
