// The exhibits. Each: the bug, the case that must refuse it, one that it passes.
#include "wrong/wrong.hpp"

#include <vector>

#include "enrol/enrol.cuh"
#include "wrong/chain_with.cuh"
#include "wrong/cluster_with.cuh"
#include "wrong/dot_with.cuh"
#include "wrong/extremum_with.cuh"
#include "wrong/histogram_with.cuh"
#include "wrong/norms_with.cuh"
#include "wrong/reduction_with.cuh"
#include "wrong/rows_with.cuh"
#include "wrong/scan_with.cuh"
#include "wrong/selection_with.cuh"
#include "wrong/top_k_with.cuh"

namespace rungs::wrong {

// std::min of C and C++ alike: whichever operand the comparison leaves.
struct fmin_ignores_nan : reduction_with<bug::none> {
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

// The record of a variant that is in no catalog; of scans the inclusive one, unless the exclusive one is meant.
enum class kind { inclusive, exclusive };
template <class Variant, class T = catalog::i32, class Op = plus, class Accumulator = T>
exhibit show(std::string_view rung, const char* refused_by, const char* passes, kind which = kind::inclusive) {
  struct collected final : catalog::collector {
    std::vector<catalog::record> records;
    void add(const catalog::record& each) override { records.push_back(each); }
  } variant;
  catalog::record about{};
  about.family = catalog::family::handwritten;
  if constexpr (requires { Variant::min_cc; }) about.family = catalog::family::cluster;
  about.ladder = "wrong";
  about.rung = rung;
  about.source = "tests/wrong/wrong.cu";
  catalog::enrol<Variant>(variant, about, catalog::elements<catalog::element<T, Accumulator>>{},
                          catalog::operators<Op>{});
  return {variant.records.at(static_cast<std::size_t>(which)), refused_by, passes};
}

template <bug planted, kind which, class T = catalog::i32, class Op = plus>
exhibit show_scan(std::string_view rung, const char* refused_by, const char* passes) {
  return show<scan_with<planted>, T, Op>(rung, refused_by, passes, which);
}

template <bug planted, class Sample = catalog::u8, class Levels = catalog::even>
exhibit show_histogram(std::string_view rung, const char* refused_by, const char* passes) {
  return show<histogram_with<planted>, Sample, Levels>(rung, refused_by, passes);
}

}  // namespace

std::span<const exhibit> all() {
  using catalog::f32, catalog::i32, catalog::i8, catalog::u8;
  using catalog::range, catalog::multi_even;
  constexpr auto inclusive = kind::inclusive, exclusive = kind::exclusive;
  static const exhibit exhibits[] = {
      show<reduction_with<bug::none>>("nothing_wrong", "", "small"),
      show<reduction_with<bug::last_tile_dropped>>("last_tile_dropped", "pairwise", "small"),
      show<reduction_with<bug::tail_mask_off_by_one>>("tail_mask_off_by_one", "small", "small:0"),
      show<reduction_with<bug::first_tile_twice>>("first_tile_twice", "pairwise", "small"),
      show<reduction_with<bug::init_per_block>>("init_per_block", "pairwise", "small"),
      show<reduction_with<bug::init_forgotten>>("init_forgotten", "small", "small:3"),
      show<reduction_with<bug::identity_zero>, f32, maximum>("identity_zero_for_maximum", "pairwise", "small:0"),
      show<reduction_with<bug::identity_least_positive>, f32, maximum>("numeric_limits_min_for_maximum", "pairwise",
                                                                       "small:0"),
      show<reduction_with<bug::offset_of_32_bits>>("offset_of_32_bits", "large", "pairwise"),
      show<reduction_with<bug::missing_barrier>>("missing_barrier", "pairwise", "small:1"),
      show<reduction_with<bug::stale_ticket>>("stale_ticket", "small", "small:0"),
      show<reduction_with<bug::memset_in_another_stream>>("memset_in_another_stream", "delayed producer", "small:0"),
      show<reduction_with<bug::ignored_launch_error>>("ignored_launch_error", "pairwise", "small"),
      show<reduction_with<bug::unchecked_alignment>>("unchecked_alignment", "pairwise", "small:0"),
      show<reduction_with<bug::workspace_short>>("workspace_short", "small", "small:0"),
      show<reduction_with<bug::workspace_unchecked>>("workspace_unchecked", "small", "delayed producer"),
      show<reduction_with<bug::unrolled_for_64_run_with_32>>("unrolled_for_64_run_with_32", "pairwise", "small:1"),
      show<reduction_with<bug::output_not_initialised>>("output_not_initialised", "small", "small:0"),
      show<reduction_with<bug::init_copied_from_the_stack>>("init_copied_from_the_stack", "graph", "small"),
      show<reduction_with<bug::synchronises>>("synchronises", "graph", "pairwise"),
      show<reduction_with<bug::barrier_without_co_residency>>("barrier_without_co_residency", "squatter:1", "small"),
      show<reduction_with<bug::order_follows_the_address>, f32>("order_follows_the_address", "repeats bit for bit",
                                                                "pairwise"),
      show<reduction_with<bug::input_changed>>("input_changed", "pairwise", "small:0"),
      show<reduction_with<bug::size_query_launches>>("size_query_launches", "size query launches nothing", "small"),
      show<fmin_ignores_nan, f32, minimum>("nan_ignoring_minimum", "pairwise", "small:1"),

      show<cluster_with<bug::none>>("cluster_nothing_wrong", "", "pairwise"),
      show<cluster_with<bug::last_peer_dropped>>("last_peer_dropped", "pairwise", "small"),
      show<cluster_with<bug::init_in_every_block>>("init_in_every_block", "small", "small:0"),
      show<cluster_with<bug::missing_cluster_barrier>>("missing_cluster_barrier", "pairwise", "small"),

      show_scan<bug::none, inclusive>("scan_nothing_wrong", "", "small"),
      show_scan<bug::none, exclusive, affine, compose>("scan_of_maps_nothing_wrong", "", "pairwise"),
      show_scan<bug::last_tile_dropped, inclusive>("scan_last_tile_dropped", "pairwise", "small"),
      show_scan<bug::tail_mask_off_by_one, inclusive>("scan_tail_mask_off_by_one", "every size", "small:0"),
      show_scan<bug::exclusive_as_inclusive, exclusive, f32>("exclusive_as_inclusive", "small", "small:0"),
      show_scan<bug::init_per_block, exclusive>("scan_init_per_block", "pairwise", "small"),
      show_scan<bug::init_forgotten, exclusive>("scan_init_forgotten", "small", "small:3"),
      show_scan<bug::identity_zero, inclusive, f32, maximum>("identity_zero_for_maxima", "pairwise", "small:0"),
      show_scan<bug::missing_barrier, inclusive>("scan_missing_barrier", "pairwise", "small:1"),
      show_scan<bug::stale_flag, inclusive>("stale_flag", "same workspace again", "small"),
      show_scan<bug::offset_of_32_bits, inclusive>("scan_offset_of_32_bits", "large", "pairwise"),
      show_scan<bug::unchecked_alignment, inclusive>("scan_unchecked_alignment", "pairwise", "small:0"),
      show_scan<bug::third_phase_forgotten, inclusive, f32>("third_phase_forgotten", "pairwise", "small"),
      show_scan<bug::operands_exchanged, inclusive, affine, compose>("operands_exchanged", "small", "small:1"),
      show_scan<bug::operands_exchanged, inclusive>("operands_exchanged_where_they_may", "", "pairwise"),
      show_scan<bug::written_past_the_end, exclusive>("written_past_the_end", "small", "small:0"),
      show_scan<bug::item_read_after_its_output, exclusive>("item_read_after_its_output", "pairwise",
                                                            "delayed producer"),

      show_histogram<bug::none>("histogram_nothing_wrong", "", "pairwise"),
      show_histogram<bug::none, i32>("histogram_of_words_nothing_wrong", "", "edges"),
      show_histogram<bug::none, f32, range>("histogram_of_ranges_nothing_wrong", "", "edges"),
      show_histogram<bug::none, u8, multi_even>("histogram_of_channels_nothing_wrong", "", "pairwise"),
      show_histogram<bug::last_tile_dropped>("histogram_last_tile_dropped", "pairwise", "small"),
      show_histogram<bug::tail_mask_off_by_one>("histogram_tail_mask_off_by_one", "small", "small:0"),
      show_histogram<bug::offset_of_32_bits>("histogram_offset_of_32_bits", "large", "pairwise"),
      show_histogram<bug::upper_level_inclusive, i32>("upper_level_inclusive", "edges", "small:0"),
      show_histogram<bug::upper_level_inclusive, f32, range>("upper_level_inclusive_of_ranges", "edges", "small:0"),
      show_histogram<bug::lower_level_exclusive, f32>("lower_level_exclusive", "edges", "small:0"),
      show_histogram<bug::nan_in_bin_0, f32>("nan_in_bin_0", "edges", "graph"),
      show_histogram<bug::output_not_cleared>("histogram_output_not_cleared", "small", "size query launches nothing"),
      show_histogram<bug::shared_bins_not_zeroed>("shared_bins_not_zeroed", "pairwise", "edges:unit:64"),
      show_histogram<bug::missing_barrier>("histogram_missing_barrier", "pairwise", "small:0"),
      show_histogram<bug::flushed_by_a_store>("flushed_by_a_store", "pairwise", "small:31"),
      show_histogram<bug::unchecked_alignment, i32>("histogram_unchecked_alignment", "pairwise", "small:0"),
      show_histogram<bug::negative_samples_dropped, i8>("negative_samples_dropped", "edges:broad", "edges:unit"),
      show_histogram<bug::bins_in_the_sample_type>("bins_in_the_sample_type", "edges:crowded:1000", "edges:unit"),
      show_histogram<bug::width_rounded_first, i32>("width_rounded_first", "edges:ragged", "edges:broad"),
      show_histogram<bug::last_bin_not_clamped, f32>("last_bin_not_clamped", "edges", "edges:unit"),
      show_histogram<bug::first_of_equal_edges, i32, range>("first_of_equal_edges", "edges:duplicated", "edges:broad"),
      show_histogram<bug::memset_in_another_stream>("histogram_memset_in_another_stream", "delayed producer",
                                                    "size query launches nothing"),
      show_histogram<bug::levels_copied_from_the_stack, i32>("levels_copied_from_the_stack", "graph", "small"),
      show_histogram<bug::fourth_channel_counted, u8, multi_even>("fourth_channel_counted", "small", "small:0"),
      show_histogram<bug::levels_unchecked, i32>("levels_unchecked", "levels to be refused", "small"),
      show_histogram<bug::bins_unchecked>("bins_unchecked", "max_bins + 1", "max_bins"),

      show<rows_with<bug::none>>("rows_nothing_wrong", "", "rows"),
      show<rows_with<bug::none, true>>("lanes_of_rows_nothing_wrong", "", "rows"),
      show<rows_with<bug::half_of_the_row_left_out>>("half_of_the_row_left_out", "rows:33x2048", "rows:33x32"),
      show<rows_with<bug::barrier_in_a_ragged_loop>>("barrier_in_a_ragged_loop", "rows:33x32", "rows:33x128"),
      show<rows_with<bug::absent_row_not_guarded, true>>("absent_row_not_guarded", "rows:31x33", "rows:32x33"),

      show<norms_with<bug::none>, catalog::f32>("norms_nothing_wrong", "", "rows"),
      show<norms_with<bug::missing_barrier>, catalog::f32>("norms_missing_barrier", "rows:33x129", "small:0"),
      show<norms_with<bug::tail_mask_off_by_one>, catalog::f32>("norms_tail_mask_off_by_one", "rows:33x129",
                                                                "rows:33x128"),

      show<dot_with<bug::none>>("dot_nothing_wrong", "", "pairwise"),
      show<dot_with<bug::none>, i8, plus, i32>("dot_of_bytes_nothing_wrong", "", "small"),
      show<dot_with<bug::output_not_initialised>>("dot_output_not_initialised", "small", "small:0"),
      show<dot_with<bug::missing_barrier>>("dot_missing_barrier", "pairwise", "small:0"),
      show<dot_with<bug::second_taken_for_aligned>>("second_taken_for_aligned", "pairwise", "small:0"),
      show<dot_with<bug::product_in_the_item_type>, i8, plus, i32>("product_in_the_item_type", "small", "small:0"),

      show<extremum_with<bug::none>, catalog::f32, minimum>("extremum_nothing_wrong", "", "pairwise"),
      show<extremum_with<bug::none>, catalog::i32, maximum>("greatest_nothing_wrong", "", "pairwise"),
      show<extremum_with<bug::last_of_equals>, catalog::f32, minimum>("last_of_equals", "places", "small:1"),
      show<extremum_with<bug::nan_never_less>, catalog::f32, minimum>("nan_never_less", "places", "small:1"),
      show<extremum_with<bug::index_in_the_tile>, catalog::i32, maximum>("index_in_the_tile", "pairwise", "small:1"),
      show<extrema_with<bug::none>, catalog::f32, catalog::both>("both_nothing_wrong", "", "pairwise"),
      show<extrema_with<bug::last_of_equals>, catalog::f32, catalog::both>("last_greatest", "places", "small:1"),

      show<selection_with<bug::none>, catalog::f32>("selection_nothing_wrong", "", "percent"),
      show<selection_with<bug::order_lost>, catalog::f32>("order_lost", "percent:50", "small:1"),
      show<selection_with<bug::last_tile_dropped>>("selection_last_tile_dropped", "percent:50:511", "percent:50:512"),
      show<selection_with<bug::written_past_the_end>>("written_behind_the_chosen", "percent:50", "small:0"),
      show<selection_with<bug::levels_copied_from_the_stack>>("threshold_copied_from_the_stack", "graph", "small"),

      show<top_k_with<bug::none>, catalog::f32>("top_k_nothing_wrong", "", "k"),
      show<top_k_with<bug::last_of_equals>>("last_of_equal_keys", "k:8:1000:constant", "small:0"),
      show<top_k_with<bug::last_tile_dropped>>("top_k_last_tile_dropped", "k:8:1000:uniform", "k:8:4096:exact"),
      show<top_k_with<bug::nan_never_less>, catalog::f32>("nan_lost", "k:8:70001:special", "k:8:70001:exact"),

      show<reductions_with<bug::none>>("chain_nothing_wrong", "", "n=1000 blocks=1 threads=16"),
      show<reductions_with<bug::lane_left_out>, catalog::f32, maximum>("lane_left_out", "n=1000 blocks=1 threads=32",
                                                                       "n=0 blocks=1 threads=32"),
      show<reductions_with<bug::mask_too_wide>>("mask_too_wide", "n=1 blocks=1 threads=16",
                                                "n=1000 blocks=1 threads=32"),
      show<reductions_with<bug::last_collective_left_out>>("last_collective_left_out", "n=33 blocks=1 threads=32",
                                                           "n=3 blocks=1 threads=32"),
      show<block_with<bug::none>>("block_barrier_nothing_wrong", "", "n=1000 blocks=1 threads=1024"),
      show<block_with<bug::barrier_left_out>>("barrier_left_out", "n=33 blocks=1 threads=256",
                                              "n=0 blocks=1 threads=256"),
      show<grid_with<bug::none>>("grid_barrier_nothing_wrong", "", "n=33 blocks=16 threads=256"),
      show<grid_with<bug::one_block_not_waited_for>>("one_block_not_waited_for", "n=33 blocks=4 threads=256",
                                                     "n=0 blocks=4 threads=256"),
      show<kernels_with_one_place_too_few>("last_words_in_the_workspace", "n=33 blocks=2 threads=256",
                                           "n=1000 blocks=2 threads=256"),
  };
  return exhibits;
}

}  // namespace rungs::wrong
