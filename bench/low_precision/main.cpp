// rungs_low_precision: how long sums, quantisation, softmax and norms of fp8 and fp4 take, beside kernels with the
// toolkit's conversions and beside a plain read or copy of as many bytes. Cold, as rungs_bench takes it, all ways of a
// cell together. A way whose results are wrong has no time.
//
//   rungs_low_precision [FILE [FILTER]]      JSON to FILE, or to standard output
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "inference/study.hpp"
#include "low_precision/formats.hpp"  // the tests': the formats on the host
#include "low_precision/ways.hpp"

namespace rungs::bench {
namespace {

using tests::scheme;

constexpr std::size_t num_columns = toolkit_columns, most_rows = 65536, fewer_rows = 8192;  // 512 and 64 MiB of bf16
constexpr std::size_t num_items = most_rows * num_columns;
constexpr low_precision_cell cells[] = {
    {work::sum_e4m3, most_rows, num_columns},    {work::sum_e5m2, most_rows, num_columns},
    {work::sum_nvfp4, most_rows, num_columns},   {work::sum_mxfp4, most_rows, num_columns},
    {work::fp8_groups, fewer_rows, num_columns}, {work::fp8_groups, most_rows, num_columns},
    {work::fp8_rows, fewer_rows, num_columns},   {work::fp8_rows, 4 * fewer_rows, num_columns},
    {work::fp8_rows, most_rows, num_columns},    {work::mxfp8, fewer_rows, num_columns},
    {work::mxfp8, most_rows, num_columns},       {work::mxfp4, fewer_rows, num_columns},
    {work::mxfp4, most_rows, num_columns},       {work::nvfp4, fewer_rows, num_columns},
    {work::nvfp4, most_rows, num_columns},       {work::softmax, most_rows, num_columns},
    {work::rms_norm, most_rows, num_columns},    {work::rms_norm_to_codes, most_rows, num_columns}};
constexpr float scale_of_softmax = 0x1p-6f, epsilon = 1e-5f;

std::uint64_t scattered(std::size_t index) {
  std::uint64_t bits = index * 0x9e3779b97f4a7c15;
  bits = (bits ^ (bits >> 32)) * 0xd6e8feb86659fd93;
  return bits ^ (bits >> 32);
}

float value_of_bf16(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

// Finite inputs, on the host and on the device.
struct inputs {
  std::vector<std::uint16_t> halves;                // 2^-10 to 2^6 and their negatives, of all exponents alike
  std::vector<std::uint8_t> codes, scales, powers;  // fp8 that is finite as e4m3 and as e5m2; e4m3; e8m0
  device_memory on_device[4], weights, scale;
  inputs() : halves(num_items), codes(num_items), scales(num_items / 16), powers(num_items / 32) {
    inference::in_parallel(num_items, [this](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) {
        const std::uint64_t drawn = scattered(i);
        halves[i] = static_cast<std::uint16_t>((drawn & 0x8000) | (117 + (drawn >> 16 & 15)) << 7 | (drawn & 0x7f));
        const auto code = static_cast<std::uint8_t>(drawn >> 24);
        codes[i] = (code & 0x7c) == 0x7c ? code ^ 0x40 : code;
        if (i < scales.size()) scales[i] = codes[i] & 0x7f;
        if (i < powers.size()) powers[i] = static_cast<std::uint8_t>(120 + (drawn >> 32 & 15));
      }
    });
    on_device[0] = inference::on_device(halves);
    on_device[1] = inference::on_device(codes);
    on_device[2] = inference::on_device(scales);
    on_device[3] = inference::on_device(powers);
    weights = inference::on_device(std::vector(halves.begin(), halves.begin() + num_columns));
    scale = inference::on_device(std::vector{scale_of_softmax});
  }

  float weight(std::size_t column) const { return value_of_bf16(halves[column]); }
  const void* longest() const { return on_device[0].get(); }
  const void* in(const low_precision_cell& cell) const { return on_device[cell.reads_halves() ? 0 : 1].get(); }
  const void* second(work does) const {
    return does == work::softmax     ? scale.get()
           : does == work::sum_nvfp4 ? on_device[2].get()
           : does == work::sum_mxfp4 ? on_device[3].get()
                                     : weights.get();
  }
};

// What a row of a cell has to become.
class judge {
 public:
  judge(const inputs& from, const low_precision_cell& cell) : from_(from), cell_(cell) {
    for (int code = 0; code < 256; ++code) {
      e4m3_[code] = tests::e4m3.value(code);
      e5m2_[code] = tests::e5m2.value(code);
    }
    // Made once, before threads look them up.
    tests::code_of(scheme::mxfp4, 1, tests::scale_of(scheme::nvfp4, 1, false, 1));
  }

