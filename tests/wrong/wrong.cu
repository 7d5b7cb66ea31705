// The exhibits. Each: the bug, the case that must refuse it, one that it passes.
#include "wrong/wrong.hpp"

#include "wrong/cluster_with.cuh"
#include "wrong/enrolled.cuh"
#include "wrong/histogram_with.cuh"
#include "wrong/reduction_with.cuh"
#include "wrong/scan_with.cuh"

namespace rungs::wrong {

template <bug planted>
struct exhibited : reduction_with<planted> {
  static constexpr auto idea = "wrong on purpose";
};

// std::min of C and C++ alike: whichever operand the comparison leaves.
struct fmin_ignores_nan : reduction_with<bug::none> {
  static constexpr auto idea = "wrong on purpose";
  struct leaves_nan_out {
    template <class T>
    static __host__ __device__ constexpr T identity() {
      return minimum::identity<T>();
    }
    __host__ __device__ float operator()(float a, float b) const { return fminf(a, b); }
  };
  template <class Input, class T, class Op>
  static cudaError_t reduce(void* d_temp_storage, std::size_t& temp_storage_bytes, const Input* d_in, T* d_out,
                            std::size_t num_items, Op, T init, cudaStream_t stream = nullptr) {
    return reduction_with<bug::none>::reduce(d_temp_storage, temp_storage_bytes, d_in, d_out, num_items,
                                             leaves_nan_out{}, init, stream);
  }
};

namespace {

template <class Variant, class T = catalog::i32, class Op = plus>
exhibit show(std::string_view rung, const char* refused_by, const char* passes) {
  catalog::record about{};
  about.family = catalog::family::handwritten;
  about.ladder = "wrong";
  about.rung = rung;
  about.source = "tests/wrong/reduction_with.cuh";
  return {enrolled<Variant, T, Op>(about).at(0), refused_by, passes};
}

template <cluster_bug planted>
exhibit show_cluster(std::string_view rung, const char* refused_by, const char* passes) {
  exhibit shown = show<cluster_with<planted>>(rung, refused_by, passes);
  shown.what.family = catalog::family::cluster;
  shown.what.source = "tests/wrong/cluster_with.cuh";
  return shown;
}

enum class kind { inclusive, exclusive };

template <scan_bug planted, kind which, class T = catalog::i32, class Op = plus>
exhibit show_scan(std::string_view rung, const char* refused_by, const char* passes) {
  catalog::record about{};
  about.family = catalog::family::handwritten;
  about.ladder = "wrong";
  about.rung = rung;
  about.source = "tests/wrong/scan_with.cuh";
  return {enrolled<scan_with<planted>, T, Op>(about).at(which == kind::inclusive ? 0 : 1), refused_by, passes};
}

template <histogram_bug planted, class Sample = catalog::u8, class Levels = catalog::even>
exhibit show_histogram(std::string_view rung, const char* refused_by, const char* passes) {
  catalog::record about{};
  about.family = catalog::family::handwritten;
  about.ladder = "wrong";
  about.rung = rung;
  about.source = "tests/wrong/histogram_with.cuh";
  return {enrolled<histogram_with<planted>, Sample, Levels>(about).at(0), refused_by, passes};
}

}  // namespace

std::span<const exhibit> all() {
  using catalog::f32, catalog::i32, catalog::i8, catalog::u8;
  using catalog::range, catalog::multi_even;
  using hb = histogram_bug;
  constexpr auto inclusive = kind::inclusive, exclusive = kind::exclusive;
  static const exhibit exhibits[] = {
      show<exhibited<bug::none>>("nothing_wrong", "", "small"),
      show<exhibited<bug::last_tile_dropped>>("last_tile_dropped", "pairwise", "small"),
      show<exhibited<bug::tail_mask_off_by_one>>("tail_mask_off_by_one", "small", "small:0"),
      show<exhibited<bug::first_tile_twice>>("first_tile_twice", "pairwise", "small"),
      show<exhibited<bug::init_per_block>>("init_per_block", "pairwise", "small"),
      show<exhibited<bug::init_forgotten>>("init_forgotten", "small", "small:3"),
      show<exhibited<bug::identity_zero>, f32, maximum>("identity_zero_for_maximum", "pairwise", "small:0"),
      show<exhibited<bug::identity_least_positive>, f32, maximum>("numeric_limits_min_for_maximum", "pairwise",
                                                                  "small:0"),
      show<exhibited<bug::offset_of_32_bits>>("offset_of_32_bits", "large", "pairwise"),
      show<exhibited<bug::missing_barrier>>("missing_barrier", "pairwise", "small:1"),
      show<exhibited<bug::stale_ticket>>("stale_ticket", "small", "small:0"),
      show<exhibited<bug::memset_in_another_stream>>("memset_in_another_stream", "delayed producer", "small:0"),
      show<exhibited<bug::ignored_launch_error>>("ignored_launch_error", "pairwise", "small"),
      show<exhibited<bug::unchecked_alignment>>("unchecked_alignment", "pairwise", "small:0"),
      show<exhibited<bug::workspace_short>>("workspace_short", "small", "small:0"),
      show<exhibited<bug::workspace_unchecked>>("workspace_unchecked", "small", "delayed producer"),
      show<exhibited<bug::unrolled_for_64_run_with_32>>("unrolled_for_64_run_with_32", "pairwise", "small:1"),
      show<exhibited<bug::output_not_initialised>>("output_not_initialised", "small", "small:0"),
      show<exhibited<bug::init_copied_from_the_stack>>("init_copied_from_the_stack", "graph", "small"),
      show<exhibited<bug::synchronises>>("synchronises", "graph", "pairwise"),
      show<exhibited<bug::barrier_without_co_residency>>("barrier_without_co_residency", "squatter:1", "small"),
      show<exhibited<bug::order_follows_the_address>, f32>("order_follows_the_address", "repeats bit for bit",
                                                           "pairwise"),
      show<exhibited<bug::input_changed>>("input_changed", "pairwise", "small:0"),
      show<exhibited<bug::size_query_launches>>("size_query_launches", "size query launches nothing", "small"),
      show<fmin_ignores_nan, f32, minimum>("nan_ignoring_minimum", "pairwise", "small:1"),

      show_cluster<cluster_bug::none>("cluster_nothing_wrong", "", "pairwise"),
      show_cluster<cluster_bug::last_peer_dropped>("last_peer_dropped", "pairwise", "small"),
      show_cluster<cluster_bug::init_in_every_block>("init_in_every_block", "small", "small:0"),
      show_cluster<cluster_bug::missing_cluster_barrier>("missing_cluster_barrier", "pairwise", "small"),

      show_scan<scan_bug::none, inclusive>("scan_nothing_wrong", "", "small"),
      show_scan<scan_bug::none, exclusive, affine, compose>("scan_of_maps_nothing_wrong", "", "pairwise"),
      show_scan<scan_bug::last_tile_dropped, inclusive>("scan_last_tile_dropped", "pairwise", "small"),
      show_scan<scan_bug::tail_mask_off_by_one, inclusive>("scan_tail_mask_off_by_one", "every size", "small:0"),
      show_scan<scan_bug::exclusive_as_inclusive, exclusive, f32>("exclusive_as_inclusive", "small", "small:0"),
      show_scan<scan_bug::init_per_block, exclusive>("scan_init_per_block", "pairwise", "small"),
      show_scan<scan_bug::init_forgotten, exclusive>("scan_init_forgotten", "small", "small:3"),
      show_scan<scan_bug::identity_zero, inclusive, f32, maximum>("identity_zero_for_maxima", "pairwise", "small:0"),
      show_scan<scan_bug::missing_barrier, inclusive>("scan_missing_barrier", "pairwise", "small:1"),
      show_scan<scan_bug::stale_flag, inclusive>("stale_flag", "same workspace again", "small"),
      show_scan<scan_bug::offset_of_32_bits, inclusive>("scan_offset_of_32_bits", "large", "pairwise"),
      show_scan<scan_bug::unchecked_alignment, inclusive>("scan_unchecked_alignment", "pairwise", "small:0"),
      show_scan<scan_bug::third_phase_forgotten, inclusive, f32>("third_phase_forgotten", "pairwise", "small"),
      show_scan<scan_bug::operands_exchanged, inclusive, affine, compose>("operands_exchanged", "small", "small:1"),
      show_scan<scan_bug::operands_exchanged, inclusive>("operands_exchanged_where_they_may", "", "pairwise"),
      show_scan<scan_bug::written_past_the_end, exclusive>("written_past_the_end", "small", "small:0"),
      show_scan<scan_bug::item_read_after_its_output, exclusive>("item_read_after_its_output", "pairwise",
                                                                 "delayed producer"),

      show_histogram<hb::none>("histogram_nothing_wrong", "", "pairwise"),
      show_histogram<hb::none, i32>("histogram_of_words_nothing_wrong", "", "edges"),
      show_histogram<hb::none, f32, range>("histogram_of_ranges_nothing_wrong", "", "edges"),
      show_histogram<hb::none, u8, multi_even>("histogram_of_channels_nothing_wrong", "", "pairwise"),
      show_histogram<hb::last_tile_dropped>("histogram_last_tile_dropped", "pairwise", "small"),
      show_histogram<hb::tail_mask_off_by_one>("histogram_tail_mask_off_by_one", "small", "small:0"),
      show_histogram<hb::offset_of_32_bits>("histogram_offset_of_32_bits", "large", "pairwise"),
      show_histogram<hb::upper_level_inclusive, i32>("upper_level_inclusive", "edges", "small:0"),
      show_histogram<hb::upper_level_inclusive, f32, range>("upper_level_inclusive_of_ranges", "edges", "small:0"),
      show_histogram<hb::lower_level_exclusive, f32>("lower_level_exclusive", "edges", "small:0"),
      show_histogram<hb::nan_in_bin_0, f32>("nan_in_bin_0", "edges", "graph"),
      show_histogram<hb::output_not_cleared>("histogram_output_not_cleared", "small", "size query launches nothing"),
      show_histogram<hb::shared_bins_not_zeroed>("shared_bins_not_zeroed", "pairwise", "edges:unit:64"),
      show_histogram<hb::missing_barrier>("histogram_missing_barrier", "pairwise", "small:0"),
      show_histogram<hb::flushed_by_a_store>("flushed_by_a_store", "pairwise", "small:31"),
      show_histogram<hb::unchecked_alignment, i32>("histogram_unchecked_alignment", "pairwise", "small:0"),
      show_histogram<hb::negative_samples_dropped, i8>("negative_samples_dropped", "edges:broad", "edges:unit"),
      show_histogram<hb::bins_in_the_sample_type>("bins_in_the_sample_type", "edges:crowded:1000", "edges:unit"),
      show_histogram<hb::width_rounded_first, i32>("width_rounded_first", "edges:ragged", "edges:broad"),
      show_histogram<hb::last_bin_not_clamped, f32>("last_bin_not_clamped", "edges", "edges:unit"),
      show_histogram<hb::first_of_equal_edges, i32, range>("first_of_equal_edges", "edges:duplicated", "edges:broad"),
      show_histogram<hb::memset_in_another_stream>("histogram_memset_in_another_stream", "delayed producer",
                                                   "size query launches nothing"),
      show_histogram<hb::levels_copied_from_the_stack, i32>("levels_copied_from_the_stack", "graph", "small"),
      show_histogram<hb::fourth_channel_counted, u8, multi_even>("fourth_channel_counted", "small", "small:0"),
      show_histogram<hb::levels_unchecked, i32>("levels_unchecked", "levels to be refused", "small"),
      show_histogram<hb::bins_unchecked>("bins_unchecked", "max_bins + 1", "max_bins"),
  };
  return exhibits;
}

}  // namespace rungs::wrong
