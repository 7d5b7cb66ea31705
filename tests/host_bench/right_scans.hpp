// Every kind of scan that the catalog has, with its right output computed in the plainest way.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "fake_records.hpp"
#include "places.hpp"
#include "verify.hpp"

namespace rungs::bench::fakes {

struct scan_types {
  catalog::scalar input, output;
};
inline constexpr scan_types all_scan_types[] = {
    {catalog::scalar::f32, catalog::scalar::f32}, {catalog::scalar::f64, catalog::scalar::f64},
    {catalog::scalar::f16, catalog::scalar::f32}, {catalog::scalar::bf16, catalog::scalar::f32},
    {catalog::scalar::i32, catalog::scalar::i32}, {catalog::scalar::i64, catalog::scalar::i64},
    {catalog::scalar::u64, catalog::scalar::u64}, {catalog::scalar::u8, catalog::scalar::u32},
    {catalog::scalar::i8, catalog::scalar::i32},  {catalog::scalar::u8, catalog::scalar::u8},
    {catalog::scalar::i16, catalog::scalar::i16}, {catalog::scalar::affine, catalog::scalar::affine}};

inline catalog::record a_scan(catalog::operation kind, catalog::op combine, scan_types of) {
  catalog::record about = a_scan("any", kind, does_nothing, of.output);
  about.op = combine;
  about.input_type = of.input;
  about.takes_init = kind == catalog::operation::exclusive_scan || of.input != of.output;
  about.summation_height = [](std::size_t n) -> std::size_t { return n; };
  return about;
}

inline void for_each_scan(const std::function<void(const catalog::record&)>& visit) {
  using catalog::op;
  for (const auto kind : {catalog::operation::inclusive_scan, catalog::operation::exclusive_scan}) {
    for (const auto& of : all_scan_types) {
      if (of.input == catalog::scalar::affine) {
        visit(a_scan(kind, op::compose, of));
        continue;
      }
      for (const op combine : {op::plus, op::minimum, op::maximum}) visit(a_scan(kind, combine, of));
    }
  }
}

inline std::string name_of(const catalog::record& about) {
  return std::string(name(about.operation)) + '/' + std::string(name(about.op)) + '/' + types_name(about);
}

inline bool has_float_output(const catalog::record& about) {
  return about.output_type == catalog::scalar::f32 || about.output_type == catalog::scalar::f64;
}

inline std::vector<unsigned char> right_output(const catalog::record& about, const workload& from, int init_offset) {
  std::vector<unsigned char> items(from.num_items * 8), output(from.num_items * catalog::size_of(about.output_type));
  generate(from, items.data());
  const value_bytes init = init_of(about.op, about.accumulator_type, init_offset);
  with_type(about.input_type, [&]<class In>(In) {
    with_type(about.output_type, [&]<class Out>(Out) {
      if constexpr (is_number<In> ? std::is_arithmetic_v<Out> : !is_number<Out>) {
        Out first;
        std::memcpy(&first, init.data(), sizeof first);
        const auto right = scanned(about, reinterpret_cast<const In*>(items.data()), from.num_items, first);
        std::memcpy(output.data(), right.data(), output.size());
      }
    });
  });
  return output;
}

// An error that no tolerance allows: the exponent of a float, the lowest bit of anything else.
inline void spoil(const catalog::record& about, std::vector<unsigned char>& output, std::size_t element) {
  const std::size_t size = catalog::size_of(about.output_type);
  output[element * size + (has_float_output(about) ? size - 1 : 0)] ^= 1;
}

// What the contender writes_the_prepared writes.
inline std::vector<unsigned char>& prepared() {
  static std::vector<unsigned char> output;
  return output;
}
inline cudaError_t writes_the_prepared(void* workspace, std::size_t& num_bytes, const catalog::arguments& a,
                                       cudaStream_t stream) {
  if (only_size(workspace, num_bytes)) return cudaSuccess;
  return cudaMemcpyAsync(a.d_out, prepared().data(), prepared().size(), cudaMemcpyHostToDevice, stream);
}

// A place passes right outputs and finds the one wrong element of others: in every type, at the ends of chunks and
// where chunks are long. The device's functions are the host's, but compiled by another compiler.
inline void expect_outputs_to_be_checked(device_place& where) {
  for_each_scan([&](const catalog::record& any) {
    catalog::record about = any;
    about.executes_on = executor::device;
    about.call = writes_the_prepared;
    const bool long_chunks =
        about.input_type == catalog::scalar::f32 && about.op == catalog::op::plus && about.takes_init;
    for (const std::size_t n : {std::size_t{1}, std::size_t{10'007}, fewest_chunk_items * max_chunks + 1}) {
      if (n > 1'000'000 && !long_chunks) continue;
      const workload from{about.input_type, n, 5, true};
      const problem asked{.operation = about.operation,
                          .op = about.op,
                          .input_type = about.input_type,
                          .accumulator_type = about.accumulator_type,
                          .output_type = about.output_type,
                          .num_items = n,
                          .modes = {},
                          .contenders = {&about}};
      const auto context = name_of(about) + " n=" + std::to_string(n) + ": ";
      contender one;
      one.record = &about;
      one.arguments.num_items = n;
      where.fill(asked, from, 3);
      ASSERT_EQ(where.bind({&one, 1})[0], cudaSuccess) << context;
      where.poison_output(one);
      EXPECT_FALSE(where.verify(one).right) << context << "poison";
      prepared() = right_output(about, from, 3);
      ASSERT_EQ(where.call(one), cudaSuccess) << context;
      const auto right = where.verify(one);
      EXPECT_TRUE(right.right) << context << right.why;
      const auto hashes = where.repeat(one, 3);
      ASSERT_EQ(hashes.size(), 3u) << context;
      const std::uint64_t expected = hash(prepared().data(), prepared().size());
      for (const auto& bytes : hashes) EXPECT_EQ(std::memcmp(bytes.data(), &expected, sizeof expected), 0) << context;
      for (const std::size_t at : {std::size_t{0}, n / 2, n - 1}) {
        spoil(about, prepared(), at);
        ASSERT_EQ(where.call(one), cudaSuccess) << context;
        const auto wrong = where.verify(one);
        EXPECT_FALSE(wrong.right) << context << at;
        EXPECT_NE(wrong.why.find("element " + std::to_string(at) + " of "), std::string::npos) << context << wrong.why;
        EXPECT_TRUE(wrong.why.ends_with("wrong elements: 1")) << context << wrong.why;
        spoil(about, prepared(), at);
      }
    }
  });
}

}  // namespace rungs::bench::fakes