  bool is_right(std::size_t row, const std::byte* results, const std::byte* scales) const {
    switch (cell_.does) {
      case work::sum_e4m3:
      case work::sum_e5m2:
      case work::sum_nvfp4:
      case work::sum_mxfp4:
        return is_sum(row, item<float>(results, row));
      case work::fp8_groups:
      case work::fp8_rows:
        return is_quantised<scheme::fp8_by_floats>(row, results, scales);
      case work::mxfp8:
        return is_quantised<scheme::mxfp8>(row, results, scales);
      case work::mxfp4:
        return is_quantised<scheme::mxfp4>(row, results, scales);
      case work::nvfp4:
        return is_quantised<scheme::nvfp4>(row, results, scales);
      case work::softmax:
        return is_softmax(row, results);
      case work::rms_norm:
        return is_norm(row, results);
      case work::rms_norm_to_codes:
        return is_norm_as_codes(row, results, item<float>(scales, row));
    }
    return false;
  }

 private:
  template <class T>
  static T item(const std::byte* from, std::size_t index) {
    T found;
    std::memcpy(&found, from + index * sizeof(T), sizeof(T));
    return found;
  }
  float half(std::size_t row, std::size_t i) const { return value_of_bf16(from_.halves[row * num_columns + i]); }

  // No item passes through more than 128 additions.
  bool is_sum(std::size_t row, float found) const {
    double sum = 0, magnitudes = 0;
    for (std::size_t i = 0; i < num_columns; ++i) {
      const std::size_t at = row * num_columns + i;
      double value;
      if (cell_.does == work::sum_e4m3 || cell_.does == work::sum_e5m2) {
        value = (cell_.does == work::sum_e4m3 ? e4m3_ : e5m2_)[from_.codes[at]];
      } else {
        const std::size_t group = at / cell_.group();
        value =
            tests::e2m1.value(from_.codes[at / 2] >> (at % 2 * 4) & 15) *
            (cell_.does == work::sum_nvfp4 ? e4m3_[from_.scales[group]] : tests::value_of_e8m0(from_.powers[group]));
      }
      sum += value;
      magnitudes += std::fabs(value);
    }
    return std::fabs(found - sum) <= 128 * 0x1p-24 * magnitudes;
  }

  // Bit for bit.
  template <scheme how>
  bool is_quantised(std::size_t row, const std::byte* results, const std::byte* scales) const {
    const std::size_t group = cell_.group();
    for (std::size_t first = 0; first < num_columns; first += group) {
      float greatest = 0;
      for (std::size_t i = first; i < first + group; ++i) greatest = std::max(greatest, std::fabs(half(row, i)));
      const tests::quantised_group of = tests::scale_of(how, greatest, false, 1);
      const std::size_t index = (row * num_columns + first) / group;
      if (how == scheme::fp8_by_floats ? item<float>(scales, index) != of.scale
                                       : item<std::uint8_t>(scales, index) != of.scale)
        return false;
      for (std::size_t i = first; i < first + group; ++i) {
        const std::size_t at = row * num_columns + i;
        const int code = tests::is_fp4(how) ? item<std::uint8_t>(results, at / 2) >> (at % 2 * 4) & 15
                                            : item<std::uint8_t>(results, at);
        if (code != tests::code_of(how, half(row, i), of)) return false;
      }
    }
    return true;
  }

