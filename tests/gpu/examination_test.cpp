// The cases themselves, on the host: plain reductions with one planted bug each, which examine() must refuse. What this
// proves without a GPU, tests/wrong/ proves on one for what only a GPU can get wrong.
#include "gpu/examination.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "gpu/checkers.hpp"
#include "gpu/library_faults.hpp"
#include "host_bench/fake_records.hpp"
#include "oracles/plain_scan.hpp"

namespace rungs::tests {
namespace {

using bench::fakes::choice_slip, bench::fakes::norm_slip, bench::fakes::pair_slip, bench::fakes::place_slip,
    bench::fakes::row_slip, bench::fakes::top_k_slip;
using catalog::arguments;
using catalog::op;
using catalog::record;
using catalog::scalar;

enum class bug {
  none,
  last_item_lost,
  one_item_too_many,
  first_item_twice,
  init_twice,
  init_forgotten,
  init_for_no_items_forgotten,
  identity_zero,
  identity_least_positive,
  nan_left_out,
  zeros_alike,
  output_not_written,
  writes_after_the_output,
  writes_before_the_workspace,
  workspace_unchecked,
  workspace_of_none_touched,
  size_zero,
  input_changed,
  refuses_the_right_size,
  state_left_behind,
  float_sum_of_few_bits
};

template <class T, op which>
T combine(T a, T b, bug planted) {
  if constexpr (std::is_floating_point_v<T> && which != op::plus) {
    if (planted == bug::nan_left_out) return which == op::minimum ? std::fmin(a, b) : std::fmax(a, b);
    if (a == b && planted == bug::zeros_alike) return a;
  }
  return combined(which, a, b);
}

template <class T, op which, bug planted>
cudaError_t reduce(void* d_temp_storage, std::size_t& temp_storage_bytes, const arguments& a, cudaStream_t) {
  constexpr std::size_t needed = 16;
  if (d_temp_storage == nullptr) {
    temp_storage_bytes = planted == bug::size_zero ? 0 : needed;
    return cudaSuccess;
  }
  if (planted == bug::refuses_the_right_size || (planted != bug::workspace_unchecked && temp_storage_bytes < needed))
    return cudaErrorInvalidValue;
  auto* const workspace = static_cast<unsigned char*>(d_temp_storage);
  const auto* const in = static_cast<const T*>(a.d_in);
  auto* const out = static_cast<T*>(a.d_out);
  T init;
  std::memcpy(&init, a.init, sizeof(T));
  if (planted == bug::output_not_written && a.num_items == 31) return cudaSuccess;
  if (planted == bug::state_left_behind) {
    if (workspace[0] != 0) return cudaSuccess;
    workspace[0] = 1;
  }
  if (planted == bug::workspace_of_none_touched) workspace[3] = static_cast<unsigned char>(workspace[3] + 1);
  if (planted == bug::writes_before_the_workspace) workspace[-1] = static_cast<unsigned char>(workspace[-1] + 1);
  T value = init;
  if (planted == bug::init_forgotten && a.num_items > 0) value = in[0];
  if (planted == bug::init_for_no_items_forgotten && a.num_items == 0) value = T{};
  std::size_t first = planted == bug::init_forgotten && a.num_items > 0 ? 1 : 0;
  std::size_t last = a.num_items;
  if (planted == bug::last_item_lost && last > 1000) --last;
  if (planted == bug::one_item_too_many && last % 32 != 0) ++last;
  for (std::size_t i = first; i < last; ++i) value = combine<T, which>(value, in[i], planted);
  if (planted == bug::first_item_twice && a.num_items > 100) value = combine<T, which>(value, in[0], planted);
  if (planted == bug::init_twice && a.num_items > 512) value = combine<T, which>(value, init, planted);
  if (planted == bug::identity_zero && a.num_items % 512 != 0) value = combine<T, which>(value, T{}, planted);
  if (planted == bug::identity_least_positive && a.num_items % 512 != 0)
    value = combine<T, which>(value, std::numeric_limits<T>::min(), planted);
  if (planted == bug::input_changed && a.num_items > 5) const_cast<T*>(in)[5] = T{1};
  if (planted == bug::float_sum_of_few_bits && a.num_items > 1000)
    value = static_cast<T>(static_cast<double>(value) * (1 + 1e-3));
  *out = value;
  if (planted == bug::writes_after_the_output) out[1] = value;
  return cudaSuccess;
}

template <class T>
constexpr scalar scalar_of() {
  return std::is_same_v<T, float>           ? scalar::f32
         : std::is_same_v<T, double>        ? scalar::f64
         : std::is_same_v<T, affine>        ? scalar::affine
         : std::is_same_v<T, std::uint8_t>  ? scalar::u8
         : std::is_same_v<T, std::int8_t>   ? scalar::i8
         : std::is_same_v<T, std::uint16_t> ? scalar::u16
         : std::is_same_v<T, std::uint32_t> ? scalar::u32
                                            : scalar::i32;
}

template <class Input, class Output>
record host_record(catalog::operation operation, catalog::call_t call, op which = op::none) {
  record r{};
  r.ladder = "host";
  r.rung = "planted";
  r.operation = operation;
  r.op = which;
  r.input_type = scalar_of<Input>();
  r.accumulator_type = r.output_type = scalar_of<Output>();
  r.block_threads = 128;
  r.items_per_thread = 4;
  r.deterministic = true;
  r.executes_on = executor::host;
  r.call = call;
  return r;
}

// Of what works without storage and takes no initial value.
template <class Input, class Output>
record without_storage(catalog::operation operation, catalog::call_t call, op which = op::none) {
  record r = host_record<Input, Output>(operation, call, which);
  r.temp_storage = contents::none;
  r.takes_init = false;
  return r;
}

template <class T, op which, bug planted>
record planted_record(contents storage = contents::uninitialised) {
  record r = host_record<T, T>(catalog::operation::reduce, reduce<T, which, planted>, which);
  r.temp_storage = storage;
  return r;
}

template <class T, op which, bug planted>
verdict examined(contents storage = contents::uninitialised, const char* only = "") {
  return examine(planted_record<T, which, planted>(storage), {.seed = 20261121, .only_case = only});
}

std::string all_findings(const verdict& v) {
  std::string all = v.skipped;
  for (const finding& f : v.findings) all += f.case_name + ": " + f.what + "\n";
  return all;
}

// In more cases than `fewest`, of which none is left out.
void expect_nothing_found(int fewest, std::initializer_list<verdict> all) {
  for (const verdict& v : all) {
    EXPECT_TRUE(v.findings.empty()) << all_findings(v);
    EXPECT_GT(v.cases, fewest);
    EXPECT_TRUE(v.notes.empty() || v.notes[0].find("known fault") == std::string::npos);
  }
}

TEST(examination, finds_nothing_where_nothing_is_wrong) {
  const verdict sum = examined<std::int32_t, op::plus, bug::none>();
  expect_nothing_found(100, {sum, examined<float, op::maximum, bug::none>(), examined<float, op::plus, bug::none>(),
                             examined<float, op::minimum, bug::none>(contents::none),
                             examined<float, op::minimum, bug::none>(contents::zeroed_once)});
  EXPECT_TRUE(sum.skipped.empty());
}

// How often the workspace was found filled with ones, one of the patterns, under the sanitizer.
int calls_over_ones(const std::vector<std::string>& filled) {
  static int calls;
  calls = 0;
  record r = planted_record<std::int32_t, op::plus, bug::none>();
  r.source = "handwritten/rungs/planted.cuh";
  r.call = [](void* d_temp_storage, std::size_t& temp_storage_bytes, const arguments& a, cudaStream_t stream) {
    const auto* const bytes = static_cast<const unsigned char*>(d_temp_storage);
    if (bytes != nullptr && std::all_of(bytes, bytes + 16, [](unsigned char b) { return b == 0xff; })) ++calls;
    return reduce<std::int32_t, op::plus, bug::none>(d_temp_storage, temp_storage_bytes, a, stream);
  };
  const verdict v = examine(r, {.seed = 20261121, .how_much = extent::sanitizer, .filled = filled});
  EXPECT_TRUE(v.findings.empty()) << all_findings(v);
  return calls;
}

TEST(examination, of_the_sanitizer_fills_the_workspace_of_the_named_sources_alone) {
  EXPECT_EQ(calls_over_ones({}), 0);
  EXPECT_EQ(calls_over_ones({"handwritten/rungs/other.cuh"}), 0);
  EXPECT_GT(calls_over_ones({"handwritten/rungs/other.cuh", "handwritten/rungs/planted.cuh"}), 0);
}

#define EXPECT_REFUSED(...)                                        \
  do {                                                             \
    const verdict v = __VA_ARGS__;                                 \
    EXPECT_FALSE(v.findings.empty()) << "survived: " #__VA_ARGS__; \
  } while (false)

TEST(examination, refuses_every_planted_bug) {
  EXPECT_REFUSED(examined<std::int32_t, op::plus, bug::last_item_lost>());
  EXPECT_REFUSED(examined<float, op::plus, bug::last_item_lost>());
  EXPECT_REFUSED(examined<std::int32_t, op::plus, bug::one_item_too_many>());
  EXPECT_REFUSED(examined<float, op::plus, bug::first_item_twice>());
  EXPECT_REFUSED(examined<float, op::plus, bug::init_twice>());
  EXPECT_REFUSED(examined<float, op::minimum, bug::init_forgotten>());
  EXPECT_REFUSED(examined<std::int32_t, op::plus, bug::init_forgotten>());
  EXPECT_REFUSED(examined<std::int32_t, op::plus, bug::init_for_no_items_forgotten>());
  EXPECT_REFUSED(examined<float, op::maximum, bug::identity_zero>());
  EXPECT_REFUSED(examined<std::int32_t, op::minimum, bug::identity_zero>());
  EXPECT_REFUSED(examined<float, op::maximum, bug::identity_least_positive>());
  EXPECT_REFUSED(examined<float, op::minimum, bug::nan_left_out>());
  EXPECT_REFUSED(examined<float, op::maximum, bug::nan_left_out>());
  EXPECT_REFUSED(examined<float, op::minimum, bug::zeros_alike>());
  EXPECT_REFUSED(examined<float, op::plus, bug::output_not_written>());
  EXPECT_REFUSED(examined<float, op::plus, bug::writes_after_the_output>());
  EXPECT_REFUSED(examined<float, op::plus, bug::writes_before_the_workspace>());
  EXPECT_REFUSED(examined<float, op::plus, bug::workspace_unchecked>());
  EXPECT_REFUSED(examined<float, op::plus, bug::workspace_of_none_touched>(contents::none));
  EXPECT_REFUSED(examined<float, op::plus, bug::size_zero>());
  EXPECT_REFUSED(examined<float, op::plus, bug::input_changed>());
  EXPECT_REFUSED(examined<float, op::plus, bug::refuses_the_right_size>());
  EXPECT_REFUSED(examined<float, op::plus, bug::state_left_behind>(contents::zeroed_once));
  EXPECT_REFUSED(examined<float, op::plus, bug::float_sum_of_few_bits>());
}

// The rows of a matrix.
template <class T, row_slip planted = row_slip::none>
verdict examined_rows() {
  record r = without_storage<T, T>(catalog::operation::row_reduce, bench::fakes::row_sums<T, planted>, op::plus);
  r.takes_init = true;
  return examine(r, {.seed = 20261121});
}

TEST(examination, finds_nothing_where_nothing_is_wrong_with_rows) {
  expect_nothing_found(300, {examined_rows<std::int32_t>(), examined_rows<float>()});
}

TEST(examination, refuses_every_bug_planted_in_rows) {
  EXPECT_REFUSED(examined_rows<std::int32_t, row_slip::last_column_of_some>());
  EXPECT_REFUSED(examined_rows<float, row_slip::last_column_of_some>());
  EXPECT_REFUSED(examined_rows<float, row_slip::column_of_the_next_row>());
  EXPECT_REFUSED(examined_rows<std::int32_t, row_slip::last_of_many_rows_unwritten>());
  EXPECT_REFUSED(examined_rows<float, row_slip::one_row_too_many>());
  EXPECT_REFUSED(examined_rows<float, row_slip::empty_rows_left_out>());
  EXPECT_REFUSED(examined_rows<float, row_slip::init_once>());
  EXPECT_REFUSED(examined_rows<std::int32_t, row_slip::row_of_32_bits>());
}

// Dot products.
template <class In, class T, pair_slip planted = pair_slip::none>
verdict examined_dot() {
  return examine(without_storage<In, T>(catalog::operation::dot, bench::fakes::dot<In, planted, T>, op::plus),
                 {.seed = 20261121});
}

TEST(examination, finds_nothing_where_nothing_is_wrong_with_dot_products) {
  expect_nothing_found(100, {examined_dot<std::int32_t, std::int32_t>(), examined_dot<std::int8_t, std::int32_t>(),
                             examined_dot<float, float>(), examined_dot<double, double>()});
}

TEST(examination, refuses_every_bug_planted_in_dot_products) {
  EXPECT_REFUSED(examined_dot<float, float, pair_slip::last_pair_of_some>());
  EXPECT_REFUSED(examined_dot<std::int32_t, std::int32_t, pair_slip::last_pair_of_some>());
  EXPECT_REFUSED(examined_dot<double, double, pair_slip::first_twice>());
  EXPECT_REFUSED(examined_dot<float, float, pair_slip::next_second_of_many>());
  EXPECT_REFUSED(examined_dot<std::int8_t, std::int32_t, pair_slip::next_second_of_many>());
  EXPECT_REFUSED(examined_dot<std::int8_t, std::int32_t, pair_slip::product_rounded_to_the_item>());
  EXPECT_REFUSED(examined_dot<float, float, pair_slip::changes_second>());
}

// Norms of rows.
template <norm_slip planted = norm_slip::none>
verdict examined_norms() {
  return examine(without_storage<float, float>(catalog::operation::row_norm, bench::fakes::norms<planted>),
                 {.seed = 20261121});
}

TEST(examination, finds_nothing_where_nothing_is_wrong_with_norms) { expect_nothing_found(100, {examined_norms()}); }

TEST(examination, refuses_every_bug_planted_in_norms) {
  EXPECT_REFUSED(examined_norms<norm_slip::last_column>());
  EXPECT_REFUSED(examined_norms<norm_slip::weight_of_the_next_column>());
  EXPECT_REFUSED(examined_norms<norm_slip::no_epsilon>());
  EXPECT_REFUSED(examined_norms<norm_slip::mean_of_the_first_row>());
  EXPECT_REFUSED(examined_norms<norm_slip::no_root>());
}

// Places of extrema.
template <class T>
verdict examined_places(catalog::call_t call, op which, const char* only) {
  record r = without_storage<T, T>(catalog::operation::arg_extremum, call, which);
  r.output_type = scalar::i64;
  return examine(r, {.seed = 20261121, .only_case = only});
}
template <class T, op which, place_slip planted = place_slip::none>
verdict examined_place(const char* only = "") {
  return examined_places<T>(bench::fakes::place_of_the_least<T, planted, which == op::minimum>, which, only);
}
template <class T, place_slip planted = place_slip::none>
verdict examined_both_places(const char* only = "") {
  return examined_places<T>(bench::fakes::both_places<T, planted>, op::both, only);
}

TEST(examination, finds_nothing_where_nothing_is_wrong_with_places) {
  expect_nothing_found(100, {examined_place<float, op::minimum>(), examined_place<std::int32_t, op::maximum>(),
                             examined_place<double, op::maximum>(), examined_place<std::int32_t, op::minimum>(),
                             examined_both_places<float>(), examined_both_places<std::int32_t>()});
}

TEST(examination, refuses_every_bug_planted_in_places) {
  EXPECT_REFUSED(examined_place<float, op::minimum, place_slip::last_of_equals>("places"));
  EXPECT_REFUSED(examined_place<std::int32_t, op::maximum, place_slip::last_of_equals>("places"));
  EXPECT_REFUSED(examined_place<float, op::maximum, place_slip::nan_left_out>("places"));
  EXPECT_REFUSED(examined_place<double, op::minimum, place_slip::nan_left_out>("places"));
  EXPECT_REFUSED(examined_place<std::int32_t, op::minimum, place_slip::item_of_another_index>());
  EXPECT_REFUSED(examined_place<float, op::minimum, place_slip::word_of_32_bits>());
  EXPECT_REFUSED(examined_place<float, op::minimum, place_slip::last_item>());
  EXPECT_REFUSED(examined_both_places<float, place_slip::last_of_equals>("places"));
  EXPECT_REFUSED(examined_both_places<double, place_slip::nan_left_out>("places"));
  EXPECT_REFUSED(examined_both_places<std::int32_t, place_slip::last_item>());
}

// Selections.
template <class T, choice_slip planted = choice_slip::none>
verdict examined_choice() {
  return examine(without_storage<T, T>(catalog::operation::select_if, bench::fakes::chosen<T, planted>),
                 {.seed = 20261121});
}

TEST(examination, finds_nothing_where_nothing_is_wrong_with_selections) {
  expect_nothing_found(100, {examined_choice<float>(), examined_choice<std::int32_t>(), examined_choice<double>()});
}

TEST(examination, refuses_every_bug_planted_in_selections) {
  EXPECT_REFUSED(examined_choice<float, choice_slip::order_of_many>());
  EXPECT_REFUSED(examined_choice<std::int32_t, choice_slip::last_item_left_out>());
  EXPECT_REFUSED(examined_choice<float, choice_slip::equal_chosen>());
  EXPECT_REFUSED(examined_choice<std::int32_t, choice_slip::equal_chosen>());
  EXPECT_REFUSED(examined_choice<float, choice_slip::nan_chosen>());
  EXPECT_REFUSED(examined_choice<double, choice_slip::count_unwritten>());
  EXPECT_REFUSED(examined_choice<std::int32_t, choice_slip::one_too_many>());
}

// Top-k of rows.
template <class T, top_k_slip planted = top_k_slip::none>
verdict examined_top_k() {
  record r = without_storage<T, std::uint32_t>(catalog::operation::top_k, bench::fakes::greatest<T, planted>);
  r.accumulator_type = r.input_type;
  return examine(r, {.seed = 20261121});
}

TEST(examination, finds_nothing_where_nothing_is_wrong_with_top_k) {
  expect_nothing_found(500, {examined_top_k<float>(), examined_top_k<std::int32_t>()});
}

TEST(examination, refuses_every_bug_planted_in_top_k) {
  EXPECT_REFUSED(examined_top_k<float, top_k_slip::last_of_equals>());
  EXPECT_REFUSED(examined_top_k<std::int32_t, top_k_slip::last_of_equals>());
  EXPECT_REFUSED(examined_top_k<float, top_k_slip::nan_lost>());
  EXPECT_REFUSED(examined_top_k<float, top_k_slip::zeros_differ>());
  EXPECT_REFUSED(examined_top_k<std::int32_t, top_k_slip::unsorted>());
  EXPECT_REFUSED(examined_top_k<float, top_k_slip::last_column_left_out>());
  EXPECT_REFUSED(examined_top_k<float, top_k_slip::key_rounded>());
}

// Scans, in tiles as a device has them.
enum class scan_bug {
  none,
  last_tile_dropped,
  tail_mask_off_by_one,
  kinds_exchanged,
  init_per_tile,
  init_forgotten,
  init_where_none_is_taken,
  tile_without_its_prefix,
  identity_zero,
  operands_exchanged,
  writes_past_the_end,
  writes_for_no_items,
  reads_after_writing,
  changes_its_input,
  stale_prefix,
  float_sum_of_few_bits
};

constexpr std::size_t scan_tile = 512;

template <class T>
T scan_identity(op which) {
  if constexpr (std::is_same_v<T, affine>)
    return {1, 0};
  else if constexpr (std::is_floating_point_v<T>)
    return which == op::plus ? T(-0.0) : -std::numeric_limits<T>::infinity();
  else
    return which == op::plus ? T{} : std::numeric_limits<T>::lowest();
}

// What a workspace that is zeroed once holds: whether there was a call, and what its last tile was preceded by.
template <class T>
struct kept_state {
  std::uint64_t calls = 0;
  T prefix{};
};

template <class T, op which, bool is_inclusive, scan_bug planted>
cudaError_t scan(void* d_temp_storage, std::size_t& temp_storage_bytes, const arguments& a, cudaStream_t) {
  constexpr std::size_t needed = sizeof(kept_state<T>);
  if (d_temp_storage == nullptr) {
    temp_storage_bytes = needed;
    return cudaSuccess;
  }
  if (temp_storage_bytes < needed) return cudaErrorInvalidValue;
  constexpr bool inclusive = planted == scan_bug::kinds_exchanged ? !is_inclusive : is_inclusive;
  const auto* const in = static_cast<const T*>(a.d_in);
  auto* const out = static_cast<T*>(a.d_out);
  T init = scan_identity<T>(which);
  if (!is_inclusive || planted == scan_bug::init_where_none_is_taken) std::memcpy(&init, a.init, sizeof(T));
  if (planted == scan_bug::init_forgotten) init = scan_identity<T>(which);
  kept_state<T> kept;
  std::memcpy(&kept, d_temp_storage, sizeof kept);
  if (planted == scan_bug::writes_for_no_items && a.num_items == 0) out[0] = init;
  T prefix = init;
  for (std::size_t first = 0; first < a.num_items; first += scan_tile) {
    const std::size_t last = std::min(a.num_items, first + scan_tile);
    if (planted == scan_bug::last_tile_dropped && first > 0 && last == a.num_items) break;
    T all = planted == scan_bug::identity_zero ? T{} : scan_identity<T>(which);
    T before = prefix;
    if (planted == scan_bug::tile_without_its_prefix && first == 3 * scan_tile) before = init;
    if (planted == scan_bug::init_per_tile && first > 0) before = combined(which, init, before);
    if (planted == scan_bug::stale_prefix && first == 3 * scan_tile && kept.calls > 0) before = kept.prefix;
    if (first == 3 * scan_tile) kept.prefix = before;
    for (std::size_t i = first; i < last; ++i) {
      const T item = in[i], earlier = all;
      all = planted == scan_bug::operands_exchanged ? combined(which, item, all) : combined(which, all, item);
      out[i] = combined(which, before, inclusive ? all : earlier);
    }
    // Right as long as the items are still there.
    if (planted == scan_bug::reads_after_writing && last - first == scan_tile) {
      all = scan_identity<T>(which);
      for (std::size_t i = first; i < last; ++i) all = combined(which, all, in[i]);
    }
    prefix = combined(which, prefix, all);
  }
  if (planted == scan_bug::tail_mask_off_by_one && a.num_items % scan_tile > 1) out[a.num_items - 1] = T{};
  if (planted == scan_bug::writes_past_the_end && a.num_items % 4 == 3) out[a.num_items] = prefix;
  if (planted == scan_bug::changes_its_input && a.num_items > 5) const_cast<T*>(in)[5] = T{};
  if constexpr (std::is_floating_point_v<T>)
    if (planted == scan_bug::float_sum_of_few_bits && a.num_items > 1000) out[a.num_items - 1] *= T(1.001);
  ++kept.calls;
  if (planted == scan_bug::stale_prefix) std::memcpy(d_temp_storage, &kept, sizeof kept);
  return cudaSuccess;
}

template <class T, op which, bool inclusive, scan_bug planted = scan_bug::none>
record scan_record() {
  record r = host_record<T, T>(inclusive ? catalog::operation::inclusive_scan : catalog::operation::exclusive_scan,
                               scan<T, which, inclusive, planted>, which);
  r.takes_init = !inclusive;
  if (planted == scan_bug::stale_prefix) r.temp_storage = contents::zeroed_once;
  return r;
}
template <class T, op which, bool inclusive, scan_bug planted = scan_bug::none>
verdict examined_scan(const char* only = "") {
  return examine(scan_record<T, which, inclusive, planted>(), {.seed = 20261121, .only_case = only});
}

TEST(examination, finds_nothing_where_nothing_is_wrong_with_a_scan) {
  expect_nothing_found(100,
                       {examined_scan<std::int32_t, op::plus, true>(), examined_scan<std::int32_t, op::plus, false>(),
                        examined_scan<float, op::plus, true>(), examined_scan<float, op::maximum, false>(),
                        examined_scan<affine, op::compose, true>(), examined_scan<affine, op::compose, false>()});
  EXPECT_EQ((examined_scan<std::int32_t, op::plus, true>("every size").cases), 1);
  EXPECT_EQ((examined_scan<float, op::plus, true>("every size").cases), 0);
}

TEST(examination, refuses_every_bug_planted_in_a_scan) {
  using b = scan_bug;
  EXPECT_REFUSED(examined_scan<std::int32_t, op::plus, true, b::last_tile_dropped>());
  EXPECT_REFUSED(examined_scan<float, op::maximum, true, b::last_tile_dropped>());
  EXPECT_REFUSED(examined_scan<std::int32_t, op::plus, true, b::tail_mask_off_by_one>());
  EXPECT_REFUSED(examined_scan<float, op::plus, true, b::kinds_exchanged>());
  EXPECT_REFUSED(examined_scan<float, op::maximum, false, b::kinds_exchanged>());
  EXPECT_REFUSED(examined_scan<std::int32_t, op::plus, false, b::init_per_tile>());
  EXPECT_REFUSED(examined_scan<float, op::plus, false, b::init_per_tile>());
  EXPECT_REFUSED(examined_scan<affine, op::compose, false, b::init_per_tile>());
  EXPECT_REFUSED(examined_scan<std::int32_t, op::plus, false, b::init_forgotten>());
  EXPECT_REFUSED(examined_scan<float, op::maximum, false, b::init_forgotten>());
  EXPECT_REFUSED(examined_scan<affine, op::compose, false, b::init_forgotten>());
  EXPECT_REFUSED(examined_scan<std::int32_t, op::plus, true, b::init_where_none_is_taken>());
  EXPECT_REFUSED(examined_scan<std::int32_t, op::plus, true, b::tile_without_its_prefix>());
  EXPECT_REFUSED(examined_scan<float, op::maximum, true, b::tile_without_its_prefix>());
  EXPECT_REFUSED(examined_scan<affine, op::compose, true, b::tile_without_its_prefix>());
  EXPECT_REFUSED(examined_scan<float, op::maximum, true, b::identity_zero>());
  EXPECT_REFUSED(examined_scan<std::int32_t, op::maximum, false, b::identity_zero>());
  EXPECT_REFUSED(examined_scan<affine, op::compose, true, b::operands_exchanged>());
  EXPECT_TRUE((examined_scan<std::int32_t, op::plus, true, b::operands_exchanged>().findings.empty()));
  EXPECT_REFUSED(examined_scan<float, op::plus, true, b::writes_past_the_end>());
  EXPECT_REFUSED(examined_scan<float, op::plus, false, b::writes_for_no_items>());
  EXPECT_REFUSED(examined_scan<std::int32_t, op::plus, true, b::reads_after_writing>());
  EXPECT_REFUSED(examined_scan<float, op::plus, true, b::changes_its_input>());
  EXPECT_REFUSED(examined_scan<std::int32_t, op::plus, true, b::stale_prefix>("pairwise"));
  EXPECT_REFUSED(examined_scan<std::int32_t, op::plus, true, b::stale_prefix>("same workspace again"));
  EXPECT_REFUSED(examined_scan<float, op::plus, true, b::float_sum_of_few_bits>());
}

// What one operation leaves in the workspace, another takes for its own.
TEST(examination, refuses_state_that_another_operation_misreads) {
  const record subject = scan_record<std::int32_t, op::plus, true, scan_bug::stale_prefix>(),
               peer = scan_record<std::int32_t, op::plus, false, scan_bug::stale_prefix>();
  examination how{.seed = 20261121, .only_case = "workspace shared by operations and types"};
  how.peers = {&peer};
  const verdict v = examine(subject, how);
  EXPECT_EQ(v.cases, 1);
  EXPECT_FALSE(v.findings.empty());
  record sound = scan_record<std::int32_t, op::plus, true>(), other = scan_record<affine, op::compose, false>();
  sound.temp_storage = other.temp_storage = contents::zeroed_once;
  how.peers = {&other};
  const verdict passed = examine(sound, how);
  EXPECT_EQ(passed.cases, 1);
  EXPECT_TRUE(passed.findings.empty()) << all_findings(passed);
}

// Histograms, a sample at a time.
enum class histogram_bug {
  none,
  last_sample_dropped,
  upper_level_inside,
  lower_level_outside,
  nan_in_bin_0,
  output_not_cleared,
  nothing_written_for_no_samples,
  negative_samples_dropped,
  bins_in_the_sample_type,
  width_rounded_first,
  last_bin_not_clamped,
  first_of_equal_edges,
  counters_of_16_bits,
  counts_left_in_the_workspace,
  channels_exchanged,
  fourth_channel_counted,
  any_levels_taken,
  any_bins_taken,
  changes_its_levels
};

constexpr int histogram_most_bins = 4096;

template <class T, class L, catalog::operation kind, histogram_bug planted>
int bin_of(T sample, const L* levels, int num_bins) {
  using b = histogram_bug;
  if constexpr (std::is_floating_point_v<T>)
    if (std::isnan(sample)) return planted == b::nan_in_bin_0 ? 0 : -1;
  if (planted == b::negative_samples_dropped && sample < 0) return -1;
  const L lower = levels[0], upper = levels[kind == catalog::operation::histogram_range ? num_bins : 1];
  if (planted == b::lower_level_outside ? sample <= lower : sample < lower) return -1;
  if (planted == b::upper_level_inside ? sample > upper : sample >= upper) return -1;
  if constexpr (kind == catalog::operation::histogram_range) {
    int bin = static_cast<int>(std::upper_bound(levels, levels + num_bins, sample) - levels) - 1;
    if (planted == b::first_of_equal_edges)
      while (bin > 0 && levels[bin - 1] == levels[bin]) --bin;
    return bin;
  } else if constexpr (std::is_floating_point_v<T>) {
    const int bin = static_cast<int>((sample - lower) * (static_cast<T>(num_bins) / (upper - lower)));
    return planted == b::last_bin_not_clamped ? bin : std::min(bin, num_bins - 1);
  } else {
    const auto range = static_cast<__int128>(upper) - lower;
    int bin = static_cast<int>((static_cast<__int128>(sample) - lower) * num_bins / range);
    if (planted == b::width_rounded_first && range >= num_bins)
      bin = static_cast<int>((static_cast<__int128>(sample) - lower) / (range / num_bins));
    if (planted == b::bins_in_the_sample_type) bin = static_cast<T>(bin);
    return std::clamp(bin, 0, num_bins - 1);
  }
}

template <class T, class L, catalog::operation kind, histogram_bug planted>
cudaError_t histogram(void* d_temp_storage, std::size_t& temp_storage_bytes, const arguments& a, cudaStream_t) {
  using b = histogram_bug;
  constexpr std::size_t needed = 64;
  const auto* const levels = static_cast<const L*>(a.levels);
  const int num_bins = a.num_levels - 1;
  if (planted != b::any_levels_taken) {
    if (a.num_levels < 2) return cudaErrorInvalidValue;
    if (kind != catalog::operation::histogram_range && !(levels[0] < levels[1])) return cudaErrorInvalidValue;
    if (std::is_floating_point_v<L> && kind != catalog::operation::histogram_range &&
        !(static_cast<double>(levels[1] - levels[0]) < HUGE_VAL))
      return cudaErrorInvalidValue;
  }
  if (planted != b::any_bins_taken && num_bins > histogram_most_bins) return cudaErrorInvalidValue;
  if (d_temp_storage == nullptr) {
    temp_storage_bytes = needed;
    return cudaSuccess;
  }
  if (temp_storage_bytes < needed) return cudaErrorInvalidValue;
  if (planted == b::nothing_written_for_no_samples && a.num_items == 0) return cudaSuccess;
  constexpr bool multi = kind == catalog::operation::multi_histogram_even;
  constexpr std::size_t channels = multi ? 4 : 1, active = planted == b::fourth_channel_counted ? 4 : multi ? 3 : 1;
  auto* const out = static_cast<std::uint32_t*>(a.d_out);
  const std::size_t num_counters = static_cast<std::size_t>(std::max(num_bins, 0)) * (multi ? 3 : 1);
  if (planted != b::output_not_cleared) std::fill_n(out, num_counters, 0u);
  std::size_t last = a.num_items;
  if (planted == b::last_sample_dropped && last > 1000) --last;
  for (std::size_t i = 0; i < last; ++i) {
    std::size_t channel = i % channels;
    if (channel >= active) continue;
    if (planted == b::channels_exchanged && a.num_items > 40) channel = 2 - channel;
    if (planted == b::fourth_channel_counted) channel = std::min<std::size_t>(channel, 2);
    const int bin = bin_of<T, L, kind, planted>(static_cast<const T*>(a.d_in)[i], levels, num_bins);
    if (bin < 0) continue;
    std::uint32_t& counter = out[channel * static_cast<std::size_t>(num_bins) + static_cast<std::size_t>(bin)];
    ++counter;
    if (planted == b::counters_of_16_bits) counter &= 0xffff;
  }
  if (planted == b::counts_left_in_the_workspace && num_bins > 0) {
    std::uint32_t left;  // zeroed before the first call
    std::memcpy(&left, d_temp_storage, sizeof left);
    out[0] += left;
    left += 1;
    std::memcpy(d_temp_storage, &left, sizeof left);
  }
  if (planted == b::changes_its_levels && a.num_items > 0) const_cast<L*>(levels)[num_bins] += 1;
  return cudaSuccess;
}

template <class T, catalog::operation kind = catalog::operation::histogram_even,
          histogram_bug planted = histogram_bug::none>
record histogram_record(int max_bins = histogram_most_bins) {
  using level = std::conditional_t<sizeof(T) == 1, int, T>;
  record r = host_record<T, std::uint32_t>(kind, histogram<T, level, kind, planted>);
  r.level_type = scalar_of<level>();
  if (kind == catalog::operation::multi_histogram_even) r.num_channels = 4, r.num_active_channels = 3;
  r.blocks_per_multiprocessor = 1;
  r.max_bins = max_bins;
  if (planted == histogram_bug::counts_left_in_the_workspace) r.temp_storage = contents::zeroed_once;
  return r;
}
template <class T, catalog::operation kind = catalog::operation::histogram_even,
          histogram_bug planted = histogram_bug::none>
verdict examined_histogram(const char* only = "", int max_bins = histogram_most_bins) {
  return examine(histogram_record<T, kind, planted>(max_bins), {.seed = 20261121, .only_case = only});
}
constexpr auto even = catalog::operation::histogram_even, range = catalog::operation::histogram_range,
               multi = catalog::operation::multi_histogram_even;

TEST(examination, finds_nothing_where_nothing_is_wrong_with_a_histogram) {
  expect_nothing_found(
      30, {examined_histogram<std::uint8_t>(), examined_histogram<std::int8_t>(), examined_histogram<std::uint32_t>(),
           examined_histogram<float>(), examined_histogram<double, range>("pairwise"),
           examined_histogram<std::int32_t, range>("edges"), examined_histogram<float, range>("small"),
           examined_histogram<std::uint8_t, multi>()});
}

TEST(examination, refuses_every_bug_planted_in_a_histogram) {
  using b = histogram_bug;
  using i32 = std::int32_t;
  using u8 = std::uint8_t;
  using i8 = std::int8_t;
  EXPECT_REFUSED(examined_histogram<u8, even, b::last_sample_dropped>("pairwise"));
  EXPECT_TRUE((examined_histogram<u8, even, b::last_sample_dropped>("small").findings.empty()));
  EXPECT_REFUSED(examined_histogram<i32, even, b::upper_level_inside>("edges"));
  EXPECT_REFUSED(examined_histogram<float, even, b::upper_level_inside>("edges"));
  EXPECT_REFUSED(examined_histogram<float, range, b::upper_level_inside>("edges", 256));
  EXPECT_REFUSED(examined_histogram<i32, even, b::lower_level_outside>("edges"));
  EXPECT_REFUSED(examined_histogram<u8, multi, b::lower_level_outside>("edges"));
  EXPECT_REFUSED(examined_histogram<float, even, b::nan_in_bin_0>("pairwise"));
  EXPECT_REFUSED(examined_histogram<float, even, b::nan_in_bin_0>("edges:unit"));
  EXPECT_REFUSED(examined_histogram<float, range, b::nan_in_bin_0>("edges:unit", 256));
  EXPECT_REFUSED(examined_histogram<i32, even, b::upper_level_inside>("many at edges"));
  EXPECT_REFUSED(examined_histogram<i32, even, b::output_not_cleared>("small"));
  EXPECT_REFUSED(examined_histogram<i32, even, b::nothing_written_for_no_samples>("small:0"));
  EXPECT_TRUE((examined_histogram<i32, even, b::nothing_written_for_no_samples>("edges").findings.empty()));
  EXPECT_REFUSED(examined_histogram<i8, even, b::negative_samples_dropped>("pairwise"));
  EXPECT_REFUSED(examined_histogram<i32, even, b::negative_samples_dropped>("edges:broad:256"));
  EXPECT_TRUE((examined_histogram<i8, even, b::negative_samples_dropped>("edges:unit").findings.empty()));
  EXPECT_REFUSED(examined_histogram<u8, even, b::bins_in_the_sample_type>("edges:crowded:1000"));
  EXPECT_REFUSED(examined_histogram<i8, even, b::bins_in_the_sample_type>("edges:whole:256"));
  EXPECT_TRUE((examined_histogram<u8, even, b::bins_in_the_sample_type>("edges:unit").findings.empty()));
  EXPECT_REFUSED(examined_histogram<i32, even, b::width_rounded_first>("edges:ragged"));
  EXPECT_TRUE((examined_histogram<i32, even, b::width_rounded_first>("edges:broad").findings.empty()));
  EXPECT_REFUSED(examined_histogram<float, even, b::last_bin_not_clamped>("edges"));
  EXPECT_TRUE((examined_histogram<float, even, b::last_bin_not_clamped>("edges:unit").findings.empty()));
  EXPECT_REFUSED(examined_histogram<i32, range, b::first_of_equal_edges>("edges:duplicated", 256));
  EXPECT_TRUE((examined_histogram<i32, range, b::first_of_equal_edges>("edges:broad", 256).findings.empty()));
  EXPECT_REFUSED(examined_histogram<u8, even, b::counters_of_16_bits>("pairwise"));
  EXPECT_REFUSED(examined_histogram<u8, even, b::counts_left_in_the_workspace>("same workspace again"));
  EXPECT_REFUSED(examined_histogram<u8, multi, b::channels_exchanged>("pairwise"));
  EXPECT_TRUE((examined_histogram<u8, multi, b::channels_exchanged>("small").findings.empty()));
  EXPECT_REFUSED(examined_histogram<u8, multi, b::fourth_channel_counted>("small"));
  EXPECT_REFUSED(examined_histogram<i32, even, b::any_levels_taken>("levels to be refused"));
  EXPECT_REFUSED(examined_histogram<float, range, b::any_levels_taken>("levels to be refused"));
  EXPECT_REFUSED(examined_histogram<i32, range, b::changes_its_levels>("small"));
  EXPECT_REFUSED(examined_histogram<u8, even, b::any_bins_taken>("max_bins + 1"));
}

// What a library is known to get wrong is left out of its record and said; it is seen in a test of its own.
TEST(examination, leaves_out_what_a_library_is_known_to_get_wrong_and_nothing_else) {
  using b = histogram_bug;
  const auto of_cub = [](record r) {
    r.family = catalog::family::library_baselines;
    r.rung = "cub_device_histogram";
    return r;
  };
  const examination how{.seed = 20261121};
  const auto fault = [](std::string_view name) -> const library_fault& {
    return *std::ranges::find(library_faults(), name, &library_fault::name);
  };
  const record wrong = of_cub(histogram_record<std::int8_t, even, b::negative_samples_dropped>());
  const verdict left_out = examine(wrong, how), shown = examine(wrong, fault("negative_i8"), how);
  EXPECT_TRUE(left_out.findings.empty()) << all_findings(left_out);
  ASSERT_FALSE(left_out.notes.empty());
  EXPECT_NE(left_out.notes[0].find("cccl#10977"), std::string::npos) << left_out.notes[0];
  EXPECT_TRUE(shown.known_fault);
  EXPECT_NE(shown.skipped.find("cccl#10977"), std::string::npos) << shown.skipped;
  EXPECT_TRUE(shown.findings.empty());

  const record right = of_cub(histogram_record<std::int8_t>());
  const verdict gone = examine(right, fault("negative_i8"), how);
  EXPECT_FALSE(gone.known_fault);
  EXPECT_TRUE(gone.skipped.empty() && gone.findings.empty());
  EXPECT_GT(gone.cases, 10);

  // Of a type where the library is known to be right; another bug beside the known one; another library.
  EXPECT_REFUSED(examine(of_cub(histogram_record<std::int32_t, even, b::negative_samples_dropped>()), how));
  EXPECT_REFUSED(examine(of_cub(histogram_record<std::int8_t, even, b::last_sample_dropped>()), how));
  record other = wrong;
  other.rung = "thrust_histogram";
  EXPECT_REFUSED(examine(other, how));
  EXPECT_REFUSED(examine(histogram_record<std::int8_t, even, b::negative_samples_dropped>(), how));

  // Not run at all where it would write beside its output.
  const record floats = of_cub(histogram_record<float, even, b::last_bin_not_clamped>());
  const verdict spared = examine(floats, how), named = examine(floats, fault("beyond_the_last_bin"), how);
  EXPECT_TRUE(spared.findings.empty()) << all_findings(spared);
  EXPECT_FALSE(spared.notes.empty());
  EXPECT_TRUE(named.known_fault);
  EXPECT_EQ(named.cases, 0);
}

// Roofs that make words of what they read.
enum class roof_bug { none, last_item_lost, neighbours_exchanged, sign_extended, writes_for_no_items };

template <class Input, roof_bug planted = roof_bug::none>
cudaError_t widen(void* d_temp_storage, std::size_t& temp_storage_bytes, const arguments& a, cudaStream_t) {
  if (d_temp_storage == nullptr) {
    temp_storage_bytes = 16;
    return cudaSuccess;
  }
  const auto* const in = static_cast<const Input*>(a.d_in);
  auto* const out = static_cast<std::uint32_t*>(a.d_out);
  for (std::size_t i = 0; i < a.num_items; ++i)
    out[i] = planted == roof_bug::sign_extended
                 ? static_cast<std::uint32_t>(static_cast<std::make_signed_t<Input>>(in[i]))
                 : in[i];
  if (planted == roof_bug::last_item_lost && a.num_items > 1000) out[a.num_items - 1] = ~0u;
  if (planted == roof_bug::neighbours_exchanged && a.num_items > 1000) std::swap(out[600], out[601]);
  if (planted == roof_bug::writes_for_no_items && a.num_items == 0) out[0] = 0;
  return cudaSuccess;
}

template <class Input, roof_bug planted = roof_bug::none>
verdict examined_roof() {
  record r = host_record<Input, std::uint32_t>(
      sizeof(Input) == 1 ? catalog::operation::widen_bytes : catalog::operation::widen_halves, widen<Input, planted>);
  r.accumulator_type = scalar::none;
  r.temp_storage = contents::none;
  return examine(r, {.seed = 20261121});
}

TEST(examination, refuses_every_bug_planted_in_a_roof_that_widens) {
  using b = roof_bug;
  expect_nothing_found(100, {examined_roof<std::uint8_t>(), examined_roof<std::uint16_t>()});
  EXPECT_REFUSED(examined_roof<std::uint8_t, b::last_item_lost>());
  EXPECT_REFUSED(examined_roof<std::uint16_t, b::last_item_lost>());
  EXPECT_REFUSED(examined_roof<std::uint8_t, b::neighbours_exchanged>());
  EXPECT_REFUSED(examined_roof<std::uint8_t, b::sign_extended>());
  EXPECT_REFUSED(examined_roof<std::uint16_t, b::sign_extended>());
  EXPECT_REFUSED(examined_roof<std::uint16_t, b::writes_for_no_items>());
}

// The device's checkers are the host's, compiled by another compiler.
TEST(checkers, agree_with_the_oracles_on_the_host) {
  for (const checker_test& test : checker_tests()) {
    const verdict v = run(test, host_site(), {.seed = 20261121});
    EXPECT_TRUE(v.findings.empty()) << test.name << ": " << all_findings(v);
    EXPECT_GE(v.cases, 40) << test.name;
  }
}

TEST(examination, replays_one_case_or_a_group_of_them) {
  EXPECT_EQ((examined<float, op::plus, bug::none>(contents::none, "small:7").cases), 1);
  EXPECT_EQ((examined<float, op::plus, bug::none>(contents::none, "small").cases), 34);
  EXPECT_EQ((examined<float, op::plus, bug::none>(contents::none, "no such case").cases), 0);
  EXPECT_EQ((examined<float, op::plus, bug::output_not_written>(contents::none, "small:30").findings.size()), 0u);
  EXPECT_EQ((examined<float, op::plus, bug::output_not_written>(contents::none, "small:31").findings.size()), 1u);
}

TEST(examination, names_are_those_of_the_catalog) {
  record r{};
  r.ladder = "reductions";
  r.rung = "warp_shuffle";
  r.operation = catalog::operation::reduce;
  r.op = op::plus;
  r.input_type = scalar::u8;
  r.accumulator_type = scalar::u32;
  EXPECT_EQ(full_name(r), "handwritten/reductions/warp_shuffle/plus/u8_u32");
  r.input_type = scalar::u32;
  EXPECT_EQ(full_name(r), "handwritten/reductions/warp_shuffle/plus/u32");
  r.operation = catalog::operation::exclusive_scan;
  EXPECT_EQ(full_name(r), "handwritten/reductions/warp_shuffle/exclusive_scan/plus/u32");
  EXPECT_EQ(full_name(histogram_record<std::uint8_t>()), "handwritten/host/planted/histogram_even/u8_u32");
  r.operation = catalog::operation::copy;
  r.op = op::none;
  EXPECT_EQ(full_name(r), "handwritten/reductions/warp_shuffle/copy/u32");
}

}  // namespace
}  // namespace rungs::tests
