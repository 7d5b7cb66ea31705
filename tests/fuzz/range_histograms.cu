// Histograms with bins between any levels.
#include "fuzz/histogram_of.cuh"

namespace rungs::fuzz {

void add_range_histograms(kind_table& table) {
  add_histogram<u8, int, unsigned, true>(table, "histogram.range.u8");
  add_histogram<i16, int, unsigned, true>(table, "histogram.range.i16");
  add_histogram<i32, int, unsigned, true>(table, "histogram.range.i32");
  add_histogram<u64, u64, unsigned, true>(table, "histogram.range.u64");
  add_histogram<float, float, unsigned, true>(table, "histogram.range.f32");
  add_histogram<bf16, float, unsigned, true>(table, "histogram.range.bf16.by_f32");
  add_histogram<float, float, unsigned, true, 1, true>(table, "histogram.range.rows.f32");
}

}  // namespace rungs::fuzz