  // A bf16 has eight bits.
  static bool is_near(std::uint16_t found, double expected) {
    return std::fabs(value_of_bf16(found) - expected) <= (0x1p-8 + 0x1p-14) * std::fabs(expected) + 1e-37;
  }
  bool is_softmax(std::size_t row, const std::byte* results) const {
    const auto exponential = [&](std::size_t i) {
      return std::exp(e4m3_[from_.codes[row * num_columns + i]] * scale_of_softmax);
    };
    double sum = 0;
    for (std::size_t i = 0; i < num_columns; ++i) sum += exponential(i);
    for (std::size_t i = 0; i < num_columns; ++i)
      if (!is_near(item<std::uint16_t>(results, row * num_columns + i), exponential(i) / sum)) return false;
    return true;
  }
  template <class Value>
  static double factor_of(Value value) {
    double square = 0;
    for (std::size_t i = 0; i < num_columns; ++i) square += value(i) * value(i) / num_columns;
    return 1 / std::sqrt(square + epsilon);
  }
  bool is_norm(std::size_t row, const std::byte* results) const {
    const auto value = [&](std::size_t i) { return e4m3_[from_.codes[row * num_columns + i]]; };
    const double factor = factor_of(value);
    for (std::size_t i = 0; i < num_columns; ++i)
      if (!is_near(item<std::uint16_t>(results, row * num_columns + i), value(i) * factor * from_.weight(i)))
        return false;
    return true;
  }
  // Which code is nearest hangs on the last bit of the factor. So codes may be half a step away from the exact result.
  bool is_norm_as_codes(std::size_t row, const std::byte* results, float scale) const {
    const double factor = factor_of([&](std::size_t i) { return double{half(row, i)}; });
    double greatest = 0;
    for (std::size_t i = 0; i < num_columns; ++i) {
      const double expected = half(row, i) * factor * from_.weight(i);
      greatest = std::max(greatest, std::fabs(expected));
      const double found = e4m3_[item<std::uint8_t>(results, row * num_columns + i)] * scale;
      if (!(std::fabs(found - expected) <= 1.001 * std::max(0x1p-4 * std::fabs(expected), 0x1p-10 * scale)))
        return false;
    }
    return std::fabs(scale - greatest / 448) <= 1e-5 * scale;
  }

  const inputs& from_;
  low_precision_cell cell_;
  double e4m3_[256], e5m2_[256];
};

void measure(inference::study& all) {
  const inputs from;
  const device_memory out(num_items * sizeof(std::uint16_t) + (1 << 26));
  for (const low_precision_cell& about : cells) {
    inference::cell cell;
    cell.work = about.name();
    cell.input = about.input();
    cell.rows = about.num_rows;
    cell.columns = about.num_columns;
    cell.read_bytes = about.in_bytes() + about.second_bytes();
    cell.written_bytes = about.result_bytes() + about.scale_bytes();
    cell.roof_copies = !about.is_sum();
    cell.roof_in = from.longest();
    cell.d_out = out.get();
    cell.out_bytes = cell.written_bytes;
    const auto defect = [&from, &out, about] {
      const auto written = inference::on_host<std::byte>(out.get(), about.result_bytes() + about.scale_bytes());
      const judge by(from, about);
      return inference::wrong_row(about.num_rows, [&](std::size_t row) {
        return by.is_right(row, written.data(), written.data() + about.result_bytes());
      });
    };
    for (const inference::named_call& by : ways_of(about)) {
      cell.ways.push_back({by.role,
                           by.name,
                           by.call,
                           {.d_in = from.in(about),
                            .d_out = out.get(),
                            .num_rows = about.num_rows,
                            .num_columns = about.num_columns,
                            .d_second = from.second(about.does)},
                           defect});
    }
    all.measure(cell);
  }
}

}  // namespace
}  // namespace rungs::bench

int main(int argc, char** argv) {
  return rungs::bench::inference::run("rungs_low_precision", argc, argv, rungs::bench::measure);
}
